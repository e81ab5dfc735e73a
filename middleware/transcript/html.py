"""One conversation as one page that fetches nothing, runs nothing, and says of every text whose it is."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from ..records import Record
from ..resume import Shown
from .figures import Figures
from .htmlstyle import STYLE
from .htmltext import block, fold, image, inert, reply, visible
from .listing import user_of
from .unfolded import Unfolded, unfold

__all__ = ["page"]

_POLICY = "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
_PREVIEW = 120
_LONGEST_INDENTED = 100_000
_SPEAKERS: Mapping[str, str] = {
    "user": "You",
    "assistant": "Assistant",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "notification": "Notification",
    "system": "Note",
}


def page(branch: Iterable[Record], *, title: str) -> Iterator[str]:
    """Yield the page of a branch, which is iterated over more than once; every text on it is nothing but text."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(digest=digest)}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{inert(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
    yield _head(branch, title)
    yield "<main>\n"
    yield from _turns(list(unfold(branch)))
    yield "</main>\n<footer>Exported by firsthand. This page fetches nothing.</footer>\n</body>\n</html>\n"


def _head(branch: Iterable[Record], title: str) -> str:
    figures = Figures().count(branch)
    session = next((str(record["sessionId"]) for record in branch if record.get("sessionId")), "")
    facts = [f"session <code>{visible(session)}</code>"]
    if (user := user_of(branch)) is not None:
        facts.append(f"user {visible(user)}")
    if figures.started is not None and figures.ended is not None:
        facts.append(_span(figures.started, figures.ended))
    facts.append(_count(figures.turns, "prompt"))
    facts.append(_count(figures.replies, "reply", "replies"))
    if figures.tool_calls:
        facts.append(_count(figures.tool_calls, "tool call"))
    for model, tokens in sorted(figures.tokens.items()):
        facts.append(f"{visible(model)}: {tokens.input:,} tokens in, {tokens.output:,} out")
    items = "".join(f"<li>{fact}</li>" for fact in facts)
    return (
        f'<header>\n<h1 dir="auto">{visible(title)}</h1>\n<ul class="facts">{items}</ul>\n'
        f'<p class="legend">{_legend(figures)}</p>\n</header>\n'
    )


def _legend(figures: Figures) -> str:
    if not figures.injected:
        return "Nothing was added to what was typed."
    sources = ", ".join(
        f'<span class="{_kind(source)}">{_count(count, "part")} {_by(source)}</span>'
        for source, count in sorted(figures.injected_parts.items())
    )
    share = f"{figures.share:.0%}" if figures.share >= 0.01 else "under 1%"
    return (
        f"Dashed and folded: what was added for the model alone. {sources}; "
        f"{figures.injected.total():,} characters, {share} of the messages to it."
    )


def _turns(items: Sequence[Unfolded]) -> Iterator[str]:
    answers = {item.shown.call_id: item for item in items if _is(item, "tool_result") and item.shown.call_id}  # type: ignore[union-attr]
    told: set[int] = set()
    for number, item in enumerate(items, 1):
        if id(item) in told:
            continue
        shown = item.shown
        if shown is None:
            who = "You" if item.media else ""
            yield _article("user" if item.media else "aside", who, item, number, "")
        elif shown.type == "tool_call":
            answer = answers.pop(shown.call_id, None) if shown.call_id else None
            if answer is not None:
                told.add(id(answer))
            yield _article("tool", "", item, number, _tool(shown, answer), answer)
        elif shown.type == "tool_result":
            yield _article("tool", "", item, number, _tool(shown, item))
        else:
            aside = " (not sent as a turn of its own)" if shown.type == "user" and not shown.sent_to_model else ""
            refused = shown.subtype == "prompt_blocked"
            speaker = "Refused" if refused else _SPEAKERS[shown.type]
            text = reply(shown.text) if shown.type == "assistant" else block(shown.text)
            kind = f"{shown.type} blocked" if refused else shown.type
            yield _article(kind, f"{speaker}{aside}", item, number, text)


def _article(kind: str, who: str, item: Unfolded, number: int, body: str, answer: Unfolded | None = None) -> str:
    speaker = f"<h2>{escape(who)}</h2>" if who else ""
    model = f'<span class="model">{visible(item.model)}</span>' if item.model and who else ""
    when = f'<a class="when" href="#r{number}">{_time(item.timestamp)}</a>' if who else ""
    line = f'<div class="who">{speaker}{model}{when}</div>' if who else ""
    behind = "".join(_behind(held) for held in (item, answer) if held is not None)
    return f'<article class="{kind}" id="r{number}">{line}{body}{behind}</article>\n'


def _behind(item: Unfolded) -> str:
    out = [image(part) for part in item.media]
    if item.sent is not None:
        out.append(fold("sent", "sent to the model in its place", len(item.sent), block(item.sent, code=True)))
    for added in item.injected:
        out.append(
            fold(_kind(added.source), f"added {_by(added.source)}", len(added.text), block(added.text, code=True))
        )
    return "".join(out)


def _tool(shown: Shown, answer: Unfolded | None) -> str:
    called = shown.type == "tool_call"
    preview = (
        visible(" ".join(shown.text[: 4 * _PREVIEW].split())[:_PREVIEW]) if called else "a result without its call"
    )
    said = answer.shown.text if answer is not None and answer.shown is not None else None
    nothing = "read at the prompt" if shown.subtype == "at_command" else "no result"
    size = f'<span class="size">{nothing if said is None else f"{len(said):,} characters"}</span>'
    given = f"<h3>given</h3>{block(_indented(shown.text), code=True)}" if called else ""
    got = f"<h3>answered</h3>{block(said, code=True)}" if said is not None else ""
    return (
        f'<details class="call"><summary><b>{visible(shown.name or "a tool")}</b> '
        f'<code dir="auto">{preview}</code> {size}</summary>{given}{got}</details>'
    )


def _indented(text: str) -> str:
    if len(text) > _LONGEST_INDENTED:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _is(item: Unfolded, kind: str) -> bool:
    return item.shown is not None and item.shown.type == kind


def _kind(source: str) -> str:
    return f"by-{source.replace(' ', '-')}"


def _by(source: str) -> str:
    return "by memory" if source == "memory" else f"by a {source}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _span(started: datetime, ended: datetime) -> str:
    start, end = started.astimezone(UTC), ended.astimezone(UTC)
    if start.replace(second=0, microsecond=0) == end.replace(second=0, microsecond=0):
        return f"{start:%Y-%m-%d %H:%M} UTC"
    same = start.date() == end.date()
    return f"{start:%Y-%m-%d %H:%M} to {end:{'%H:%M' if same else '%Y-%m-%d %H:%M'}} UTC"


def _time(stamp: str) -> str:
    try:
        moment = datetime.fromisoformat(stamp)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return "#"
    return f'<time datetime="{moment.isoformat()}">{moment:%H:%M:%S}</time>'
