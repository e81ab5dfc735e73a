"""`firsthand chat` by its keys: what the hook is given, what comes back, what is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

from .chatting import chatting
from .streaming import StreamingModel
from .terminal_keys import CTRL_D, CTRL_J, CTRL_Q, PASTE_BEGINS, PASTE_ENDS


def test_what_is_typed_reaches_the_hook_as_submitted_prompt_and_the_reply_is_printed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("why is CI red?")
            assert chat.values == ["why is CI red?"]
            assert "> why is CI red?" in chat.printed
            assert "echo: why is CI red?" in chat.printed
            assert chat.text == ""
            assert chat.terminal.screen.facts[:4] == ("m", "7 in, 5 out", "0 hooks", "0 recalled")
            assert chat.terminal.screen.facts[4].startswith("trace ")

    asyncio.run(play())


def test_a_paste_of_3000_characters_is_a_placeholder_for_the_person_and_a_body_for_the_model(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"look: {PASTE_BEGINS}{'x' * 3000}{PASTE_ENDS}")
            await chat.until(lambda: chat.text == "look: [Pasted Content 3000 chars]")
            await chat.turn("")
            assert chat.values == ["look: [Pasted Content 3000 chars]"]
            assert chat.payloads[0]["prompt"] == "look: " + "x" * 3000

    asyncio.run(play())


def test_markup_in_a_reply_is_shown_and_not_left_out(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("a <b>bold</b> <think> <q:tag> <!-- word --> **strong**")
            await chat.until(lambda: "echo: a <b>bold</b> <think> <q:tag> <!-- word --> strong" in chat.printed)

    asyncio.run(play())


def test_alt_enter_and_ctrl_j_begin_a_new_line(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn(f"one{CTRL_J}two\x1b\rthree")
            assert chat.values == ["one\ntwo\nthree"]

    asyncio.run(play())


def test_a_blocked_prompt_shows_the_reason_and_comes_back_and_is_not_kept(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("my secret\r")
            await chat.until(lambda: "blocked: no secrets (your text is back)" in chat.printed)
            assert chat.text == "my secret"
            assert model.bodies == []
            assert (place / "chat" / "history.jsonl").read_bytes() == b""

    asyncio.run(play())


def test_what_is_queued_while_a_turn_runs_goes_out_after_it_as_one(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys(f"two{CTRL_Q}three\r")
            await chat.until(lambda: len(chat.terminal.chat.queue) == 2)
            model.gate.set()
            await chat.done(2)
            assert chat.values == ["slow one", "two\n\nthree"]

    asyncio.run(play())


def test_ctrl_d_on_an_empty_line_leaves(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(CTRL_D)
            assert chat.running is not None
            await asyncio.wait_for(chat.running, 60)

    asyncio.run(play())


def test_a_server_that_fails_gives_the_text_back(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            model._server.shutdown()
            model._server.server_close()
            chat.keys("hello\r")
            await chat.until(lambda: chat.text == "hello")
            assert "the model did not answer: Connection error; check --base-url" in chat.printed

    asyncio.run(play())
