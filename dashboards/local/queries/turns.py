"""The turns of a session, or of all, and one turn with everything that is known of it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

from middleware.telemetry import names

from ..prices import NO_PRICES, Prices
from .rows import NS, TURN, conditions, holds, seconds, source_order, turn_summary
from .values import EVERYTHING, Filter, Tokens
from .views import (
    CallView,
    HookCallView,
    LogView,
    MemoryView,
    Page,
    Place,
    RecallView,
    SpanView,
    TurnDetail,
    TurnSort,
)

__all__ = ["turn", "turns"]

_MOST_SPANS: Final = 2_000
_MOST_LOGS: Final = 500
_HEX: Final = re.compile("[0-9A-Fa-f]{4,32}")
_ORDER: Final[Mapping[str, str]] = {
    "started": "started",
    "duration": "duration",
    "tokens": "coalesce(input_tokens, 0) + coalesce(output_tokens, 0)",
    "first_chunk": "first_chunk",
    "hooks": "hooks",
    "added": "coalesce(added_chars, injection_chars)",
    "outcome": "outcome",
    "model": "model",
}
assert set(_ORDER) == set(get_args(TurnSort))  # noqa: S101 - one list, in two places

_KINDS: Final[tuple[Literal["unspecified", "internal", "server", "client", "producer", "consumer"], ...]] = (
    "unspecified",
    "internal",
    "server",
    "client",
    "producer",
    "consumer",
)


def turns(
    connection: sqlite3.Connection,
    where: Filter = EVERYTHING,
    *,
    search: str = "",
    outcome: str | None = None,
    error_type: str | None = None,
    hook: str | None = None,
    sort: TurnSort = "started",
    descending: bool = False,
    limit: int = 100,
    offset: int = 0,
    prices: Prices = NO_PRICES,
) -> Page:
    """Turns that the filter lets through, as `TurnSummary`; those that have not ended too, with `outcome` None.

    `search` looks in how prompts begin, in the sessions' ids, and for trace ids that begin so;
    `outcome`, `error_type` and `hook` (a name) keep the turns that have that.
    """
    said, values = conditions(where)
    # What has nothing but a hook or a recall may be no turn: its parent was never heard of.
    said.append("(outcome IS NOT NULL OR calls > 0)")
    if search:
        # A preview has one blank wherever there was any space.
        held = (holds("preview", " ".join(search.split())), holds("session", search))
        found = [condition for condition, _ in held]
        values += [value for _, value in held]
        if _HEX.fullmatch(search):
            found.append("hex(trace_id) LIKE ?")
            values.append(f"{search}%")
        said.append(f"({' OR '.join(found)})")
    if outcome is not None:
        said.append("outcome = ?")
        values.append(outcome)
    if error_type is not None:
        said.append("error_type = ?")
        values.append(error_type)
    if hook is not None:
        said.append("id IN (SELECT turn FROM hook_calls WHERE name = ?)")
        values.append(hook)
    tests = " AND ".join(said)
    total = connection.execute(f"SELECT count(*) FROM turns WHERE {tests}", values).fetchone()[0]  # noqa: S608
    direction = "DESC" if descending else "ASC"
    rows = connection.execute(
        f"SELECT {TURN} FROM turns WHERE {tests} ORDER BY {_ORDER[sort]} {direction}, id {direction} LIMIT ? OFFSET ?",  # noqa: S608
        (*values, limit, offset),
    )
    return Page(items=tuple(turn_summary(row, prices) for row in rows), total=total, offset=offset, limit=limit)


def turn(connection: sqlite3.Connection, key: str, *, prices: Prices = NO_PRICES) -> TurnDetail | None:
    """One turn by its key; None for one that is not there, and for what is no key."""
    try:
        wanted = bytes.fromhex(key)
    except ValueError:
        return None
    row = connection.execute(f"SELECT {TURN}, id, position, line, uuid, written FROM turns WHERE key = ?", (wanted,))  # noqa: S608
    found = row.fetchone()
    if found is None:
        return None
    summary = turn_summary(found, prices)
    spans, cut = _spans(connection, found)
    said = {span.span_id: span.attributes for span in spans}
    return TurnDetail(
        turn=summary,
        added=_added(found),
        calls=tuple(_calls(connection, found["id"], prices)),
        hooks=tuple(_hooks(connection, found["id"], said)),
        recalls=tuple(_recalls(connection, found["id"], said)),
        memories=_memories(found, spans),
        spans=spans,
        spans_cut=cut,
        logs=tuple(_logs(connection, found["trace_id"])),
        place=_place(connection, found),
        previous=_beside(connection, found, "<", "DESC"),
        next=_beside(connection, found, ">", "ASC"),
    )


def _added(row: sqlite3.Row) -> dict[str, int] | None:
    if not row["written"]:
        return None
    added = json.loads(row["written"])["added"]
    return dict(sorted(added.items(), key=lambda item: source_order(item[0])))


def _calls(connection: sqlite3.Connection, turn_id: int, prices: Prices) -> Iterator[CallView]:
    for row in connection.execute("SELECT * FROM calls WHERE turn = ? ORDER BY started, id", (turn_id,)):
        tokens = Tokens(
            input=row["input_tokens"],
            output=row["output_tokens"],
            cache_read=row["cache_read_tokens"],
            cache_write=row["cache_write_tokens"],
            reasoning=row["reasoning_tokens"],
        )
        reasons = row["finish_reasons"]
        yield CallView(
            span_id=row["span_id"].hex(),
            started=row["started"] / NS,
            duration=row["duration"] / NS,
            operation=row["operation"],
            provider=row["provider"],
            model=row["model"],
            response_model=row["response_model"],
            first_chunk=seconds(row["first_chunk"]),
            tokens=tokens,
            cost=prices.cost(
                row["model"],
                input=tokens.input,
                output=tokens.output,
                cache_read=tokens.cache_read,
                cache_write=tokens.cache_write,
            ),
            finish_reasons=tuple(reasons.split(",")) if reasons else (),
            error_type=row["error_type"],
        )


def _hooks(
    connection: sqlite3.Connection, turn_id: int, said: Mapping[str, Mapping[str, Any]]
) -> Iterator[HookCallView]:
    for row in connection.execute("SELECT * FROM hook_calls WHERE turn = ? ORDER BY started, id", (turn_id,)):
        span_id = row["span_id"].hex()
        error = said.get(span_id, {}).get(names.HOOK_ERROR, row["error"])
        yield HookCallView(
            span_id=span_id,
            started=row["started"] / NS,
            duration=row["duration"] / NS,
            event=row["event"],
            type=row["type"],
            name=row["name"],
            outcome=row["outcome"],
            success=bool(row["success"]),
            exit_code=row["exit_code"],
            output_chars=row["output_chars"],
            error=error if isinstance(error, str) else None,
        )


def _recalls(
    connection: sqlite3.Connection, turn_id: int, said: Mapping[str, Mapping[str, Any]]
) -> Iterator[RecallView]:
    for row in connection.execute("SELECT * FROM recalls WHERE turn = ? ORDER BY started, id", (turn_id,)):
        span_id = row["span_id"].hex()
        query = said.get(span_id, {}).get(names.MEMORY_QUERY_TEXT)
        yield RecallView(
            span_id=span_id,
            started=row["started"] / NS,
            duration=row["duration"] / NS,
            outcome=row["outcome"],
            matches=row["matches"],
            found=row["found"],
            store=row["store"],
            error_type=row["error_type"],
            query=query if isinstance(query, str) else None,
        )


def _memories(row: sqlite3.Row, spans: tuple[SpanView, ...]) -> tuple[MemoryView, ...]:
    """Those that the transcript names; without one those of the recall's span, which alone knows why they were found.

    The span names them only when content is captured.
    """
    told = {memory.id: memory for span in spans if span.in_turn for memory in _told(span)}
    if not row["written"]:
        return tuple(told.values())
    sent = json.loads(row["written"])["recall"]
    return tuple(told[id] if id in told else MemoryView(id=id, score=score) for id, score in sent)


def _told(span: SpanView) -> Iterator[MemoryView]:
    said = span.attributes.get(names.MEMORY_RECORDS)
    try:
        records = json.loads(said) if isinstance(said, str) else []
    except ValueError:
        return
    for one in records if isinstance(records, list) else ():
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            yield MemoryView(
                id=one["id"],
                score=_number(one.get("score")),
                lexical=_number(one.get("lexical")),
                cosine=_number(one.get("cosine")),
            )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _spans(connection: sqlite3.Connection, row: sqlite3.Row) -> tuple[tuple[SpanView, ...], bool]:
    if row["trace_id"] is None:
        return (), False
    rows = connection.execute(
        "SELECT * FROM spans WHERE trace_id = ? ORDER BY started, id LIMIT ?", (row["trace_id"], _MOST_SPANS + 1)
    ).fetchall()
    cut, rows = len(rows) > _MOST_SPANS, rows[:_MOST_SPANS]
    there = {one["span_id"] for one in rows}
    below: dict[bytes | None, list[sqlite3.Row]] = defaultdict(list)
    for one in rows:
        below[one["parent_id"] if one["parent_id"] in there else None].append(one)
    found: list[SpanView] = []
    done: set[bytes] = set()
    # Not recursive: a chain of spans may be longer than a stack is deep. A cycle of parents is cut where it is met.
    waiting = [(one, 0, False) for one in reversed(below[None])]
    left = iter(rows)
    while len(done) < len(rows):
        if not waiting:
            waiting = [next((one, 0, False) for one in left if one["span_id"] not in done)]
        one, depth, inside = waiting.pop()
        if one["span_id"] in done:
            continue
        done.add(one["span_id"])
        inside = inside or one["span_id"] == row["span_id"]
        found.append(_span(one, row["started"], depth, inside))
        waiting += [(child, depth + 1, inside) for child in reversed(below[one["span_id"]])]
    return tuple(found), cut


def _span(row: sqlite3.Row, began: int, depth: int, inside: bool) -> SpanView:
    return SpanView(
        span_id=row["span_id"].hex(),
        parent_id=row["parent_id"].hex() if row["parent_id"] is not None else None,
        name=row["name"],
        kind=_KINDS[row["kind"]] if 0 <= row["kind"] < len(_KINDS) else "unspecified",
        depth=depth,
        offset=(row["started"] - began) / NS,
        duration=row["duration"] / NS,
        failed=bool(row["failed"]),
        service=row["service"],
        scope=row["scope"],
        in_turn=inside,
        attributes=json.loads(row["attributes"]),
        events=tuple(json.loads(row["events"])) if row["events"] else (),
    )


def _logs(connection: sqlite3.Connection, trace_id: bytes | None) -> Iterator[LogView]:
    if trace_id is None:
        return
    for row in connection.execute(
        "SELECT * FROM logs WHERE trace_id = ? ORDER BY at, id LIMIT ?", (trace_id, _MOST_LOGS)
    ):
        yield LogView(
            at=row["at"] / NS,
            event=row["event"],
            severity=row["severity"],
            span_id=row["span_id"].hex() if row["span_id"] is not None else None,
            body=row["body"],
            attributes=json.loads(row["attributes"]),
        )


def _place(connection: sqlite3.Connection, row: sqlite3.Row) -> Place | None:
    if row["file"] is None:
        return None
    path = connection.execute("SELECT path FROM files WHERE id = ?", (row["file"],)).fetchone()
    if path is None:
        return None
    return Place(path=path[0], position=row["position"], line=row["line"], uuid=row["uuid"])


def _beside(connection: sqlite3.Connection, row: sqlite3.Row, sign: str, direction: str) -> str | None:
    found = connection.execute(
        f"""SELECT key FROM turns WHERE session IS ? AND (started, id) {sign} (?, ?) AND outcome IS NOT NULL
              ORDER BY started {direction}, id {direction} LIMIT 1""",  # noqa: S608
        (row["session"], row["started"], row["id"]),
    ).fetchone()
    return None if found is None else found[0].hex()
