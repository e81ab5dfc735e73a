"""`firsthand chat`: turns that are taken back, and sessions that are gone on with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from .chatting import chatting
from .streaming import StreamingModel, text_of
from .terminal_keys import CTRL_C


def test_rewind_takes_the_last_turn_out_of_what_is_sent_and_its_text_is_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            await chat.turn("second")
            chat.keys("/rewind\r")
            await chat.until(lambda: chat.text == "second")
            await chat.turn("")
            assert chat.values == ["first", "second", "absent"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["first", "echo: first", "second"]

    asyncio.run(play())


def test_a_rewind_is_what_a_resumed_chat_shows_and_sends(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            for text in ("first", "second", "third"):
                await chat.turn(text)
            chat.keys("/rewind list\r")
            await chat.until(lambda: "  3  first\n  2  second\n  1  third\n" in chat.printed)
            chat.keys("/rewind 2\r")
            await chat.until(lambda: chat.text == "second")
            assert "the last 2 turns are taken back" in chat.printed
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
            await chat.turn("fourth")
        async with chatting(place, model, resumed=True) as chat:
            assert [turn.text for turn in chat.terminal.talk.past] == ["first", "fourth"]
            assert [row.text for row in chat.terminal.session.shown()] == [
                *("first", "echo: first", "fourth", "echo: fourth")
            ]
            chat.keys("/rewind 2\r")
            await chat.until(lambda: chat.text == "first")
            await chat.turn(" again")
            assert chat.values == ["first", "second", "third", "fourth", "absent"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["first again"]

    asyncio.run(play())


def test_a_rewind_of_a_resumed_turn_takes_back_what_was_cancelled_before_it_too(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            chat.keys("silent one\r")
            assert all([await asyncio.to_thread(model.asked.acquire, timeout=60) for _ in range(2)])
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent one" and chat.terminal._turn is None)
            chat.keys(f"{CTRL_C}/rewind\r")
            await chat.until(lambda: chat.text == "first")
            assert chat.terminal.session.shown() == []

    asyncio.run(play())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/rewind", "there is no turn to take back"),
        ("/rewind 0", "there is no turn to take back"),
        ("/rewind list", "there is no turn to take back"),
        ("/rewind two", "/rewind takes a number of turns, or list, not 'two'"),
    ],
)
def test_what_cannot_be_taken_back_is_said_in_one_line(
    model: StreamingModel, place: Path, typed: str, said: str
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"{typed}\r")
            await chat.until(lambda: said in chat.printed)

    asyncio.run(play())


def test_resume_goes_on_with_another_session_and_shows_what_was_typed(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model, session="old") as chat:
            await chat.turn("why is CI red?")
        async with chatting(place, model) as chat:
            chat.keys("/resume\r")
            await chat.until(lambda: "go on with one: /resume ID" in chat.printed)
            assert "why is CI red?" in chat.printed
            chat.keys("/resume nobodys\r")
            await chat.until(lambda: "no session nobodys of yours in" in chat.printed)
            chat.keys("/resume old\r")
            await chat.until(lambda: "> why is CI red?" in chat.printed and "echo: why is CI red?" in chat.printed)
            assert "branch" not in chat.printed
            await chat.turn("and now?")
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == [
                "why is CI red?",
                "echo: why is CI red?",
                "and now?",
            ]
            assert chat.payloads[1]["session_id"] == "old"
            assert json.dumps(model.bodies[-1]).count("branch &lt;main&gt;") == 2

    asyncio.run(play())
