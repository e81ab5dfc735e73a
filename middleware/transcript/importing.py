"""Takes session files of other programs over into a folder of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import TranscriptError
from ..records import clean_tree
from .claude import Imported, import_claude
from .folder import Layout, TranscriptFolder
from .foreign import objects_in, recognise
from .lines import encode_line
from .live import load
from .newfile import write_new

__all__ = ["Arrival", "import_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A session that was imported, and the file that holds it now."""

    source: Path
    path: Path
    session: Imported


def import_file(
    source: Path,
    folder: Path,
    *,
    layout: Layout = "plain",
    force: bool = False,
    on_bytes: Callable[[int], object] = lambda count: None,
) -> Arrival:
    """Convert one session file of Claude Code and write it, mode 0600, into a folder of transcripts.

    Raises `TranscriptError` for any other file and for one that is shorter than what is there already, FileExistsError
    when the session is there and `force` is off, OSError when something cannot be read or written.
    """
    if not source.exists():
        raise TranscriptError(f"{source}: no such file; check the path")
    if source.is_dir():
        raise TranscriptError(f"{source} is a folder; name the .jsonl files in it")
    known = recognise(source)
    if known is None or known.program != "Claude Code":
        raise TranscriptError(f"{source} {_refusal(known.program if known is not None else None)}")
    lines = []
    with source.open("rb") as file:
        for line in file:
            lines.append(line)
            on_bytes(len(line))
    session = import_claude(list(objects_in(lines)))
    if not session.records or not session.session_id:
        raise TranscriptError(f"{source} holds no conversation of Claude Code; there is nothing to import")
    cwd = next((record["cwd"] for record in session.records if record["cwd"]), None)
    path = TranscriptFolder(folder, layout=layout, cwd=cwd).path(session.session_id)
    path = folder / path.relative_to(folder.absolute())
    if force and len(load(path) if path.exists() else ()) > len(session.records):
        raise TranscriptError(
            f"{source} has fewer records than {path}, which holds its session already; remove that one first if you "
            "want this"
        )
    write_new(path, (encode_line(clean_tree(record)) for record in session.records), force=force)
    return Arrival(source=source, path=path, session=session)


def _refusal(program: str | None) -> str:
    if program is None:
        return "is no session of Claude Code; name a .jsonl file of ~/.claude/projects"
    return (
        f"is a session of {program}, which writes what hooks added into the user's own messages; "
        "it is not imported, since nobody could tell the two apart"
    )
