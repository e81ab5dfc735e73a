"""`firsthand recall add`: one memory from the command line, standard input or a file."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from .failures import Command, Failure
from .recall_places import AUTHORS, TYPES, as_json, label, opening, place, resolved, row_of

__all__ = ["add"]

_MOST_BYTES = 8 * 1024 * 1024

_MOST_SIMILAR = 3

_SHORT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|min)")
"""Seconds and minutes: too short for a transcript's `keep`, which knows the others."""


class _Duration(click.ParamType[timedelta]):
    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        from ..settings import duration

        short = _SHORT.fullmatch(value.strip())
        try:
            if short is not None and float(short[1]):
                return timedelta(seconds=float(short[1]) * (1 if short[2] == "s" else 60))
            return duration(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; write 90s, 15m, 12h, 30d, 8w or 1y", param, ctx)


@click.command(cls=Command)
@click.argument("text", nargs=-1)
@place
@click.option("--file", "-f", type=click.Path(path_type=Path), help="Take the text from this file.")
@click.option("--title", default="", help="A few words that say what the memory is about.")
@click.option("--description", default="", help="One line that says when it is of use.")
@click.option("--type", "type_", type=click.Choice(TYPES), default="user", show_default=True, help="What it is about.")
@click.option("--author", type=click.Choice(AUTHORS), default="user", show_default=True, help="Who wrote it.")
@click.option("--ttl", type=_Duration(), metavar="TIME", help="Forget it after this time: 90s, 15m, 12h, 30d, 8w, 1y.")
@click.option(
    "--id", "id_", metavar="ID", help="Take the place of the memory of this id; if there is none, a new one gets it."
)
@as_json("{id, status, similar}; status is added, updated or unchanged")
def add(
    text: tuple[str, ...],
    namespace: str | None,
    store: str | None,
    file: Path | None,
    title: str,
    description: str,
    type_: str,
    author: str,
    ttl: timedelta | None,
    id_: str | None,
    as_json: bool,
) -> None:
    """Store TEXT as one memory; several words need no quotes. `-`, or no TEXT at all in a pipe, reads standard input.

    What is there already is not stored twice; memories that nearly say the same are told of.
    """
    url, name, embedder = resolved(store, namespace)
    words = _text(text, file)
    from recall_store import Record

    expires = datetime.now(UTC) + ttl if ttl is not None else None
    record = Record(
        id=id_, text=words, title=title, description=description, type=type_, author=author, expires_at=expires
    )
    with opening(url, embedder, make=True) as opened:
        before = opened.get(namespace=name, ids=[id_]) if id_ is not None else []
        started = datetime.now(UTC)
        [stored] = opened.upsert(namespace=name, records=[record])
        pairs = opened.near_duplicates(namespace=name, ids=[str(stored.id)])
        similar = sorted(pairs, key=lambda pair: pair.similarity, reverse=True)[:_MOST_SIMILAR]
    status = "added"
    if before:
        status = "unchanged" if before == [stored] else "updated"
    elif stored.created_at is not None and stored.created_at < started:
        status = "unchanged"
    if as_json:
        from .screen import print_json

        others = [{**row_of(pair.other), "similarity": round(pair.similarity, 4)} for pair in similar]
        print_json({"id": stored.id, "status": status, "similar": others})
        return
    verb = {"added": "Added", "updated": "Updated", "unchanged": "Already there"}[status]
    click.echo(f"{verb} in {name}: {stored.id}")
    from .screen import warn

    for pair in similar:
        warn(f"Nearly the same ({pair.similarity:.0%} of the words): {pair.other.id}: {label(pair.other)}")


def _text(text: tuple[str, ...], file: Path | None) -> str:
    if text and file is not None:
        raise click.UsageError("give the text once: TEXT, or --file")
    if file is not None and str(file) != "-":
        with file.open("rb") as opened:
            return _decoded(opened.read(_MOST_BYTES + 1), str(file))
    if text and text != ("-",):
        return " ".join(text)
    stream = sys.stdin
    if not text and file is None and stream.isatty():
        raise click.UsageError("no text: give TEXT, --file FILE, or pipe it in")
    return _decoded(sys.stdin.buffer.read(_MOST_BYTES + 1), "standard input")


def _decoded(raw: bytes, where: str) -> str:
    if len(raw) > _MOST_BYTES:
        raise Failure(f"{where} is over {_MOST_BYTES // 1024 // 1024} MiB, which is no memory; store a part of it")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise Failure(f"{where} is no UTF-8 text; save it as UTF-8") from None
    if not text:
        raise Failure(f"{where} is empty; a memory needs words")
    return text
