"""What is on the screen of `firsthand chat`: in small windows, in a window that changes, of whatever a model says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .streaming import StreamingModel
from .terminal import program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal of Unix")

HOSTILE = "a\x1b]0;pwned\x07b\x1b[2Jc\x1b[Hd\x9b31me\x1bPqf\u202eg\u200bh\r\x08i"


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


@pytest.fixture
def start(model: StreamingModel) -> tuple[str, ...]:
    return ("--base-url", model.url, "--model", "m", "--no-tools")


def test_a_window_of_20_by_5_is_enough_to_talk_and_choose(place: Path, start: tuple[str, ...]) -> None:
    with program(place, *start, columns=20, lines=5) as chat:
        chat.write("hello\r")
        chat.shows("echo: hello")
        chat.shows("m · 7 in, 5 out")
        chat.write("/he")
        chat.shows("❯ /help")
        chat.holds("/he")
        chat.write("\t")
        chat.holds("/help")
        chat.write("\x03")
        chat.holds("")


def test_a_window_that_changes_while_a_reply_comes_goes_on(
    place: Path, start: tuple[str, ...], model: StreamingModel
) -> None:
    with program(place, *start, columns=80, lines=24) as chat:
        chat.write("slow " + "word " * 60 + "\r")
        chat.shows("answering")
        for columns, lines in ((30, 8), (12, 3), (120, 40), (60, 20)):
            chat.resize(columns, lines)
            chat.write("x")
            chat.until(lambda: chat.line.endswith("x"))
        chat.holds("xxxx")
        model.gate.set()
        chat.answered("echo: slow")
        chat.holds("xxxx")
        chat.write("\x03")
        chat.holds("")


def test_what_a_model_says_is_shown_and_never_obeyed_while_it_comes_and_afterwards(
    place: Path, start: tuple[str, ...], model: StreamingModel
) -> None:
    with program(place, *start) as chat:
        chat.write("first\r")
        chat.answered("echo: first")
        chat.paste(f"slow {HOSTILE}")
        chat.write("\r")
        chat.shows("answering")
        model.gate.set()
        chat.answered("echo: slow a\ufffd]0;pwned\ufffdb\ufffd[2Jc")
        assert "echo: first" in chat.display
        assert chat.screen.title == ""


def test_no_color_leaves_words_and_signs_that_say_it_all(place: Path, start: tuple[str, ...]) -> None:
    with program(place, *start, NO_COLOR="1", COLORTERM="truecolor") as chat:
        chat.write("hello `code`\r")
        chat.answered("echo: hello code")
        chat.write("/context\r")
        chat.shows("█ your words 12 (100%)")
        cells = [chat.screen.buffer[y][x] for y in range(chat.screen.lines) for x in range(chat.screen.columns)]
        assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}


def test_the_colours_are_those_of_the_theme(place: Path, start: tuple[str, ...]) -> None:
    for theme, colour in (("dark", "5fd7ff"), ("light", "005f87")):
        with program(place, "--theme", theme, *start, COLORTERM="truecolor") as chat:
            chat.write("hello\r")
            chat.answered("echo: hello")
            at = chat.screen.display.index(next(line for line in chat.screen.display if line.startswith("> hello")))
            assert chat.screen.buffer[at][0].fg == colour
