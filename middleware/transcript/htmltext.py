"""Somebody's text as HTML that shows it and does nothing else."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["block", "fold", "image", "inert", "reply", "visible"]

_HIDDEN = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff])\\1*|([\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
)
"""What is not seen, or moves what is: controls, direction overrides and isolates, fillers, tags; one character,
repeated. Variation selectors are hidden text where several of them follow one another, and part of an emoji alone.
"""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n`]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LONG = 4_000
_LONG_LINES = 40
_GLIMPSE = 400
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LARGEST_IMAGE = 1 << 23


def visible(text: str) -> str:
    """Escape a text; characters that nobody would see, or that turn the direction, are named in its place."""
    out: list[str] = []
    text = text.replace("\r\n", "\n")
    at = 0
    for found in _HIDDEN.finditer(text):
        out += escape(text[at : found.start()]), _named(found[0][0], len(found[0]))
        at = found.end()
    out.append(escape(text[at:]))
    return "".join(out)


def inert(text: str) -> str:
    """A text where no element can stand, such as the title of a page: one line, hidden characters marked."""
    return escape(" ".join(_HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text).split()))


def block(text: str, *, code: bool = False, marked: bool = False) -> str:
    """A text on its own, in the direction that it is written in; a long one is folded behind its beginning.

    `code` sets it in a box, `marked` sets what stands between backquotes as code.
    """
    kind = "pre" if code else "text"
    body = f'<div class="{kind}" dir="auto">{_spans(text) if marked else visible(text)}</div>'
    if len(text) <= _LONG and text.count("\n") <= _LONG_LINES:
        return body
    start = "\n".join(text[:_GLIMPSE].split("\n")[:8])
    more = f'<span class="more">all {len(text):,} characters</span>'
    glimpse = f'<span class="{kind} glimpse" dir="auto">{visible(start)} …</span>'
    return f'<details class="long"><summary>{glimpse}{more}</summary>{body}</details>'


def reply(text: str) -> str:
    """What a model said: its fenced code in boxes, everything else as it stands."""
    out: list[str] = []
    at = 0
    for found in _FENCE.finditer(text):
        out += _unless_blank(text[at : found.start()])
        out.append(block(found[2].removesuffix("\n"), code=True))
        at = found.end()
    out += _unless_blank(text[at:])
    return "".join(out)


def fold(kind: str, title: str, size: int, body: str) -> str:
    """Something that is there and folded away; `kind` is a class, `title` says whose it is."""
    return (
        f'<details class="added {kind}"><summary><b>{visible(title)}</b> '
        f'<span class="size">{size:,} characters</span></summary>{body}</details>'
    )


def image(part: Mapping[str, Any]) -> str:
    """A picture that is in the transcript; anything else, and what is no picture, in words."""
    held = part.get("inlineData")
    if not isinstance(held, Mapping):
        held = part.get("fileData")
        where = held.get("fileUri") if isinstance(held, Mapping) else None
        return f'<p class="note">a file, not fetched: {visible(str(where))}</p>'
    kind, data = str(held.get("mimeType")), held.get("data")
    if kind in _IMAGES and isinstance(data, str) and len(data) <= _LARGEST_IMAGE and _is_base64(data):
        return f'<img alt="a picture of the conversation" src="data:{kind};base64,{data}">'
    size = f"{len(data):,} characters of base64" if isinstance(data, str) else "no data"
    return f'<p class="note">a part of type {visible(kind)}: {size}</p>'


def _named(character: str, times: int) -> str:
    name = unicodedata.name(character, "control character")
    count = f"\N{MULTIPLICATION SIGN}{times:,}" if times > 1 else ""
    return f'<span class="hidden" title="{name}">U+{ord(character):04X}{count}</span>'


def _unless_blank(text: str) -> Iterator[str]:
    if text.strip():
        yield block(text.strip("\n"), marked=True)


def _spans(text: str) -> str:
    out: list[str] = []
    at = 0
    for found in _CODE.finditer(text):
        out += visible(text[at : found.start()]), f"<code>{visible(found[1])}</code>"
        at = found.end()
    return "".join([*out, visible(text[at:])])


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False
