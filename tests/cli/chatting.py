"""A chat on a terminal of its own kind: keys go into a pipe, what is printed is kept, a real hook writes its stdin."""

from __future__ import annotations

import asyncio
import io
import json
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from middleware import Middleware
from middleware.chat.commands import Command
from middleware.chat.terminal.files import Files
from middleware.chat.terminal.talk import Talk
from middleware.chat.terminal.wire import Wire
from middleware.cli.chat_terminal import Terminal

from .streaming import StreamingModel

HOOK = """
import json, os, sys
payload = sys.stdin.read()
with open({log!r}, "a") as log:
    log.write(payload.strip() + "\\n")
if not json.loads(payload)["prompt"] and os.path.exists({refuse!r}):
    print(json.dumps({{"decision": "block", "reason": "no results"}}))
elif "secret" in json.loads(payload)["prompt"]:
    print(json.dumps({{"decision": "block", "reason": "no secrets"}}))
else:
    print("branch <main>")
"""


def hooks_file(folder: Path) -> Path:
    """A hooks file with one command hook, which appends its stdin to `payloads` in `folder`."""
    script = folder / "hook.py"
    script.write_text(HOOK.format(log=str(folder / "payloads"), refuse=str(folder / "refuse_results")))
    command = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(script))}"
    entry = {"type": "command", "name": "state", "command": command}
    file = folder / "hooks.json"
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}))
    return file


def payloads_in(folder: Path) -> list[dict[str, Any]]:
    """What the hook was given, in order."""
    file = folder / "payloads"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Chatting:
    """One chat that is running."""

    def __init__(self, terminal: Terminal, pipe: PipeInput, printed: io.StringIO, folder: Path) -> None:
        self.terminal = terminal
        self.folder = folder
        self._pipe = pipe
        self._printed = printed
        self.running: asyncio.Task[None] | None = None
        self._rendered = asyncio.Event()
        terminal.screen.app.after_render += lambda _: self._rendered.set()

    @property
    def text(self) -> str:
        return self.terminal.mirror.buffer.text

    @property
    def printed(self) -> str:
        return self._printed.getvalue()

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return payloads_in(self.folder)

    @property
    def values(self) -> list[object]:
        return [payload.get("submitted_prompt", "absent") for payload in self.payloads]

    def keys(self, text: str) -> None:
        self._pipe.send_text(text)

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not wanted():
                self._rendered.clear()
                await self._rendered.wait()

    async def done(self, turns: int) -> None:
        """Until so many turns have gone out and none is running."""
        await self.until(lambda: len(self.payloads) >= turns and not self.terminal.chat.busy)
        await self.until(lambda: self.terminal._turn is None)

    async def turn(self, keys: str) -> None:
        turns = len(self.payloads) + 1
        self.keys(keys + "\r")
        await self.done(turns)


@asynccontextmanager
async def chatting(
    folder: Path,
    model: StreamingModel,
    *,
    session: str = "s1",
    resumed: bool = False,
    vim: bool = False,
    tools: bool = True,
    **commands: Command,
) -> AsyncIterator[Chatting]:
    """A chat with `model`, its files in `folder`."""
    wire, printed = Wire(), io.StringIO()
    http = httpx2.AsyncClient(event_hooks={"request": [wire.noted]})
    client = AsyncOpenAI(base_url=model.url, api_key="k", http_client=http, max_retries=0)
    settings: dict[str, Any] = {"hooks_file": str(hooks_file(folder)), "transcripts": str(folder / "transcripts")}
    with (
        closing(Middleware.from_settings(tracer_provider=wire.provider(), **settings)) as app,
        create_pipe_input() as pipe,
        create_app_session(input=pipe, output=DummyOutput()),
    ):
        opened = app.open(session, resume=resumed)
        async with Talk(app, lambda: client, "m", opened, resumed=resumed, folder=folder if tools else None) as talk:
            terminal = Terminal(
                app=app,
                talk=talk,
                session=opened,
                wire=wire,
                files=Files(folder / "chat"),
                folder=folder,
                commands=commands,
                vim=vim,
                out=Console(file=printed, width=400, highlight=False, markup=False, emoji=False),
                input=pipe,
                output=DummyOutput(),
            )
            chat = Chatting(terminal, pipe, printed, folder)
            running = chat.running = asyncio.create_task(terminal.run())
            await chat.until(lambda: True)
            try:
                yield chat
            finally:
                if not running.done():
                    terminal.screen.app.exit()
                await running
