"""Large texts on a terminal: megabytes that are pasted are read, and shown, without a wait."""

from __future__ import annotations

from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

__all__ = ["LongLines", "PasteParser", "read_pastes_at_once"]

_END = "\x1b[201~"
_LONG = 20_000
_STEP = 1_000


class PasteParser(Vt100Parser):
    """Keeps the pieces of a paste until its end has come.

    Its base looks for the end in all that was read so far, each time a kilobyte is: a minute for 5 MB.
    """

    def reset(self, request: bool = False) -> None:
        super().reset(request)
        self._pieces: list[str] = []
        self._edge = ""

    def feed(self, data: str) -> None:
        if self._in_bracketed_paste and _END not in self._edge + data:
            self._pieces.append(data)
            self._edge = (self._edge + data)[1 - len(_END) :]
            return
        if self._pieces:
            self._paste_buffer += "".join(self._pieces)
            self._pieces, self._edge = [], ""
        super().feed(data)


def read_pastes_at_once(source: Input) -> None:
    """Have a terminal's input parse pastes so; an input that is no terminal's is left as it is."""
    parser = getattr(source, "vt100_parser", None)
    if type(parser) is Vt100Parser:
        source.vt100_parser = PasteParser(parser.feed_key_callback)  # type: ignore[attr-defined]


class LongLines(Processor):
    """Shows of a line of more than 20,000 characters what is around the cursor, of another its beginning.

    Every character of a line costs about a microsecond each time that it is drawn, also where it is not seen.
    """

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments, document = transformation_input.fragments, transformation_input.document
        text = fragment_list_to_text(fragments)
        if len(text) <= _LONG:
            return Transformation(fragments)
        at = document.cursor_position_col if document.cursor_position_row == transformation_input.lineno else 0
        # In steps, so that the text stands still while a word is typed.
        start = max(0, at // _STEP - 3) * _STEP
        end = min(len(text), start + 8 * _STEP)
        before, after = "…" if start else "", "…" if end < len(text) else ""
        shown = f"{before}{text[start:end]}{after}"

        def source_to_display(position: int) -> int:
            return min(max(0, position - start + len(before)), len(shown))

        def display_to_source(position: int) -> int:
            return min(max(0, position - len(before) + start), len(text))

        return Transformation([("", shown)], source_to_display, display_to_source)
