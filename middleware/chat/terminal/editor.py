"""The person's own editor over the draft. Blocks until it is left."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["EditorFailed", "edited", "editor_of"]

_USUAL = ("notepad",) if os.name == "nt" else ("editor", "nano", "vim", "vi")


class EditorFailed(Exception):
    """There is no text from it; the message is one line, and the draft is as it was."""


def editor_of(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What $VISUAL, else $EDITOR says, as an argument vector; else what is there. Raises `EditorFailed`."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            try:
                words = shlex.split(environ[name], posix=os.name != "nt")
            except ValueError as error:
                raise EditorFailed(f"${name} cannot be read: {error}; set it to a command such as nano") from None
            return [word.strip('"') for word in words] if os.name == "nt" else words
    for usual in _USUAL:
        if found := shutil.which(usual):
            return [found]
    raise EditorFailed("no editor here: set $VISUAL or $EDITOR to one")


def edited(text: str) -> str:
    """What the person left in the editor, line ends as newlines, without the one that an editor puts at the end.

    The file is its owner's only, in a folder of its own, and both are gone afterwards. Raises `EditorFailed`.
    """
    command = editor_of()
    try:
        with tempfile.TemporaryDirectory(prefix="firsthand-") as folder:
            path = Path(folder) / "prompt.md"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
            code = subprocess.run([*command, str(path)], check=False).returncode
            if code:
                raise EditorFailed(f"{command[0]} left with exit code {code}; the draft is as it was")
            found = path.read_bytes().decode("utf-8", "surrogatepass")
    except OSError as error:
        raise EditorFailed(f"{command[0]}: {error.strerror or error}; set $VISUAL or $EDITOR to an editor") from None
    except UnicodeDecodeError:
        raise EditorFailed(f"what {command[0]} wrote is not UTF-8; the draft is as it was") from None
    found = found.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith("\ufeff"):
        found = found.removeprefix("\ufeff")
    return found if text.endswith("\n") else found.removesuffix("\n")
