"""Writes one conversation for somebody else: a page, a text, data, or the messages of a request.

Injected text is in a page, folded and marked; in the messages, since they are what was sent; in the records. In the
Markdown and JSON of the projection it is only when asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec.structs import asdict

from ..parts import clean
from ..records import Record
from ..resume import first_prompt
from .figures import Figures
from .lines import encode_line
from .listing import user_of
from .unfolded import Unfolded, media_label, unfold
from .wire import anthropic_request, openai_request

__all__ = ["FORMATS", "Format", "title_of", "written"]

Format: TypeAlias = Literal["md", "html", "json", "jsonl", "openai", "anthropic"]
FORMATS: tuple[Format, ...] = get_args(Format)

_TITLE = 80
_NEWLINE = re.compile(r"\r\n|\r|\n")
_HEADINGS: Mapping[str, str] = {
    "user": "You",
    "assistant": "Assistant",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "notification": "Notification",
    "system": "Note",
}


def written(branch: Iterable[Record], format: Format, *, injected: bool = False) -> Iterator[bytes]:
    """Yield the bytes of a file; the branch is iterated over more than once.

    `injected` adds what the model was sent beside it to `md` and `json`.
    """
    match format:
        case "html":
            from .html import page

            chunks = page(branch, title=title_of(branch))
        case "md":
            chunks = _markdown(branch, injected)
        case "json":
            chunks = iter([_dumped(_projection(branch, injected))])
        case "openai":
            chunks = iter([_dumped(openai_request(branch))])
        case "anthropic":
            chunks = iter([_dumped(anthropic_request(branch))])
        case "jsonl":
            yield from map(encode_line, branch)
            return
    for chunk in chunks:
        yield clean(chunk).encode()


def title_of(branch: Iterable[Record]) -> str:
    """What the person said first, in one line; a session in which nobody said anything has a title, too."""
    words = " ".join((first_prompt(branch) or "").split())
    if not words:
        return "A session without a prompt"
    return words if len(words) <= _TITLE else f"{words[: _TITLE - 1].rstrip()}…"


def _projection(branch: Iterable[Record], injected: bool) -> dict[str, Any]:
    figures = Figures().count(branch)
    rows = []
    for item in unfold(branch):
        if item.shown is not None:
            row: dict[str, Any] = {**asdict(item.shown), "timestamp": item.timestamp, "model": item.model or None}
        elif injected:
            row = {"type": "unshown", "text": "", "uuid": item.uuid, "timestamp": item.timestamp}
        else:
            continue
        if injected:
            row["injected"] = [{"source": added.source, "text": added.text} for added in item.injected]
            row["sent"] = item.sent
        rows.append(row)
    return {
        "title": title_of(branch),
        "session_id": _session_of(branch),
        "user": user_of(branch),
        "started": figures.started.isoformat() if figures.started is not None else None,
        "ended": figures.ended.isoformat() if figures.ended is not None else None,
        "rows": rows,
    }


def _session_of(branch: Iterable[Record]) -> str:
    """The session's id, "" for none."""
    return next((clean(held) for record in branch if isinstance(held := record.get("sessionId"), str)), "")


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _markdown(branch: Iterable[Record], injected: bool) -> Iterator[str]:
    """Headings are ours and everything somebody wrote is quoted: no text can pass for another's."""
    figures = Figures().count(branch)
    yield f"# {_one_line(title_of(branch))}\n\n"
    yield f"- session: `{_one_line(_session_of(branch)).replace('`', '')}`\n"
    if (user := user_of(branch)) is not None:
        yield f"- user: `{_one_line(user).replace('`', '')}`\n"
    if figures.started is not None and figures.ended is not None:
        yield f"- from {figures.started:%Y-%m-%d %H:%M} to {figures.ended:%Y-%m-%d %H:%M} UTC\n"
    for item in unfold(branch):
        shown = item.shown
        if shown is not None:
            name = f": `{_one_line(shown.name).replace('`', '')}`" if shown.name else ""
            aside = "" if shown.sent_to_model or shown.type != "user" else " (not sent as a turn of its own)"
            text = _fenced(shown.text) if shown.type in ("tool_call", "tool_result") else shown.text
            text = "\n\n".join([*([text] if text else []), *map(media_label, item.media)])
            yield f"\n## {_HEADINGS[shown.type]}{name}{aside}\n\n{_quoted(text)}\n"
        elif item.media:
            yield f"\n## {_HEADINGS['user']}\n\n{_quoted(' '.join(map(media_label, item.media)))}\n"
        if injected:
            yield from _behind(item)


def _behind(item: Unfolded) -> Iterator[str]:
    if item.sent is not None:
        yield f"\n### Sent to the model in its place\n\n{_quoted(_fenced(item.sent))}\n"
    for added in item.injected:
        by = "memory" if added.source == "memory" else f"a {added.source}"
        yield f"\n### Added by {by}\n\n{_quoted(_fenced(added.text))}\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in _NEWLINE.split(text.rstrip("\n")))


def _fenced(text: str) -> str:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<")
