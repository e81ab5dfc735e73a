"""The colours of `firsthand chat`, for light and for dark terminals, and for those that do not say which they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from prompt_toolkit.styles import Style
    from rich.theme import Theme as RichTheme

__all__ = ["THEMES", "Theme", "theme_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Colours as `#rrggbb`, and the Pygments style of code. None of them means anything by itself: words do."""

    person: str
    added: str
    wrong: str
    notice: str
    faint: str
    code: str

    def rich(self) -> RichTheme:
        """For what is printed; the names of colours that are used there stand for these."""
        from rich.theme import Theme as RichTheme

        return RichTheme(
            {
                "cyan": self.person,
                "bold cyan": f"bold {self.person}",
                "magenta": self.added,
                "bold magenta": f"bold {self.added}",
                "red": self.wrong,
                "yellow": self.notice,
                "dim": self.faint,
                "markdown.code": f"bold {self.person}",
                "markdown.code_block": self.person,
                "markdown.link": f"underline {self.person}",
                "markdown.link_url": f"underline {self.person}",
                "markdown.block_quote": f"italic {self.faint}",
                "markdown.list": "none",
                "markdown.item.bullet": f"bold {self.person}",
                "markdown.item.number": f"bold {self.person}",
                "markdown.hr": self.faint,
                "markdown.h1": "bold underline",
                "markdown.h2": "bold underline",
                "markdown.h3": "bold",
                "markdown.h4": "italic",
                "markdown.table.border": self.faint,
                "markdown.table.header": "bold",
            }
        )

    def prompt_toolkit(self) -> Style:
        """For the composer and what is around it."""
        from prompt_toolkit.styles import Style

        return Style.from_dict(
            {
                "mark": f"bold {self.person}",
                "hint": self.faint,
                "chip": f"bold {self.added}",
                "chosen": "reverse",
                "status": "reverse",
            }
        )


THEMES: Final[Mapping[str, Theme]] = {
    "dark": Theme(
        person="#5fd7ff", added="#d7afff", wrong="#ff8787", notice="#ffd75f", faint="#a8a8a8", code="ansi_dark"
    ),
    "light": Theme(
        person="#005f87", added="#870087", wrong="#af0000", notice="#6f5000", faint="#5f5f5f", code="ansi_light"
    ),
    "either": Theme(
        person="#0087af", added="#af5faf", wrong="#dc3545", notice="#9a7500", faint="#808080", code="ansi_dark"
    ),
}


def theme_of(name: Literal["auto", "light", "dark"], environ: Mapping[str, str] = os.environ) -> Theme:
    """The colours to use; `auto` goes by COLORFGBG (`15;0`), without it by colours that are read on both."""
    if name != "auto":
        return THEMES[name]
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not background.isascii() or not background.isdigit():
        return THEMES["either"]
    return THEMES["dark" if int(background) in (0, 1, 2, 3, 4, 5, 6, 8) else "light"]
