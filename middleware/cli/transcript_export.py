"""`firsthand transcript export`: one conversation as a page, a text, data, or the messages of a request."""

from __future__ import annotations

from pathlib import Path

import click

from .failures import Command, Failure
from .transcript_places import PLACE, complain, file_of, refuse_foreign, tell_flaws

__all__ = ["export"]

_FORMATS = ("html", "md", "json", "jsonl", "openai", "anthropic")


@click.command(cls=Command)
@click.argument("file", metavar="FILE|SESSION", type=PLACE)
@click.option("--format", "-f", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option("--out", "-o", type=PLACE, help="The file to write, mode 0600; else, or for -, stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is there, a transcript excepted.")
@click.option("--injected", is_flag=True, help="md and json: add what the model was sent beside what was typed.")
def export(file: Path, form: str, out: Path | None, force: bool, injected: bool) -> None:
    """Export the conversation in FILE, or of the SESSION of that id in the setting `transcripts`.

    \b
    html       one page that fetches nothing, injected parts folded and marked
    md, json   what was said; injected parts only with --injected
    jsonl      the records of the live branch, as they are stored
    openai     {"messages": [...]}, as sent to the model, tagged parts included
    anthropic  the same for messages.create
    """
    from typing import cast

    from ..transcript import load
    from ..transcript.export import Format, written
    from ..transcript.newfile import write_new
    from ..transcript.wire import unanswered

    if out == Path("-"):
        out = None
    if force and out is None:
        raise click.UsageError("--force is about the file that --out names; give --out too")
    file = file_of(file)
    refuse_foreign(file)
    branch = load(file)
    if not len(branch):
        raise Failure(f"{file} holds no conversation; `firsthand transcript check {file}` says what is in it")
    tell_flaws(file, branch.flaws)
    if form in ("openai", "anthropic") and (missing := unanswered(branch)):
        calls = "1 tool call has" if missing == 1 else f"{missing} tool calls have"
        complain(f"{file}: {calls} no recorded result; a provider refuses the messages until one is added")
    chunks = written(branch, cast(Format, form), injected=injected)
    if out is None:
        for chunk in chunks:
            click.echo(chunk, nl=False)
        return
    if not out.parent.is_dir():
        raise Failure(f"{out.parent}: no such folder; make it, or name another with --out")
    if out.is_dir():
        raise Failure(f"{out} is a folder; name a file in it")
    if force and _is_conversation(out):
        raise Failure(f"{out} is a transcript, and is not written over; name another file, or remove that one first")
    try:
        write_new(out, chunks, force=force)
    except FileExistsError:
        raise Failure(f"{out} is there already; name another file, or write over it with --force") from None
    click.echo(f"Wrote {out} ({out.stat().st_size:,} bytes)", err=True)


def _is_conversation(path: Path) -> bool:
    """True for a transcript of ours or another program's; a link is no file of its own, and is replaced."""
    from ..transcript.foreign import recognise
    from ..transcript.listing import is_transcript

    return not path.is_symlink() and (is_transcript(path) or recognise(path) is not None)
