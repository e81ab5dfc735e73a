"""`firsthand recall export` and `import`: memories as lines of JSON, and as a folder of Markdown files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .failures import Command, Failure, one_line
from .recall_places import as_json, opening, place, progress, resolved

if TYPE_CHECKING:
    from recall_store import Record

__all__ = ["export", "import_"]

_PATH = click.Path(path_type=Path)
_JSONL = (".jsonl", ".json", ".ndjson")
_MOST_TOLD = 20


@click.command(cls=Command)
@place
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(["jsonl", "md"]),
    default="jsonl",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--out", "-o", type=_PATH, help="The file to write, mode 0600 (jsonl; else stdout), or the new folder (md)."
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(namespace: str | None, store: str | None, form: str, out: Path | None, force: bool) -> None:
    """Write every memory of one namespace.

    \b
    jsonl  one memory a line, with all of its fields
    md     a folder with one Markdown file a memory and the index MEMORY.md, as qwen-code keeps them
    """
    if out == Path("-"):
        out = None
    if form == "md" and out is None:
        raise click.UsageError("md is a folder of files; name it with --out")
    if force and (form == "md" or out is None):
        raise click.UsageError("--force is about a file of jsonl; a folder is never written over")
    if out is not None and not out.parent.is_dir():
        raise Failure(f"{out.parent}: no such folder; make it first, or name another with --out")
    url, name, embedder = resolved(store, namespace)
    from recall_store.embedders import DEFAULT, names
    from recall_store.markdown import export_folder

    from ..transcript.newfile import write_new

    with opening(url, embedder) as opened:
        if opened.embedder in names() and opened.embedder != DEFAULT:
            told = (
                f"The store's embedder is {opened.embedder}: into a new store, import with --embedder {opened.embedder}"
            )
            click.echo(told, err=True)
        if out is None:
            for line in opened.export(namespace=name):
                click.echo(line)
            return
        if form == "md":
            with progress("writing") as advance:
                try:
                    count = export_folder(opened, namespace=name, folder=out, progress=advance)
                except FileExistsError:
                    raise Failure(f"{out} is there already and is no empty folder; name another with --out") from None
        else:
            counted = _Counted(opened.export(namespace=name))
            try:
                write_new(out, counted, force=force)
            except FileExistsError:
                raise Failure(f"{out} is there already; name another file, or write over it with --force") from None
            count = counted.count
    click.echo(f"Wrote {_memories(count)} of {name} to {out}", err=True)


@click.command("import", cls=Command)
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True, type=_PATH)
@place
@click.option(
    "--format", "-f", "form", type=click.Choice(["jsonl", "md"]), help="What the files are; else by their names."
)
@click.option("--embedder", metavar="NAME", help="The embedder of a new store; of an old one it must be its own.")
@as_json("{imported, added, replaced}")
def import_(
    paths: tuple[Path, ...],
    namespace: str | None,
    store: str | None,
    form: str | None,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Import memories: lines of JSON (.jsonl, or - for standard input), and Markdown files or folders of them.

    All files are read first. If one holds something that is no memory, a secret or injected text, its line is named and
    nothing is imported. What is there already is not stored twice, so an import that was stopped is run again.
    """
    url, name, configured = resolved(store, namespace)
    records: list[Record] = []
    wrong: list[str] = []
    for path in paths:
        _read(path, form or _form_of(path), records, wrong)
    if wrong:
        for line in wrong[:_MOST_TOLD]:
            click.echo(f"firsthand: {line}", err=True)
        more = f" ({len(wrong) - _MOST_TOLD} more)" if len(wrong) > _MOST_TOLD else ""
        raise Failure(f"nothing was imported{more}; correct or leave out what is named above")
    if not records:
        raise Failure("there is no memory in what was named; nothing was imported")
    from recall_store.jsonl import keep

    with opening(url, configured, embedder=embedder, make=True) as opened, progress("importing") as advance:
        before = {record.id: record for record in opened.list(namespace=name)}
        keep(opened, name, records, advance)
        after = opened.list(namespace=name)
    added = sum(record.id not in before for record in after)
    replaced = sum(record.id in before and record != before[record.id] for record in after)
    if as_json:
        from .screen import print_json

        print_json({"imported": len(records), "added": added, "replaced": replaced})
        return
    there = len(records) - added - replaced
    parts = [f"{added:,} new"]
    parts += [f"{replaced:,} replaced"] if replaced else []
    parts += [f"{there:,} {'was' if there == 1 else 'were'} there already"] if there else []
    click.echo(f"Imported {_memories(len(records))} into {name}{': ' + ', '.join(parts) if len(parts) > 1 else ''}")


class _Counted:
    """Lines as bytes, and how many there were."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.count += 1
            yield f"{line}\n".encode()


def _form_of(path: Path) -> str:
    if str(path) == "-" or path.suffix.lower() in _JSONL:
        return "jsonl"
    if path.is_dir() or path.suffix.lower() in (".md", ".markdown"):
        return "md"
    if not path.exists():
        raise Failure(f"{path}: no such file; check its name")
    raise Failure(f"{path}: neither .jsonl nor .md; say what it is with --format")


def _read(path: Path, form: str, records: list[Record], wrong: list[str]) -> None:
    """Read one path; what is wrong is told by file and line, and the others are read, to name all at once."""
    from recall_store import RecordError
    from recall_store.jsonl import lines_of, looked_at
    from recall_store.markdown import files_in, record_of

    if form == "jsonl":
        told = "standard input" if str(path) == "-" else path
        try:
            with contextlib.nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
                for read in looked_at(lines_of(file)):
                    if isinstance(read, RecordError):
                        wrong.append(f"{told}: {one_line(read)}")
                    else:
                        records.append(read)
        except RecordError as error:
            wrong.append(f"{told}: {one_line(error)}")
        except OSError as error:
            wrong.append(one_line(error))
        return
    for file, root in files_in([path], lambda said: click.echo(f"firsthand: {one_line(RecordError(said))}", err=True)):
        try:
            records.append(record_of(file, root))
        except (RecordError, OSError) as error:
            wrong.append(one_line(error))


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
