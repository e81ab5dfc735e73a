"""`firsthand recall forget`: memories that are gone from every file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .failures import Command, Failure
from .recall_places import label, opening, place, resolved

if TYPE_CHECKING:
    from recall_store import Record, Store

__all__ = ["forget"]

_SHOWN = 5
_SHOWN_CHARACTERS = 100


@click.command(cls=Command)
@click.argument("words", nargs=-1)
@place
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

    Words are looked for in earlier versions too, which go, though the memory stays. What transcripts hold is
    `firsthand transcript erase`'s.
    """
    if sum((bool(words), bool(ids), everything)) != 1:
        raise click.UsageError("say what to forget, in one way: WORDS, --id, or --all")
    url, name, embedder = resolved(store, namespace)
    query = " ".join(words)
    with opening(url, embedder) as opened:
        if words:
            said = _by_words(opened, name, query, yes=yes)
        elif ids:
            said = _by_id(opened, name, list(dict.fromkeys(ids)), yes=yes)
        else:
            said = _everything(opened, name, yes=yes)
        opened.vacuum()
    click.echo(said)


def _by_words(store: Store, name: str, query: str, *, yes: bool) -> str:
    holding = store.holding(namespace=name, query=query)
    versions = sum(holding.earlier.values())
    if not holding.records and not versions:
        return f"Nothing of {name} holds all of: {query}"
    staying = f"{_counted(versions, 'earlier version')} of {_counted(len(holding.earlier), 'memory')} that {{}}"
    if not yes:
        _show(holding.records)
        what = [f"{_counted(len(holding.records), 'memory')} of {name}"] if holding.records else []
        what += [staying.format("will stay")] if versions else []
        _agreed(f"Forget {' and '.join(what)}? There is no way back")
    store.forget(namespace=name, query=query)
    what = [f"{_counted(len(holding.records), 'memory')} of {name}"] if holding.records or not versions else []
    what += [staying.format("stays" if len(holding.earlier) == 1 else "stay")] if versions else []
    return f"Forgot {' and '.join(what)}."


def _by_id(store: Store, name: str, ids: list[str], *, yes: bool) -> str:
    there = [id for id in ids if _is_there(store, name, id)]
    missing = f"{name} has no memory of the id {', '.join(id for id in ids if id not in there)}"
    if not there:
        raise Failure(f"{missing}; `firsthand recall list` prints ids")
    if len(there) < len(ids):
        from .screen import warn

        warn(f"firsthand: {missing}")
    if not yes:
        _agreed(f"Forget {_counted(len(there), 'memory')} of {name}? There is no way back")
    return f"Forgot {_counted(store.delete(namespace=name, ids=there), 'memory')} of {name}."


def _everything(store: Store, name: str, *, yes: bool) -> str:
    there = store.list(namespace=name)
    if not there:
        return f"Nothing is remembered of {name}."
    if not yes:
        _show(there)
        _agreed(f"Forget all memories of {name}, {len(there):,} of them? There is no way back")
    count = store.delete(namespace=name, ids=[str(record.id) for record in there])
    return f"Forgot {_counted(count, 'memory')} of {name}."


def _is_there(store: Store, name: str, id: str) -> bool:
    from recall_store import OpenError

    try:
        return bool(store.get(namespace=name, ids=[id]))
    except OpenError:
        # One that is damaged can only be deleted.
        return True


def _show(records: Sequence[Record]) -> None:
    from .screen import warn

    for record in records[:_SHOWN]:
        text = label(record)
        warn(f"  {record.id}  {text if len(text) <= _SHOWN_CHARACTERS else f'{text[:_SHOWN_CHARACTERS]}...'}")
    if len(records) > _SHOWN:
        warn(f"  and {len(records) - _SHOWN:,} more")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun.removesuffix('y') + 'ies' if noun.endswith('y') else f'{noun}s'}"


def _agreed(question: str) -> None:
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        raise Failure("nothing was forgotten, since nobody answered; --yes does not ask") from None
    if not agreed:
        raise Failure("nothing was forgotten")
