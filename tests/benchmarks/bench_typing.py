"""`python -m tests.benchmarks.bench_typing`: from a key to the screen, through the real prompt_toolkit application.

A key goes into a pipe and counts until the application has drawn what it did, on a terminal of 80x24 that is a string:
milliseconds of CPU, which on a quiet machine is the wall clock, whose median is beside it. Then the start of
`firsthand chat` on a pseudo-terminal until its first prompt, in seconds, the median of some. Exit code 1 when the CPU
of the 99th of 100 keys is over 50 ms, or that of the start over 1 s.
"""

from __future__ import annotations

import asyncio
import io
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from rich.console import Console
from rich.table import Table

from middleware import Middleware
from middleware.chat import Sidecar
from middleware.chat.terminal.files import Files
from middleware.chat.terminal.talk import Talk
from middleware.chat.terminal.wire import Wire
from middleware.cli.chat_client import client_of
from middleware.cli.chat_terminal import Terminal

from .bench_composer import BODY, LINES

KEYS = 200
STARTS = 5
LIMIT_MS = 50.0
LIMIT_S = 1.0
BODY_IN_LINES = "\n".join(BODY[at : at + 79] for at in range(0, len(BODY), 80))


class Drawn(io.StringIO):
    """A terminal that forgets what was drawn on it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


class Typing:
    """One chat whose keys come out of a pipe."""

    def __init__(self, terminal: Terminal, pipe: PipeInput) -> None:
        self.terminal = terminal
        self._pipe = pipe
        self._rendered = asyncio.Event()
        terminal.screen.app.after_render += lambda _: self._rendered.set()

    async def key(self, text: str) -> tuple[float, float]:
        """Milliseconds of CPU, and of wall clock, from a key until the screen was drawn after it."""
        before = self.terminal.mirror.buffer.document
        started, begun = time.process_time(), time.perf_counter()
        if len(text) > 1_000:
            # A pipe holds less than that: what reads it is in this thread.
            await asyncio.to_thread(self._pipe.send_text, text)
        else:
            self._pipe.send_text(text)
        while self.terminal.mirror.buffer.document is before:
            self._rendered.clear()
            await self._rendered.wait()
        return (time.process_time() - started) * 1000, (time.perf_counter() - begun) * 1000

    async def keys(self) -> list[tuple[float, float]]:
        """Words typed in the middle of the draft, with a backspace and an arrow now and then."""
        mirror = self.terminal.mirror
        mirror.show(len(mirror.chat.composer.text) // 2)
        self.terminal.screen.app.invalidate()
        await self.key("k")
        pattern = ["w", "o", "r", "d", " ", "s", "\x7f", "\x1b[D"]
        return [await self.key(pattern[number % len(pattern)]) for number in range(KEYS)]


async def typed() -> dict[str, list[tuple[float, float]]]:
    taken: dict[str, list[tuple[float, float]]] = {}
    wire = Wire()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Middleware()) as app,
        create_pipe_input() as pipe,
    ):
        output = Vt100_Output(Drawn(), lambda: Size(rows=24, columns=80), term="xterm-256color", enable_cpr=False)
        with create_app_session(input=pipe, output=output):
            client, name = client_of(wire, base_url=None, model=None)
            session = app.open("s")
            async with Talk(app, client, name, session) as talk:
                place = Path(folder)
                made: dict[str, Any] = {"app": app, "talk": talk, "session": session, "wire": wire, "folder": place}
                terminal = Terminal(**made, files=Files(place), input=pipe, output=output)
                typing = Typing(terminal, pipe)
                running = asyncio.create_task(terminal.run())
                await typing._rendered.wait()
                composer = terminal.chat.composer

                taken["an empty draft"] = await typing.keys()
                composer.change(LINES)
                taken["a draft of 10,000 lines"] = await typing.keys()
                terminal.mirror.show(len(LINES) // 2)
                taken["the paste of 5 MB itself"] = [await typing.key(f"\x1b[200~{BODY_IN_LINES}\x1b[201~")]
                taken["that draft after a paste of 5 MB"] = await typing.keys()
                composer.clear()
                for what, body in (("on one line", BODY), ("in lines", BODY_IN_LINES)):
                    composer.restore(body, Sidecar(model_text=body, submitted_prompt="x", visible="x"))
                    taken[f"5 MB {what}, given back by a cancel"] = await typing.keys()
                    composer.clear()
                terminal.leave()
                await running
    return taken


def started() -> tuple[float, float]:
    """Seconds of CPU, and of wall clock, from the start of the program to its first prompt."""
    master, slave = pty.openpty()
    with tempfile.TemporaryDirectory() as home:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "FIRSTHAND_"))}
        environ |= {"HOME": home, "TERM": "xterm-256color", "PYTHONPATH": str(Path.cwd())}
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "middleware", "chat"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=home,
            env=environ,
            start_new_session=True,
        )
        os.close(slave)
        seen = b""
        try:
            while b"no tokens yet" not in seen:
                piece = os.read(master, 65536)
                if b"\x1b[6n" in piece:
                    os.write(master, b"\x1b[1;1R")
                seen += piece
            wall = time.perf_counter() - begun
        finally:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process.kill()
            process.wait()
            os.close(master)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    table = Table("a key in", "median ms", "99 of 100", "worst", "limit / 99 of 100", "wall, median")
    over = False
    for name, taken in asyncio.run(typed()).items():
        ordered = sorted(cpu for cpu, _ in taken)
        late = ordered[len(ordered) * 99 // 100]
        over = over or (len(taken) > 1 and late >= LIMIT_MS)
        row = (f"{value:.2f}" for value in (statistics.median(ordered), late, ordered[-1]))
        table.add_row(name, *row, f"{LIMIT_MS / late:.1f}", f"{statistics.median(wall for _, wall in taken):.2f}")
    starts = [started() for _ in range(STARTS)]
    cpu, wall = (statistics.median(values) for values in zip(*starts, strict=True))
    console = Console()
    console.print(table)
    console.print(f"first prompt after {cpu:.2f} s of CPU ({wall:.2f} s of wall clock); the limit is {LIMIT_S:.0f} s")
    return int(over or cpu >= LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
