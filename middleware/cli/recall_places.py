"""What the commands of `firsthand recall` share: which store, whose memories, how they are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..settings import Settings

if TYPE_CHECKING:
    from recall_store import Record, Store

__all__ = [
    "AUTHORS",
    "TYPES",
    "as_json",
    "filters",
    "label",
    "local",
    "opening",
    "place",
    "progress",
    "resolved",
    "resolved_store",
    "row_of",
    "store_option",
    "where_of",
]

TYPES = ("user", "feedback", "project", "reference")
AUTHORS = ("user", "assistant", "tool", "import")
_WORTH_A_BAR = 200

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def store_option(function: FunctionT) -> FunctionT:
    """The option that says which store."""
    option = click.option("--store", metavar="URL", help="Store, such as sqlite:///memories.db; else the setting.")
    return option(function)


def place(function: FunctionT) -> FunctionT:
    """The two options that say where memories are."""
    namespace = click.option("--namespace", "-n", metavar="NAME", help="Whose memories; else the settings' user.")
    return namespace(store_option(function))


def filters(function: FunctionT) -> FunctionT:
    """The options that keep some memories only."""
    options = (
        click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Of this type; repeatable."),
        click.option("--author", "authors", multiple=True, type=click.Choice(AUTHORS), help="By these; repeatable."),
        click.option("--after", type=click.DateTime(), help="Stored at or after this day or moment, local time."),
        click.option("--before", type=click.DateTime(), help="Stored before."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def as_json(says: str) -> Callable[[FunctionT], FunctionT]:
    """The option `--json`, which prints what it `says`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {says}.")


def where_of(
    types: tuple[str, ...], authors: tuple[str, ...], after: datetime | None, before: datetime | None
) -> dict[str, Any] | None:
    """The `where` of a search or a list."""
    where: dict[str, Any] = {}
    where |= {"type": list(types)} if types else {}
    where |= {"author": list(authors)} if authors else {}
    where |= {"after": local(after)} if after is not None else {}
    where |= {"before": local(before)} if before is not None else {}
    return where or None


def local(moment: datetime) -> datetime:
    """The moment in the time zone of this machine; as it is (UTC, if it has none), where that has no such year."""
    try:
        return moment.astimezone()
    except (ValueError, OverflowError):
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@contextmanager
def opening(url: str, configured: str | None, *, embedder: str | None = None, make: bool = False) -> Iterator[Store]:
    """The store, of the `embedder`. `configured` is the one of new stores; an old one that keeps another is told of.

    Without `make` there must be one: a mistyped path would look like an empty store.
    """
    from recall_store import open_store
    from recall_store.embedders import kept

    with open_store(url, embedder, embedder_if_new=configured, make=make) as store:
        told = kept(store.embedder, configured) if embedder is None else None
        if told is not None:
            from .screen import warn

            warn(f"firsthand: {told}")
        yield store


def resolved(store: str | None, namespace: str | None) -> tuple[str, str, str | None]:
    """The store's URL, the namespace and the embedder: what was given, else the settings."""
    url, embedder = resolved_store(store)
    loaded = Settings.load()
    name = namespace if namespace is not None else loaded.namespace or loaded.user
    if not name:
        raise click.UsageError("no namespace: give --namespace NAME, or set `user` in firsthand.toml or FIRSTHAND_USER")
    return url, name, embedder


def resolved_store(store: str | None) -> tuple[str, str | None]:
    """The store's URL and the embedder that the settings name."""
    loaded = Settings.load()
    url = store if store is not None else loaded.store
    if not url:
        raise click.UsageError(
            "no store: give --store sqlite:///memories.db, or set `store` in firsthand.toml or FIRSTHAND_STORE"
        )
    return url, loaded.embedder


def row_of(record: Record) -> dict[str, Any]:
    """A memory as JSON: every field, also an empty one."""
    return {
        "id": record.id,
        "type": record.type,
        "author": record.author,
        "title": record.title,
        "description": record.description,
        "text": record.text,
        "source": dict(record.source),
        "metadata": dict(record.metadata),
        "created_at": record.created_at.isoformat() if record.created_at is not None else None,
        "expires_at": record.expires_at.isoformat() if record.expires_at is not None else None,
    }


def label(record: Record) -> str:
    """The title and the text, in one line."""
    return " ".join((f"{record.title}: {record.text}" if record.title else record.text).split())


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr, on a terminal, once long work tells how much there is; told (done, total)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=total >= _WORTH_A_BAR)
