"""`firsthand recall`: add memories to a store, search it, and have it forget."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from ..settings import Settings
from .failures import Commands, Failure
from .screen import print_json

__all__ = ["recall"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def _place(function: FunctionT) -> FunctionT:
    """The two options that say where memories are."""
    store = click.option("--store", metavar="URL", help="Store, such as sqlite:///memories.db; else the setting.")
    namespace = click.option("--namespace", "-n", metavar="NAME", help="Whose memories; else the settings' user.")
    return namespace(store(function))


@click.group(cls=Commands)
def recall() -> None:
    """Add memories to a store, search it, and have it forget."""


@recall.command()
@click.argument("text", nargs=-1, required=True)
@_place
@click.option("--title", default="", help="A few words that say what the memory is about.")
def add(text: tuple[str, ...], namespace: str | None, store: str | None, title: str) -> None:
    """Store TEXT as one memory; several words need no quotes. What is there already is not stored twice."""
    url, name, embedder = _resolved(store, namespace)
    from recall_store import Record, open_store

    record = Record(text=" ".join(text), title=title)
    with open_store(url, embedder) as opened:
        started = datetime.now(UTC)
        [stored] = opened.upsert(namespace=name, records=[record])
    verb = "Already there" if stored.created_at is not None and stored.created_at < started else "Added"
    click.echo(f"{verb} in {name}: {stored.id}")


@recall.command()
@click.argument("query", nargs=-1, required=True)
@_place
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="Most memories to print; else recall_top_k.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a list of {id, score, lexical, cosine, title, text, created_at}."
)
def search(query: tuple[str, ...], namespace: str | None, store: str | None, top_k: int | None, as_json: bool) -> None:
    """Print the memories that answer QUERY, best first; none is an answer too."""
    url, name, embedder = _existing(store, namespace)
    from recall_store import open_store

    with open_store(url, embedder) as opened:
        matches = opened.search(
            namespace=name, query=" ".join(query), top_k=top_k if top_k is not None else Settings.load().recall_top_k
        )
    rows = [
        {
            "id": match.record.id,
            "score": round(match.score, 4),
            "lexical": round(match.lexical, 4),
            "cosine": round(match.cosine, 4),
            "title": match.record.title,
            "text": match.record.text,
            "created_at": match.record.created_at.isoformat() if match.record.created_at is not None else None,
        }
        for match in matches
    ]
    if as_json:
        print_json(rows)
    elif rows:
        _print(rows)
    else:
        click.echo(f"No memory of {name} answers that.", err=True)


@recall.command()
@click.argument("words", nargs=-1)
@_place
@click.option("--id", "ids", multiple=True, metavar="ID", help="A memory by its id, as `search` prints it; repeatable.")
@click.option("--all", "everything", is_flag=True, help="All memories of the namespace.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(
    words: tuple[str, ...],
    namespace: str | None,
    store: str | None,
    ids: tuple[str, ...],
    everything: bool,
    yes: bool,
) -> None:
    """Forget every memory that holds all of WORDS, the ones with the given ids, or all; no file keeps a byte of them.

    What transcripts hold is `firsthand transcript erase`'s.
    """
    if sum((bool(words), bool(ids), everything)) != 1:
        raise click.UsageError("say what to forget, in one way: WORDS, --id, or --all")
    url, name, embedder = _existing(store, namespace)
    what = "all memories" if everything else f"{len(ids)} by id" if ids else f"what holds all of: {' '.join(words)}"
    if not yes:
        _agreed(f"Forget, of {name}, {what}? There is no way back")
    from recall_store import open_store

    with open_store(url, embedder) as opened:
        if words:
            count = opened.forget(namespace=name, query=" ".join(words))
        else:
            count = opened.delete(namespace=name, ids=ids or [str(found.id) for found in opened.list(namespace=name)])
        opened.vacuum()
    click.echo(f"Forgot {count} {'memory' if count == 1 else 'memories'} of {name}.")


def _agreed(question: str) -> None:
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        raise Failure("nothing was forgotten, since nobody answered; --yes does not ask") from None
    if not agreed:
        raise Failure("nothing was forgotten")


def _existing(store: str | None, namespace: str | None) -> tuple[str, str, str | None]:
    url, name, embedder = _resolved(store, namespace)
    file = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
    if file is not None and file.name and not file.exists():
        # Opening would make it, and a mistyped path would look like a store that knows nothing.
        raise Failure(f"{file}: no such store; check --store, or make it with `firsthand recall add`")
    return url, name, embedder


def _resolved(store: str | None, namespace: str | None) -> tuple[str, str, str | None]:
    """The store's URL, the namespace and the embedder: what was given, else the settings."""
    loaded = Settings.load()
    url = store if store is not None else loaded.store
    name = namespace if namespace is not None else loaded.namespace or loaded.user
    if not url:
        raise click.UsageError(
            "no store: give --store sqlite:///memories.db, or set `store` in firsthand.toml or FIRSTHAND_STORE"
        )
    if not name:
        raise click.UsageError("no namespace: give --namespace NAME, or set `user` in firsthand.toml or FIRSTHAND_USER")
    return url, name, loaded.embedder


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from .screen import console, safe

    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    table.add_column("id", overflow="fold")
    for row in rows:
        text = safe(f"{row['title']}: " if row["title"] else "", "bold")
        table.add_row(f"{row['score']:.2f}", text.append_text(safe(row["text"])), safe(row["id"], "dim"))
    out.print(table)
