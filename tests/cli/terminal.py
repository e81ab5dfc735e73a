"""A program on a real pseudo-terminal, its screen read by a terminal emulator. Nothing here sleeps: it waits for what
is on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

from .conftest import ROOT

__all__ = ["Program", "program"]

_GUARD = 90
_KEPT = ("COLUMNS", "LINES", "NO_COLOR", "XDG_CONFIG_HOME", "EDITOR", "VISUAL")


class _Screen(pyte.Screen):
    """Answers where the cursor is to who asks."""

    def __init__(self, columns: int, lines: int, write: Callable[[bytes], object]) -> None:
        super().__init__(columns, lines)
        self._write = write

    def write_process_input(self, data: str) -> None:
        self._write(data.encode())


class Program:
    """The program on its terminal; what scrolls off the top is gone."""

    def __init__(self, master: int, columns: int, lines: int, pid: int) -> None:
        self.pid = pid
        self._master = master
        self.screen = _Screen(columns, lines, lambda data: os.write(master, data))
        self._stream = pyte.ByteStream(self.screen)

    @property
    def display(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).strip()

    @property
    def line(self) -> str:
        """The line that the cursor is on: the composer's."""
        lines = self.screen.display
        # Of a window that has become smaller the cursor is outside until the program has drawn anew.
        return lines[self.screen.cursor.y].rstrip() if self.screen.cursor.y < len(lines) else ""

    def write(self, data: bytes | str) -> None:
        data = data.encode() if isinstance(data, str) else data
        while data:
            data = data[os.write(self._master, data) :]
            # A program that draws while it is written to must not wait for us.
            self._read(0)

    def resize(self, columns: int, lines: int) -> None:
        """The window gets another size; the program is told by a signal."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def until(self, wanted: Callable[[], bool]) -> None:
        """Read what the program draws until the screen is as wanted."""
        end = time.monotonic() + _GUARD
        while not wanted():
            assert self._read(max(0.0, end - time.monotonic())), self.display

    def shows(self, text: str) -> None:
        """Until this is anywhere on the screen."""
        self.until(lambda: text in self.display)

    def holds(self, text: str) -> None:
        """Until the composer's line is this; "" for an empty composer."""
        wanted = f"> {text}".rstrip()
        self.until(lambda: self.line == wanted)

    def answered(self, text: str, times: int = 1) -> None:
        """Until this was printed so often, and no turn runs any more: what is typed now is a turn of its own."""
        self.until(lambda: self.display.count(text) >= times and "Esc cancels" not in self.display)

    def paste(self, text: str) -> None:
        """As a terminal says that something was pasted."""
        self.write(f"\x1b[200~{text}\x1b[201~")

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            self._stream.feed(os.read(self._master, 65536))
        except OSError:
            # The program has ended.
            return False
        return True


@contextmanager
def program(folder: Path, *arguments: str, columns: int = 100, lines: int = 50, **environ: str) -> Iterator[Program]:
    """`firsthand chat` in `folder`, which is its home too; at the end it leaves at Ctrl+D with exit code 0."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in _KEPT}
    own = {"PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        [sys.executable, "-m", "middleware", "chat", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        start_new_session=True,
        env={**inherited, **own, **environ},
    )
    os.close(slave)
    shown = Program(master, columns, lines, process.pid)
    try:
        shown.shows("no tokens yet")
        yield shown
        shown.write(b"\x04")
        # What it still draws has to be read, or it waits for us for ever.
        _drain(master)
        assert process.wait(_GUARD) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _drain(master: int) -> None:
    while True:
        ready, _, _ = select.select([master], [], [], _GUARD)
        try:
            if not ready or not os.read(master, 65536):
                return
        except OSError:
            # The other end is closed.
            return
