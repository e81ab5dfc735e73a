"""`firsthand recall search`, `list` and `history`: what is remembered, since when, and by whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ..matches import age_of
from ..settings import Settings
from .failures import Command, Failure
from .recall_places import as_json, filters, label, local, opening, place, resolved, row_of, where_of

if TYPE_CHECKING:
    from recall_store import Match, Record

__all__ = ["history", "list_", "search"]


@click.command(cls=Command)
@click.argument("query", nargs=-1, required=True)
@place
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="Most memories to print; else recall_top_k.")
@filters
@as_json("a list of {id, score, lexical, cosine, type, author, title, text, created_at, ...}")
def search(
    query: tuple[str, ...],
    namespace: str | None,
    store: str | None,
    top_k: int | None,
    types: tuple[str, ...],
    authors: tuple[str, ...],
    after: datetime | None,
    before: datetime | None,
    as_json: bool,
) -> None:
    """Print the memories that answer QUERY, best first; none is an answer too.

    The score is made of `lexical` (1 for the best match by words) and `cosine` (of meanings); compare it in one answer.
    """
    if not " ".join(query).strip():
        raise click.UsageError("QUERY is blank; say what to look for, or use `firsthand recall list`")
    url, name, embedder = resolved(store, namespace)
    with opening(url, embedder) as opened:
        matches = opened.search(
            namespace=name,
            query=" ".join(query),
            top_k=top_k if top_k is not None else Settings.load().recall_top_k,
            where=where_of(types, authors, after, before),
        )
    if as_json:
        from .screen import print_json

        print_json([_scored(match) for match in matches])
    elif matches:
        _print_matches(matches)
    else:
        click.echo(f"No memory of {name} answers that.", err=True)


@click.command("list", cls=Command)
@place
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most memories to print.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many to leave out first.")
@filters
@as_json("a list of {id, type, author, title, description, text, source, metadata, created_at, expires_at}")
def list_(
    namespace: str | None,
    store: str | None,
    limit: int,
    offset: int,
    types: tuple[str, ...],
    authors: tuple[str, ...],
    after: datetime | None,
    before: datetime | None,
    as_json: bool,
) -> None:
    """List memories, the newest first."""
    url, name, embedder = resolved(store, namespace)
    with opening(url, embedder) as opened:
        where = where_of(types, authors, after, before)
        found = opened.list(namespace=name, where=where, limit=limit + 1, offset=offset)
    shown = found[:limit]
    if as_json:
        from .screen import print_json

        print_json([row_of(record) for record in shown])
    elif shown:
        _print_records(shown)
        if len(found) > limit:
            click.echo(f"There are more: --offset {offset + limit}", err=True)
    else:
        click.echo(f"Nothing of that kind is remembered of {name}.", err=True)


@click.command(cls=Command)
@click.argument("id_", metavar="ID")
@place
@as_json("a list of {event, at, memory}; of what was deleted, memory is null")
def history(id_: str, namespace: str | None, store: str | None, as_json: bool) -> None:
    """Print what happened to the memory of this ID, oldest first."""
    url, name, embedder = resolved(store, namespace)
    with opening(url, embedder) as opened:
        changes = opened.history(namespace=name, id=id_)
    if not changes:
        raise Failure(f"{name} never had a memory of that id; `firsthand recall list` prints ids")
    if as_json:
        from .screen import print_json

        print_json(
            [
                {
                    "event": change.event,
                    "at": change.at.isoformat(),
                    "memory": row_of(change.record) if change.record is not None else None,
                }
                for change in changes
            ]
        )
        return
    from .recall_rows import table
    from .screen import console, safe

    grid = table("when", "event", ratio="memory")
    for change in changes:
        memory = safe(label(change.record)) if change.record is not None else safe("(its words are gone)", "dim")
        grid.add_row(local(change.at).isoformat(" ", "seconds"), change.event, memory)
    console().print(grid)


def _scored(match: Match) -> dict[str, Any]:
    row = row_of(match.record)
    scores = {name: round(getattr(match, name), 4) for name in ("score", "lexical", "cosine")}
    return {"id": row.pop("id"), **scores, **row}


def _print_matches(matches: list[Match]) -> None:
    from .recall_rows import Row, print_rows

    now = datetime.now(UTC)
    print_rows(
        [
            Row(
                cells={
                    **{name: f"{getattr(match, name):.2f}" for name in ("score", "lexical", "cosine")},
                    "age": age_of(match.record.created_at, now),
                    "author": match.record.author,
                },
                record=match.record,
            )
            for match in matches
        ]
    )


def _print_records(records: list[Record]) -> None:
    from .recall_rows import Row, print_rows

    now = datetime.now(UTC)
    print_rows(
        [
            Row(
                cells={"age": age_of(record.created_at, now), "type": record.type, "author": record.author},
                record=record,
            )
            for record in records
        ]
    )
