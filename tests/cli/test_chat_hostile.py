"""`firsthand chat` and what is no text, and where nothing can be written."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .chatting import chatting
from .streaming import StreamingModel


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


def test_a_paste_of_bytes_that_are_no_utf_8_is_sent_as_it_is_seen(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.terminal.paste("a\udcffb\x00c")
            assert chat.text == "a\ufffdb\ufffdc"
            await chat.turn("")
            assert chat.values == ["a\ufffdb\ufffdc"]
            assert chat.payloads[0]["prompt"] == "a\ufffdb\ufffdc"
            assert len(model.bodies) == 1

    asyncio.run(play())


def test_a_draft_that_cannot_be_kept_is_told_of_once_and_at_the_end(model: StreamingModel, place: Path) -> None:
    (place / "chat").write_text("a file where the folder is to be")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("one")
            await chat.turn("two")
            assert chat.printed.count("history and drafts are not kept: ") == 1
            chat.keys("a draft")
            await chat.until(lambda: chat.text == "a draft")
        assert chat.printed.rstrip().split("\n")[-1].startswith("history and drafts are not kept: ")
        assert chat.printed.count("history and drafts are not kept: ") == 2
        assert chat.values == ["one", "two"]

    asyncio.run(play())


def test_half_a_character_of_the_model_does_not_end_the_conversation(model: StreamingModel, place: Path) -> None:
    model.calls = [[("read_\ud83d", {"path": "\ud83d"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            # One send for the words, one for what the tool said.
            chat.keys("one\r")
            await chat.done(2)
            await chat.turn("two")
            asked = model.bodies[-1]["messages"]
            assert asked[1]["tool_calls"][0]["function"]["name"] == "read_\ufffd"
            assert asked[2]["content"] == "there is no tool read_\ufffd; there are read_file, list_files, search"
            assert chat.values == ["one", "absent", "two"]
        async with chatting(place, model, resumed=True) as chat:
            await chat.turn("three")
            assert model.bodies[-1]["messages"][:3] == asked[:3]

    asyncio.run(play())


def test_a_file_whose_name_is_no_utf_8_is_sent_by_a_pattern_and_the_words_stay_the_persons(
    model: StreamingModel, place: Path
) -> None:
    try:
        Path(os.fsdecode(os.fsencode(place) + b"/n\xff.txt")).write_text("CANARY")
    except OSError:
        pytest.skip("this file system has no such names")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("read @n*.txt ")
            assert chat.values == ["read @n*.txt"]
            assert "Content from n\ufffd.txt:\nCANARY" in json.dumps(model.bodies[0], ensure_ascii=False).replace(
                "\\n", "\n"
            )

    asyncio.run(play())
