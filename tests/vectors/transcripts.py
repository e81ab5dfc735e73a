"""Areas and kinds about transcripts: reading, the chain, the projection, the resumed screen, what is replayed."""

from __future__ import annotations

import base64
import itertools
import json
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from middleware import injection, records, resume, transcript
from middleware.parts import Message, Part
from middleware.transcript.reader import records_in_line

_STAMP = records.Stamp(
    uuid="u1",
    parent=None,
    session_id="s-1",
    timestamp="2026-01-01T00:00:00.000Z",
    cwd="/tmp/p",
    version="0.0.0",
)


class _Somewhere:
    """Equal to a list of texts (or one) when each is found in one of ours."""

    def __init__(self, texts: Iterable[str], *, whole: bool = False) -> None:
        self.texts = list(texts)
        self.whole = whole

    def __eq__(self, wanted: object) -> bool:
        pieces = wanted if isinstance(wanted, list) else [wanted]
        if self.whole:
            return all(piece in self.texts for piece in pieces)
        return all(all(piece in text for piece in pieces) for text in self.texts) and bool(self.texts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.texts)


class _Nowhere(_Somewhere):
    def __eq__(self, wanted: object) -> bool:
        pieces = wanted if isinstance(wanted, list) else [wanted]
        return not any(piece in text for piece in pieces for text in self.texts)

    __hash__ = None  # type: ignore[assignment]


def projection(case: Mapping[str, Any]) -> dict[str, Any]:
    found = resume.project(case["record"])
    return {"displayText": found.display_text, "parts": found.parts}


def resume_tui(case: Mapping[str, Any]) -> str | None:
    return resume.display_user(case["record"], case.get("pending_at_command"))


def resume_tui_subtype(case: Mapping[str, Any]) -> dict[str, Any] | None:
    rows = resume.display([case["record"]])
    if not rows:
        return None
    row: dict[str, Any] = {"type": rows[0].type, "text": rows[0].text}
    if not rows[0].sent_to_model:
        row["sentToModel"] = False
    return row


def replay_parts(case: Mapping[str, Any]) -> list[Any]:
    return resume.replay_parts(case["parts"], case.get("displayText"))


def jsonl_line(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"records": len(records_in_line(case["line"].encode("utf-8", "surrogatepass"))[0])}


def chain_walk(case: Mapping[str, Any]) -> dict[str, Any]:
    branch, flaws = transcript.walk(case["records"])
    return {"uuids": [record["uuid"] for record in branch], "diagnostics": [flaw.name for flaw in flaws]}


def attachment_tokens(case: Mapping[str, Any]) -> str:
    return resume.without_attachment_tokens(case["displayText"], case.get("attachmentReferences"))


def record_projection(case: Mapping[str, Any]) -> dict[str, Any]:
    record = case["record"]
    rows = resume.display([record])
    stored = (record.get("message") or {}).get("parts") or []
    replayed = [part for entry in resume.replay([record]) for part in entry["parts"]]
    return {
        "display": rows[0].text if rows else "",
        "row_type": rows[0].type if rows else None,
        "model_parts_replayed_verbatim": replayed == stored,
        "model_request_encodable": _encodable(json.dumps(replayed, ensure_ascii=False)),
        "no_crash": True,
    }


def _screen(branch: list[records.Record]) -> dict[str, Any]:
    rows = resume.display(branch)
    history = resume.replay(branch)
    by_type = {kind: [row for row in rows if row.type == kind] for kind in ("user", "assistant", "tool_call")}
    users = [row.text for row in by_type["user"]]
    encoded = [row.text for row in rows]
    first = resume.first_prompt(branch)
    consumers = users + ([first] if first is not None else [])
    consumers += [resume.project(r).text for r in branch if r.get("type") == "user" and r.get("subtype") is None]
    return {
        "user_display": users,
        "assistant_display": [row.text for row in by_type["assistant"]],
        "tool_calls_kept": [row.call_id for row in by_type["tool_call"] if row.call_id],
        "must_recover_user": _Somewhere(users, whole=True),
        "no_duplicate_turn": len({row.uuid for row in by_type["user"]}) == len(by_type["user"]),
        "display_printable_as_utf8": _encodable("\n".join(encoded)),
        "model_request_encodable": _encodable(json.dumps(history, ensure_ascii=False)),
        "first_prompt": first,
        "title": first,
        "every_consumer_of_user_text": {"must_contain": _Somewhere(consumers), "must_not_contain": _Nowhere(consumers)},
        "order": "chain, not clock" if _follows_parents(branch) else "clock",
        "no_crash": True,
    }


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _follows_parents(branch: list[records.Record]) -> bool:
    return all(lower.get("parentUuid") == upper["uuid"] for upper, lower in itertools.pairwise(branch))


def conversation_projection(case: Mapping[str, Any]) -> dict[str, Any]:
    return _screen(transcript.walk(case["records"])[0])


def jsonl_load(case: Mapping[str, Any]) -> dict[str, Any]:
    started = time.thread_time()
    read = transcript.parse(_bytes(case))
    branch, flaws = transcript.walk(read.records)
    warned = bool(read.flaws or flaws)
    return {
        **_screen(branch),
        "loaded": len(read.records),
        "warn": warned,
        "diagnostic_emitted": warned,
        "terminates_within_s!limit": time.thread_time() - started,
    }


def _bytes(case: Mapping[str, Any]) -> bytes:
    if "lines" in case:
        return "\n".join(case["lines"]).encode("utf-8", "surrogatepass")
    return base64.b64decode(case["bytes_b64"])


def append_after(case: Mapping[str, Any]) -> dict[str, Any]:
    before = _bytes(case)
    with tempfile.TemporaryDirectory() as name:
        folder = transcript.TranscriptFolder(Path(name), durability="os")
        path = folder.path("s-1")
        path.write_bytes(before)
        folder.writer("s-1").append(case["append_record"])
        folder.close()
        after = path.read_bytes()
        read = transcript.read(path)
    seen = _screen(transcript.walk(read.records)[0])
    return {
        **seen,
        "reload_user_display": seen["user_display"],
        "earlier_bytes_unchanged": after.startswith(before),
        "loaded": len(read.records),
        "reload_loaded": len(read.records),
        "warn": bool(read.flaws),
    }


def _written(case: Mapping[str, Any]) -> tuple[injection.Block, records.Record]:
    """What our code writes for these parts and this context: the block, and the record read back."""
    parts = tuple(
        Part(kind="text", text=part["text"], raw=part) if "text" in part else Part(kind="media", raw=part)
        for part in case["user_parts"]
    )
    message = Message(role="user", parts=parts)
    block = injection.block_of(case.get("additionalContext"))
    display_text = case.get("submitted_prompt") or message.text
    record = records.user_record(
        stamp=_STAMP,
        parts=records.record_parts(message, block),
        payload=records.display_payload(display_text, block),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = transcript.TranscriptFolder(Path(name), durability="os")
        folder.writer("s-1").append(record)
        folder.close()
        (read,) = transcript.read(folder.path("s-1")).records
    return block, read


def record_user_message(case: Mapping[str, Any]) -> dict[str, Any]:
    block, record = _written(case)
    payload, stored = record.get("systemPayload") or {}, record["message"]["parts"]
    rows = resume.display([record])
    first = stored[0] if stored else {}
    return {
        "first_part_verbatim": first == case["user_parts"][0],
        "first_part": first.get("text", first),
        "parts": stored,
        "parts_count": len(stored),
        "displayText": payload.get("displayText"),
        "hookContext": payload.get("hookContext"),
        "systemPayload_absent": "systemPayload" not in record,
        "display": rows[0].text if rows else "",
        "blocks_per_user_record": len(block.texts),
        "no_crash": True,
    }


AREAS = {
    "projection": projection,
    "resume_tui": resume_tui,
    "resume_tui_subtype": resume_tui_subtype,
    "replay_parts": replay_parts,
    "jsonl_line": jsonl_line,
    "chain_walk": chain_walk,
    "attachment_tokens": attachment_tokens,
}
KINDS = {
    "record_projection": record_projection,
    "conversation_projection": conversation_projection,
    "jsonl_load": jsonl_load,
    "append_after_torn_tail": append_after,
    "append_after_complete_tail_without_newline": append_after,
    "record_user_message": record_user_message,
}
