"""`firsthand chat` as a program on a real pseudo-terminal, its screen read by a terminal emulator."""

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
import pytest

from .chatting import hooks_file, payloads_in
from .conftest import ROOT
from .streaming import StreamingModel


class Screen(pyte.Screen):
    """80x24, and answers where the cursor is to who asks."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        super().__init__(80, 24)
        self._write = write

    def write_process_input(self, data: str) -> None:
        self._write(data.encode())


class Program:
    """The program on its terminal."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._screen = Screen(self.write)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def display(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).strip()

    def write(self, data: bytes) -> None:
        os.write(self._master, data)

    def until(self, wanted: Callable[[str], bool]) -> None:
        """Read what the program draws until the screen is as wanted."""
        end = time.monotonic() + 15
        while not wanted(self.display):
            ready, _, _ = select.select([self._master], [], [], max(0, end - time.monotonic()))
            assert ready, self.display
            self._stream.feed(os.read(self._master, 65536))

    def shows(self, text: str) -> None:
        self.until(lambda display: text in display)


@contextmanager
def program(folder: Path, *arguments: str) -> Iterator[Program]:
    """`firsthand chat` in `folder`; at the end it leaves at Ctrl+D with exit code 0."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "middleware", "chat", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        start_new_session=True,
        env={**environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "xterm-256color"},
    )
    os.close(slave)
    shown = Program(master)
    try:
        yield shown
        shown.write(b"\x04")
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal of Unix")
def test_typing_pasting_cancelling_resending_and_a_block_on_a_real_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTHAND_HOOKS_FILE", str(hooks_file(place)))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with StreamingModel() as model, program(place, "--base-url", model.url, "--model", "m") as chat:
        chat.shows("no tokens yet")
        chat.write(b"why is CI red?\r")
        chat.shows("7 in, 5 out")
        assert "> why is CI red?\necho: why is CI red?" in chat.display

        chat.write(b"look \x1b[200~" + b"x" * 3000 + b"\x1b[201~")
        chat.shows("> look [Pasted Content 3000 chars]")
        chat.write(b"\r")
        chat.until(lambda display: "echo: look" in display or display.count("x" * 70) > 10)

        chat.write(b"silent one\r")
        chat.shows("Esc cancels")
        assert all(model.asked.acquire(timeout=10) for _ in range(3))
        chat.write(b"\x1b")
        chat.shows("cancelled; your text is back")
        model.gate.set()
        chat.write(b"\r")
        chat.shows("echo: silent one")

        chat.write(b"my secret\r")
        chat.shows("blocked: no secrets (your text is back)")
        chat.shows("\n> my secret\n")
        chat.write(b"\x03")
        chat.until(lambda display: display.splitlines()[-2] == ">")

    assert [payload["submitted_prompt"] for payload in payloads_in(place)] == [
        "why is CI red?",
        "look [Pasted Content 3000 chars]",
        "silent one",
        "silent one",
        "my secret",
    ]
    assert payloads_in(place)[1]["prompt"] == "look " + "x" * 3000
