"""A turn, put together from what came about it, in whatever order it came. Pure.

A turn counts once it ended: its `firsthand.turn` span is there, or its transcript alone tells of it. What comes
later is counted by taking the turn's old count away and adding its new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from .cells import Cells
from .facts import FAILED, Call, Fact, HookCall, Recall, TurnEnd

__all__ = ["Bundle", "Written", "count", "hook_label"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a transcript says of one turn: sizes in characters, `added` by source, never a text but `preview`'s.

    `preview` is how what was typed begins. `recall` are id and score of the memories that were sent. `file` is the row
    of the followed file, `position` and `line` where the turn's first record stands in it. `traced` says that the
    turn's key is that of a span, `replied` that a reply follows, `blocked` which hook refused the prompt.
    """

    file: int
    position: int
    line: int
    uuid: str
    at: int
    session: str
    user: str | None = None
    preview: str | None = None
    typed: int = 0
    added: Mapping[str, int] = field(default_factory=dict)
    recall: tuple[tuple[str, float], ...] = ()
    origin: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    traced: bool = False
    replied: bool = False
    blocked: str | None = None

    def with_(self, later: Written) -> Written:
        """Both, of one turn: what the first says stands, sizes add up."""
        first, second = (self, later) if self.position <= later.position else (later, self)
        added = dict(first.added)
        for source, chars in second.added.items():
            added[source] = added.get(source, 0) + chars
        return replace(
            first,
            user=_either(first.user, second.user),
            preview=_either(first.preview, second.preview),
            typed=first.typed + second.typed,
            added=added,
            recall=first.recall or second.recall,
            origin=_either(first.origin, second.origin),
            model=_either(second.model, first.model),
            input_tokens=_sum(first.input_tokens, second.input_tokens),
            output_tokens=_sum(first.output_tokens, second.output_tokens),
            cache_read_tokens=_sum(first.cache_read_tokens, second.cache_read_tokens),
            traced=first.traced or second.traced,
            replied=first.replied or second.replied,
            blocked=_either(first.blocked, second.blocked),
        )

    @property
    def outcome(self) -> str:
        """How a turn ended, as far as a transcript alone can tell."""
        return "blocked" if self.blocked is not None else "sent"


@dataclass(slots=True, kw_only=True)
class Bundle:
    """One turn: its parts as they came; `id` is its row's once it has one."""

    key: bytes
    id: int | None = None
    end: TurnEnd | None = None
    written: Written | None = None
    calls: list[Call] = field(default_factory=list)
    hooks: list[HookCall] = field(default_factory=list)
    recalls: list[Recall] = field(default_factory=list)

    def add(self, fact: Fact) -> None:
        """Take in what a span said."""
        match fact:
            case TurnEnd():
                self.end = fact
            case Call():
                self.calls.append(fact)
            case HookCall():
                self.hooks.append(fact)
            case Recall():
                self.recalls.append(fact)

    def write(self, written: Written) -> None:
        """Take in what a transcript said."""
        self.written = written if self.written is None else self.written.with_(written)

    @property
    def model(self) -> str:
        """The model of the turn's first call, "" for a turn that reached none."""
        for call in self.calls:
            if call.model and call.operation != "embeddings":
                return call.model
        return (self.written.model if self.written is not None else None) or ""

    @property
    def session(self) -> str | None:
        """The session it is of, as its own span, else a call of its, else its transcript says."""
        said = self.end.session if self.end is not None else None
        calls = (call.session for call in self.calls if call.session and call.operation != "embeddings")
        return said or next(calls, None) or (self.written.session if self.written is not None else None)

    @property
    def outcome(self) -> str | None:
        """How it ended; None while it has not, as far as is known here."""
        if self.end is not None:
            return self.end.outcome
        return self.written.outcome if self.written is not None else None

    @property
    def started(self) -> int:
        """When it began, in ns since 1970."""
        if self.end is not None:
            return self.end.started
        parts = [part.started for held in (self.calls, self.hooks, self.recalls) for part in held]
        return min([*parts, *([self.written.at] if self.written is not None else [])])

    def row(self) -> tuple[Any, ...]:
        """The turn in the order of `stored.TURN_COLUMNS`, after `id` and `key`."""
        end, written = self.end, self.written
        calls = [call for call in self.calls if call.operation != "embeddings"]
        from_spans = bool(calls)
        hits = [recall.matches for recall in self.recalls if recall.matches is not None]
        in_spans = end is not None or self.calls or self.hooks or self.recalls
        has_trace = in_spans or (written is not None and written.traced)
        return (
            self.key[:16] if has_trace else None,
            self.key[16:] if has_trace else None,
            self.started,
            end.duration if end is not None else None,
            self.outcome,
            end.origin if end is not None else (written.origin if written is not None else None),
            self.session,
            written.user if written is not None else None,
            end.service if end is not None else None,
            self.model or None,
            next((call.provider for call in calls if call.provider), None),
            end.error_type if end is not None else None,
            end.injection_count if end is not None else None,
            end.injection_chars if end is not None else None,
            end.injection_sources if end is not None else None,
            end.truncated if end is not None else None,
            end.suspected if end is not None else None,
            len(calls),
            _total(call.input_tokens for call in calls) if from_spans else (written and written.input_tokens),
            _total(call.output_tokens for call in calls) if from_spans else (written and written.output_tokens),
            _total(call.cache_read_tokens for call in calls) if from_spans else (written and written.cache_read_tokens),
            _total(call.cache_write_tokens for call in calls),
            next((call.first_chunk for call in calls if call.first_chunk is not None), None),
            len(self.hooks),
            sum(hook.outcome in FAILED for hook in self.hooks),
            len(self.recalls),
            sum(hits) if hits else None,
            self.recalls[-1].outcome if self.recalls else None,
            written.file if written is not None else None,
            written.position if written is not None else None,
            written.line if written is not None else None,
            written.uuid if written is not None else None,
            written.preview if written is not None else None,
            written.typed if written is not None else None,
            sum(written.added.values()) if written is not None else None,
            msgspec.json.encode(written).decode() if written is not None else None,
        )


def hook_label(hook: HookCall) -> str:
    """How hook calls are told apart in `cells`: a JSON list of event, type, name and outcome."""
    return msgspec.json.encode((hook.event, hook.type, hook.name, hook.outcome)).decode()


def count(bundle: Bundle, cells: Cells, sign: int) -> None:
    """Add a turn to the cells (`sign` 1) or take it away (-1); one that has not ended counts nothing."""
    outcome = bundle.outcome
    if outcome is None:
        return
    model, end, written = bundle.model, bundle.end, bundle.written
    cells.add(bundle.started, model, "turn", outcome, sign, seconds=end.duration / 1e9 if end is not None else None)
    if end is not None:
        cells.add(end.started, model, "origin", end.origin, sign)
        if end.error_type is not None:
            cells.add(end.started, model, "error", end.error_type, sign)
    for call in bundle.calls:
        count_call(call, cells, sign, model=model, counted=True)
    for hook in bundle.hooks:
        cells.add(hook.started, model, "hook", hook_label(hook), sign, seconds=hook.duration / 1e9)
    for recall in bundle.recalls:
        had = recall.matches if recall.found is None else recall.found
        hit = ("hit" if had else "miss") if recall.outcome == "ok" else recall.outcome
        cells.add(recall.started, model, "recall", hit, sign, seconds=recall.duration / 1e9)
        if recall.matches is not None:
            cells.add(recall.started, model, "matches", "", sign, total=recall.matches)
    if written is not None:
        cells.add(bundle.started, model, "typed", "", sign, total=written.typed)
        for source, chars in written.added.items():
            cells.add(bundle.started, model, "injected", source, sign, total=chars)
        if not bundle.calls:
            for kind, tokens in (
                ("input", written.input_tokens),
                ("output", written.output_tokens),
                ("cache_read", written.cache_read_tokens),
            ):
                if tokens is not None:
                    cells.add(bundle.started, model, "tokens", kind, sign, total=tokens)
    if bundle.recalls and (spared := _kept_out(bundle)) is not None:
        cells.add(bundle.started, model, "spared", "", sign, total=spared)


def count_call(call: Call, cells: Cells, sign: int, *, model: str, counted: bool) -> None:
    """Count a model call; one that is no turn's (`counted` False) brings its own error along."""
    series = "embedding" if call.operation == "embeddings" else "call"
    cells.add(call.started, model, series, call.provider or "", sign, seconds=call.duration / 1e9)
    if call.first_chunk is not None:
        cells.add(call.started, model, "first_chunk", "", sign, seconds=call.first_chunk / 1e9)
    for kind, tokens in _tokens(call):
        cells.add(call.started, model, "tokens", kind, sign, total=tokens)
    if not counted and call.error_type is not None:
        cells.add(call.started, model, "error", call.error_type, sign)


def _tokens(call: Call) -> Iterator[tuple[str, int]]:
    for kind, tokens in (
        ("input", call.input_tokens),
        ("output", call.output_tokens),
        ("cache_read", call.cache_read_tokens),
        ("cache_write", call.cache_write_tokens),
        ("reasoning", call.reasoning_tokens),
    ):
        if tokens is not None:
            yield kind, tokens


def _kept_out(bundle: Bundle) -> int | None:
    """How many characters of hooks the turn's recall was not asked with; None when no hook added any."""
    if bundle.written is not None:
        chars = sum(chars for source, chars in bundle.written.added.items() if source != "memory")
        return chars or None
    end = bundle.end
    if end is not None and end.injection_sources is not None and "hook" in end.injection_sources.split(","):
        return end.injection_chars if end.injection_sources == "hook" else 0
    return None


def _total(counts: Iterator[int | None]) -> int | None:
    known = [number for number in counts if number is not None]
    return sum(known) if known else None


def _either(first: Any, second: Any) -> Any:
    return first if first is not None else second


def _sum(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second
