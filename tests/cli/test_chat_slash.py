"""`firsthand chat`: commands, mentioned files and a shell, and what of them reaches a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from middleware.chat.commands import Command

from .chatting import chatting
from .streaming import StreamingModel, text_of


def test_context_shows_what_was_added_and_from_where(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("hello")
            chat.keys("/context\r")
            await chat.until(lambda: "added by the hook state" in chat.printed)
            await chat.until(lambda: "│ branch <main>" in chat.printed)
            assert chat.values == ["hello"]

    asyncio.run(play())


def test_help_hooks_and_memory_are_no_turns(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("/help\r/hooks\r/memory\r/memory brontes\r")
            await chat.until(lambda: "what the model got with the last turn, and who added it" in chat.printed)
            await chat.until(lambda: "no hook runs here; `firsthand hooks list` says why" in chat.printed)
            await chat.until(lambda: "no memory went with the last turn" in chat.printed)
            await chat.until(lambda: "no memories here: set `store` and `user`" in chat.printed)
            assert (chat.payloads, model.bodies) == ([], [])

    asyncio.run(play())


def test_btw_is_asked_beside_the_running_turn_without_hooks_and_leaves_nothing(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys("/btw what is argus?\r")
            await chat.until(lambda: "echo: what is argus?" in chat.printed)
            assert chat.terminal.chat.busy
            model.gate.set()
            await chat.done(1)
            chat.keys("/context\r")
            await chat.until(lambda: "│ branch <main>" in chat.printed)
            await chat.turn("next")
            assert chat.values == ["slow one", "next"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == [
                "slow one",
                "echo: slow one",
                "next",
            ]
            assert model.bodies[1]["messages"][-1] == {"role": "user", "content": "what is argus?"}

    asyncio.run(play())


def test_a_shell_command_runs_here_and_nothing_goes_to_a_model(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("!echo from the $((40 + 2)); exit 3\r")
            await chat.until(lambda: "from the 42" in chat.printed and "exit code 3" in chat.printed)
            assert (chat.payloads, model.bodies) == ([], [])
            history = (place / "chat" / "shell_history.jsonl").read_text().splitlines()
            assert [json.loads(line)["text"] for line in history] == ["echo from the $((40 + 2)); exit 3"]

    asyncio.run(play())


def test_a_mentioned_file_is_in_the_prompt_and_not_in_what_was_typed(model: StreamingModel, place: Path) -> None:
    (place / "a.txt").write_text("CANARY")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("@a.txt and @b.txt why")
            assert chat.values == ["@a.txt and @b.txt why"]
            assert "CANARY" in chat.payloads[0]["prompt"]
            assert "@b.txt: no such file; sent as text" in chat.printed

    asyncio.run(play())


def test_a_command_of_a_markdown_file_is_what_was_typed_to_the_hook_and_its_body_to_the_model(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        review = Command(name="review", description="", body="Review {{args}} well.")
        async with chatting(place, model, review=review) as chat:
            await chat.turn("/review a.py")
            assert chat.values == ["/review a.py"]
            assert chat.payloads[0]["prompt"] == "Review a.py well."

    asyncio.run(play())


def test_export_writes_what_was_said_once_and_not_over_it(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("why is CI red?")
            chat.keys("/export out.md\r")
            await chat.until(lambda: "out.md: what was said, without what was added" in chat.printed)
            chat.keys("/export out.md\r")
            await chat.until(lambda: "out.md is there already; name another file" in chat.printed)
            chat.keys("/export out.pdf\r")
            await chat.until(lambda: "ends in .md, .html, .json, .jsonl" in chat.printed)

    asyncio.run(play())
    text = (place / "out.md").read_text()
    assert "why is CI red?" in text
    assert "branch" not in text
