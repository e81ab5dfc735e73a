"""A namespace as a folder of Markdown files with an index, out and in: QwenLM/qwen-code's memory folder.

One file a memory, as `frontmatter` has it, and `MEMORY.md`, which lists them. Works on any engine.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from .base import Progress, Record, Store, check_namespace
from .errors import RecordError
from .frontmatter import parse, render, shown_name
from .guard import check_record
from .jsonl import keep

__all__ = ["INDEX", "export_folder", "files_in", "import_files", "index_of", "record_of"]

INDEX: Final = "MEMORY.md"
_MOST_BYTES: Final = 8 * 1024 * 1024
_SLUG_CHARS: Final = 48
_LINE_CHARS, _MOST_LINES, _INDEX_CHARS = 150, 200, 25_000
_TOO_LARGE: Final = (
    "\n\n> WARNING: MEMORY.md is too large; only part of it was written. Keep index entries concise and move detail "
    "into topic files."
)


def export_folder(store: Store, *, namespace: str, folder: Path, progress: Progress | None = None) -> int:
    """Write every memory of `namespace` and the index into a new or empty `folder`; return how many.

    Files are 0600, the folder 0700, and it is there as a whole or not at all. Raises FileExistsError for a folder that
    holds something, OSError when it cannot be written.
    """
    records = store.list(namespace=check_namespace(namespace))
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise FileExistsError(errno.EEXIST, "there already, and no empty folder", str(folder))
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name[:70]}.", suffix=".new", dir=folder.parent))
    try:
        names: list[tuple[str, Record]] = []
        taken: set[str] = {INDEX.lower()}
        for number, record in enumerate(records, 1):
            name = _file_name(record, taken)
            _write(made / name, render(record))
            names.append((name, record))
            if progress is not None:
                progress(number, len(records))
        _write(made / INDEX, index_of(names))
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return len(records)


def import_files(store: Store, *, namespace: str, paths: Iterable[Path], progress: Progress | None = None) -> int:
    """Upsert the memories in files and folders of Markdown; return how many.

    A link in a folder that leads out of it is left out, with a warning (UserWarning) that names it.

    All are read first: RecordError or a kind of it, with file and line, means that nothing was stored. Raises OSError
    for a file that cannot be read.
    """
    check_namespace(namespace)
    return keep(store, namespace, [record_of(file, root) for file, root in files_in(paths)], progress)


def _warn(said: str) -> None:
    warnings.warn(said, stacklevel=3)


def files_in(paths: Iterable[Path], left_out: Callable[[str], object] = _warn) -> list[tuple[Path, Path]]:
    """The files to read, each once, each with the folder that was named for it (of a file its own).

    Of a folder all `.md` files at any depth but the index, in the order of their paths; `left_out` is told in a line of
    each that is a link to somewhere else: whoever made the folder would choose what is read of the reader's disk.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            whole = path.resolve()
            for each in sorted(each for each in path.rglob("*.md") if each.name != INDEX and each.is_file()):
                if each.resolve().is_relative_to(whole):
                    found.setdefault(each, path)
                else:
                    left_out(f"{each}: a link out of {path}, left out; import what it leads to by its own name")
        else:
            found.setdefault(path, path.parent)
    return list(found.items())


def record_of(file: Path, root: Path) -> Record:
    """The memory in one file, checked. Its date is the file's where it says none. Raises as `import_files` does."""
    with file.open("rb") as opened:
        written_at = datetime.fromtimestamp(os.fstat(opened.fileno()).st_mtime, UTC)
        raw = opened.read(_MOST_BYTES + 1)
    try:
        if len(raw) > _MOST_BYTES:
            raise RecordError(f"line 1: over {_MOST_BYTES // 1024 // 1024} MiB, which is no memory")
        try:
            content = raw.decode()
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise RecordError(f"line {line}: not UTF-8; save it as UTF-8") from None
        source = {"file": file.relative_to(root).as_posix()}
        record = parse(content, written_at=written_at, source=source)
        check_record(record)
    except RecordError as error:
        raise type(error)(f"{file}: {error}") from None
    return record


def index_of(files: Sequence[tuple[str, Record]]) -> str:
    """The index: a line a file, with its name and what it is about; cut where that program stops to read it."""
    lines = [
        _short(f"- [{shown_name(record)}]({name}) — {' '.join(record.description.split()) or record.type}")
        for name, record in files
    ]
    whole = "\n".join(lines[:_MOST_LINES])
    if len(whole) > _INDEX_CHARS:
        whole = whole[: whole.rfind("\n", 0, _INDEX_CHARS)]
    cut = whole.count("\n") + 1 < len(lines)
    return whole + (_TOO_LARGE if cut else "") + "\n"


def _short(line: str) -> str:
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 1].rstrip()}…"


def _file_name(record: Record, taken: set[str]) -> str:
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", shown_name(record)).lower())
    base = f"{record.type}_{'_'.join(words)}"[:_SLUG_CHARS].rstrip("_")
    # Bytes count on a disk, and four may be one character.
    base = base.encode()[:180].decode(errors="ignore")
    name, number = f"{base}.md", 1
    while name.lower() in taken:
        number += 1
        name = f"{base}_{number}.md"
    taken.add(name.lower())
    return name


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode())
