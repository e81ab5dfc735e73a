"""`firsthand chat` when keys come while something else is on its way: they mean what was there when they came."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.output import DummyOutput

from middleware.chat import State

from .chatting import Chatting, chatting
from .streaming import StreamingModel

CTRL_C, CTRL_Q, ESCAPE, UP, EDIT = "\x03", "\x11", "\x1b", "\x1b[A", "\x18\x05"


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


class Held:
    """The terminal is asked where its cursor is, as before each print, and does not answer until `answers` is set."""

    def __init__(self, chat: Chatting, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.answers = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            self.asked.set()
            await self.answers.wait()

        monkeypatch.setattr(chat.terminal.screen.app.renderer, "wait_for_cpr_responses", wait)
        monkeypatch.setattr(DummyOutput, "responds_to_cpr", True)


def test_a_print_that_is_cancelled_while_it_waits_for_the_terminal_does_not_stop_the_next(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            held = Held(chat, monkeypatch)
            chat.keys("one\r")
            async with asyncio.timeout(60):
                await held.asked.wait()
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "one")
            held.answers.set()
            await chat.until(lambda: "cancelled; your text is back" in chat.printed)
            await chat.turn("")
            assert chat.values == ["one"]

    asyncio.run(play())


def test_a_draft_that_is_emptied_before_the_editor_is_there_does_not_come_back_out_of_it_as_typed(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place / "editor.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\npath.write_text(f'[{path.read_text()}]')\n"
    )
    monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(script))}")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("one")
            chat.keys(UP)
            await chat.until(lambda: chat.text == "one")
            held = Held(chat, monkeypatch)
            chat.keys(EDIT)
            async with asyncio.timeout(60):
                await held.asked.wait()
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
            held.answers.set()
            await chat.until(lambda: chat.text == "[]")
            assert chat.terminal.chat.composer.state is State.FRESH

    asyncio.run(play())


@pytest.mark.parametrize("waiting", ["", f"two{CTRL_Q}"], ids=["sent while it is printed", "queued before"])
def test_a_cancel_while_the_last_reply_is_printed_is_of_what_was_sent_since(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch, waiting: str
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            markdown = chat.terminal.screen.markdown

            async def printed(text: str) -> None:
                if text == "echo: slow one":
                    chat.keys(CTRL_C if waiting else f"two\r{CTRL_C}")
                    await chat.until(lambda: not chat.terminal.chat.busy and chat.text == "two")
                await markdown(text)

            monkeypatch.setattr(chat.terminal.screen, "markdown", printed)
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys(waiting)
            await chat.until(lambda: len(chat.terminal.chat.queue) == bool(waiting))
            model.gate.set()
            await chat.until(lambda: "cancelled; your text is back" in chat.printed)
            assert "echo: slow one" in chat.printed
            assert len(model.bodies) == 1
            await chat.turn("")
            assert chat.values == ["slow one", "two"]

    asyncio.run(play())


def test_escape_stops_a_shell_command_that_does_not_end_and_what_it_started(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            os.mkfifo(place / "held")
            chat.keys("!cat held | cat\r")
            pipe = await asyncio.to_thread(os.open, place / "held", os.O_WRONLY)
            chat.keys(ESCAPE)
            await chat.until(lambda: "stopped" in chat.printed and not chat.terminal._shells)
            with pytest.raises(BrokenPipeError):
                await asyncio.to_thread(_write_until_nobody_reads, pipe)
            os.close(pipe)
            chat.keys(f"{ESCAPE}one")
            await chat.until(lambda: chat.text == "one" and not chat.terminal.chat.shell)
            await chat.turn("")
            assert chat.values == ["one"]

    asyncio.run(play())


def _write_until_nobody_reads(pipe: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        os.write(pipe, b"x")
