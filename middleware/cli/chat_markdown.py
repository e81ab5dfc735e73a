"""A model's reply as Markdown for a screen, with every word of it."""

from __future__ import annotations

from markdown_it import MarkdownIt
from rich.markdown import Markdown

from .failures import plain

__all__ = ["markdown_of"]


def markdown_of(text: str, *, code_theme: str = "monokai") -> Markdown:
    """Rich's Markdown, in which a tag such as `<b>` or `<a:b>` is text, where rich leaves it out."""
    shown = Markdown(plain(text), hyperlinks=False, code_theme=code_theme)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("autolink")
    shown.parsed = parser.parse(shown.markup)
    return shown
