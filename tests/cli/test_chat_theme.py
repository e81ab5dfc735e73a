"""Colours that can be read on the background they are for."""

from __future__ import annotations

import io
from dataclasses import fields

import pytest
from prompt_toolkit.output import ColorDepth
from rich.console import Console

from middleware.cli.chat_markdown import markdown_of
from middleware.cli.chat_theme import THEMES, theme_of

DARK, LIGHT = ("#000000", "#1e1e1e", "#002b36", "#282c34"), ("#ffffff", "#fdf6e3", "#f6f8fa")
COLOURS = [field.name for field in fields(THEMES["dark"]) if field.name != "code"]


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Of WCAG 2.2: from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize(
    ("theme", "papers", "least"),
    [("dark", DARK, 4.5), ("light", LIGHT, 4.5), ("either", (DARK[0], DARK[1], LIGHT[0]), 3.5)],
)
def test_every_colour_stands_out_from_its_background(
    theme: str, papers: tuple[str, ...], least: float, colour: str
) -> None:
    assert min(contrast(getattr(THEMES[theme], colour), paper) for paper in papers) >= least


@pytest.mark.parametrize(
    ("value", "theme"),
    [
        *(("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("7;8", "dark"), ("12;7", "light")),
        *(("", "either"), ("0;default", "either"), ("nonsense", "either"), ("0;²", "either")),
    ],
)
def test_the_background_is_what_colorfgbg_says(value: str, theme: str) -> None:
    assert theme_of("auto", {"COLORFGBG": value} if value else {}) is THEMES[theme]


def test_what_was_asked_for_wins_over_what_the_terminal_says() -> None:
    assert theme_of("light", {"COLORFGBG": "15;0"}) is THEMES["light"]


def test_no_color_leaves_no_colour_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    printed = Console(file=out, force_terminal=True, theme=THEMES["dark"].rich())
    printed.print(markdown_of("# a\n`b` [c](https://d.e)\n```python\nx = 1\n```\n"), "[red]e[/red]")
    assert "\x1b[3" not in out.getvalue().replace("\x1b[3m", "")
    assert ColorDepth.from_env() is ColorDepth.DEPTH_1_BIT
