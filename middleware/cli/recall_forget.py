"""`firsthand recall forget`: memories that are gone from every file."""

from __future__ import annotations

import click

from .failures import Command, Failure
from .recall_places import existing, place

__all__ = ["forget"]


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

    What transcripts hold is `firsthand transcript erase`'s.
    """
    if sum((bool(words), bool(ids), everything)) != 1:
        raise click.UsageError("say what to forget, in one way: WORDS, --id, or --all")
    url, name, embedder = existing(store, namespace)
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
