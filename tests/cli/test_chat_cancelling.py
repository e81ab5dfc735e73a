"""`firsthand chat`: what a cancelled turn gives back, and what of it stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

from .chatting import chatting
from .streaming import StreamingModel, text_of
from .terminal_keys import CTRL_C


def test_cancelling_before_a_reply_gives_the_text_back_and_sending_it_again_keeps_its_value(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent one" and "cancelled; your text is back" in chat.printed)
            model.gate.set()
            await chat.turn("")
            assert chat.values == ["silent one", "silent one"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["silent one"]

    asyncio.run(play())


def test_cancelling_and_editing_leaves_the_value_out(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys("\x1b")
            await chat.until(lambda: chat.text == "silent one" and chat.terminal._turn is None)
            model.gate.set()
            await chat.turn("!")
            assert chat.values == ["silent one", "absent"]

    asyncio.run(play())


def test_a_cancelled_reply_that_had_begun_stays_in_the_conversation(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "slow one" and chat.terminal._turn is None)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
            await chat.turn("next")
            texts = [text_of(message) for message in model.bodies[-1]["messages"]]
            assert texts == ["slow one", "echo: ", "next"]

    asyncio.run(play())


def test_what_is_cancelled_before_it_was_begun_is_not_sent(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"one\r{CTRL_C}")
            await chat.until(lambda: "cancelled; your text is back" in chat.printed)
            assert chat.text == "one"
            await chat.turn("")
            assert chat.values == ["one"]
            assert len(model.bodies) == 1

    asyncio.run(play())


def test_a_second_cancel_stops_what_was_sent_while_the_first_was_under_way(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(f"{CTRL_C}\r{CTRL_C}")
            await chat.until(lambda: chat.printed.count("cancelled; your text is back") == 2)
            assert chat.text == "silent one"
            assert chat.values == ["silent one"]
            assert len(model.bodies) == 1

    asyncio.run(play())


def test_leaving_while_a_turn_runs_cancels_it(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            assert chat.terminal._turn is not None
            turn = chat.terminal._turn.task
            chat.keys("exit\r")
            assert chat.running is not None
            await asyncio.wait_for(chat.running, 60)
            assert turn is not None
            assert turn.cancelled()

    asyncio.run(play())
