"""`firsthand chat`: a text that came from the history, a search or vim's keys is not what was typed."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from middleware.chat import State

from .chatting import chatting
from .streaming import StreamingModel
from .terminal_keys import PASTE_BEGINS, PASTE_ENDS, UP


def test_history_is_the_owners_alone_survives_the_chat_and_taints(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
        async with chatting(place, model) as chat:
            await chat.turn(UP)
            assert chat.values == ["first", "absent"]
            assert chat.payloads[1]["prompt"] == "first"

    asyncio.run(play())
    assert stat.S_IMODE((place / "chat" / "history.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("keys", ["a b\x1bu", "ab\x14", "x\x1b."], ids=["upcase", "transpose", "last argument"])
def test_text_that_gets_into_the_buffer_by_another_road_taints(model: StreamingModel, place: Path, keys: str) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.terminal.mirror.buffer.history.append_string("from elsewhere")
            chat.terminal.mirror.buffer.insert_text("by a program")
            assert chat.terminal.chat.composer.state is State.TAINTED
            await chat.turn(keys)
            assert chat.values == ["absent"]

    asyncio.run(play())


def test_a_key_of_the_library_that_accepts_a_line_leaves_it_on_the_screen_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("ab\x1b#")
            await chat.until(lambda: chat.text == "#ab")
            await chat.turn("")
            assert chat.values == ["absent"]
            assert chat.payloads[0]["prompt"] == "#ab"

    asyncio.run(play())


@pytest.mark.parametrize("keys", ["word", "word\x1bx", "two words\x1bdw"], ids=["insert", "normal", "a command"])
def test_in_vim_mode_nothing_is_attributed(model: StreamingModel, place: Path, keys: str) -> None:
    async def play() -> None:
        async with chatting(place, model, vim=True) as chat:
            await chat.turn(keys)
            assert chat.values == ["absent"]

    asyncio.run(play())


def test_a_paste_that_vims_keys_have_edited_around_is_still_sent(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model, vim=True) as chat:
            await chat.turn(f"a{PASTE_BEGINS}{'x' * 3000}{PASTE_ENDS}b\x1bx")
            assert chat.payloads[0]["prompt"] == "a" + "x" * 3000

    asyncio.run(play())


def test_ctrl_r_finds_an_earlier_text_and_sends_it_unattributed(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first of all")
            await chat.turn("second first")
            await chat.turn("third")
            await chat.turn("\x12FIRST\x12")
            assert chat.payloads[3]["prompt"] == "first of all"
            chat.keys("\x12second\t")
            await chat.until(lambda: chat.text == "second first")
            await chat.turn(" now")
            assert chat.payloads[4]["prompt"] == "second first now"
            assert chat.values == ["first of all", "second first", "third", "absent", "absent"]

    asyncio.run(play())


def test_leaving_the_search_leaves_the_draft_as_it_was(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            chat.keys("draft\x12fir\x07")
            await chat.turn(" goes on")
            assert chat.values == ["first", "draft goes on"]

    asyncio.run(play())
