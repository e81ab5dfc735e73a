"""Megabytes on a terminal: pastes arrive whole however they are cut up, and of a long line a part is drawn."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.input import DummyInput, create_pipe_input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.layout import BufferControl
from prompt_toolkit.layout.processors import TransformationInput

from middleware.chat.terminal.large import LongLines, PasteParser, read_pastes_at_once

KEYS = st.lists(
    st.sampled_from(["a", "\x1b[A", "\x1b[200~", "\x1b[201~", "\x1b", "[201~", "\x1b[201", "~", "x" * 30, "\n", "é"])
)


def parsed(parser: type[Vt100Parser], pieces: list[str]) -> list[KeyPress]:
    pressed: list[KeyPress] = []
    made = parser(pressed.append)
    for piece in pieces:
        made.feed(piece)
    return pressed


@given(keys=KEYS, cuts=st.lists(st.integers(1, 7), min_size=1))
def test_a_paste_in_any_pieces_is_read_as_prompt_toolkit_reads_it(keys: list[str], cuts: list[int]) -> None:
    data, pieces = "".join(keys), list[str]()
    while data:
        cut = cuts[len(pieces) % len(cuts)]
        pieces.append(data[:cut])
        data = data[cut:]
    assert parsed(PasteParser, pieces) == parsed(Vt100Parser, pieces)


def test_what_was_read_of_a_paste_is_not_looked_at_again() -> None:
    looked = 0

    class Counting(PasteParser):
        def __setattr__(self, name: str, value: Any) -> None:
            nonlocal looked
            looked += len(value) if name == "_paste_buffer" else 0
            super().__setattr__(name, value)

    pressed = parsed(Counting, ["\x1b[200~", *["x" * 1_000] * 1_000, "\x1b[201~"])
    assert [len(key.data) for key in pressed] == [1_000_000]
    assert looked < 3_000_000


def test_a_terminals_input_reads_so_and_another_is_left_alone() -> None:
    with create_pipe_input() as pipe:
        read_pastes_at_once(pipe)
        pipe.send_text("\x1b[200~a\nb\x1b[201~c")
        assert [key.data for key in pipe.read_keys()] == ["a\nb", "c"]
    read_pastes_at_once(DummyInput())


def transformed(text: str, at: int, line: int = 0) -> Any:
    document = Document(text, at)
    lines = document.lines
    control = BufferControl(Buffer(document=document))
    return LongLines().apply_transformation(
        TransformationInput(control, document, line, lambda i: i, [("", lines[line])], 80, 24)
    )


def test_a_line_of_usual_length_is_drawn_as_it_is() -> None:
    assert transformed("x" * 20_000, 5).fragments == [("", "x" * 20_000)]


def test_of_a_long_line_what_is_around_the_cursor_is_drawn() -> None:
    text = "".join(chr(97 + at // 1_000 % 26) for at in range(100_000))
    shown = transformed(text, 50_500)
    ((_, drawn),) = shown.fragments
    assert drawn == f"…{text[47_000:55_000]}…"
    assert drawn[shown.source_to_display(50_500)] == text[50_500]
    assert shown.display_to_source(shown.source_to_display(50_500)) == 50_500
    assert (shown.source_to_display(0), shown.source_to_display(99_999)) == (0, 8_002)
    at_the_end = transformed(text, 100_000)
    assert at_the_end.fragments == [("", f"…{text[97_000:]}")]
    assert at_the_end.source_to_display(100_000) == 3_001
    assert transformed(text, 0).fragments == [("", f"{text[:8_000]}…")]


def test_of_a_long_line_without_the_cursor_the_beginning_is_drawn() -> None:
    text = "y" * 30_000 + "\n" + "z"
    assert transformed(text, len(text)).fragments == [("", "y" * 8_000 + "…")]
