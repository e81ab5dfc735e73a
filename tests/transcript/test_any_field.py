"""A record may hold any JSON under any key: no reader of it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from middleware import resume, transcript
from middleware.ledger import Ledger
from middleware.told import Told
from middleware.transcript.checking import faults_in
from middleware.transcript.export import FORMATS, written
from middleware.transcript.figures import Figures
from middleware.transcript.foreign import recognise
from middleware.transcript.lines import encode_line
from middleware.transcript.listing import list_sessions
from middleware.transcript.located import read_located
from middleware.transcript.repair import repair
from middleware.transcript.search import hits_in

from .records import TALK, Record, record, text, write

KEYS = (
    *("parentUuid", "timestamp", "type", "subtype", "provenance", "cwd", "version", "message", "systemPayload"),
    *("model", "usageMetadata", "toolCallResult", "promptId", "userId", "wire", "traceId", "parts", "content"),
)
SUBTYPES = ("at_command", "slash_command", "chat_compression", "notification", "mid_turn_user_message", "rewind")
INNER = (
    *("displayText", "hookContext", "recall", "filesRead", "userText", "phase", "rawCommand", "outputHistoryItems"),
    *("compressedHistory", "attachmentReferences", "parentSessionId", "parts", "content", "role", "text", "id", "name"),
    *("functionCall", "functionResponse", "inlineData", "fileData", "args", "response", "mimeType", "data", "fileUri"),
    *("promptTokenCount", "candidatesTokenCount", "sdk", "media", "arguments", "firsthand:part", "firsthand:bytes"),
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        ["", "x", "\ud800", "\0", "openai", "anthropic", "result", "9999-12-31T23:59:59-14:00", *SUBTYPES]
    )
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=4)
)
fields = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)


def read_in_every_way(folder: Path, records: list[Any]) -> None:
    path = write(folder / "s.jsonl", records)
    branch = transcript.load(path)
    assert list(resume.rows(branch.conversation())) == resume.display(transcript.walk(transcript.read(path).records)[0])
    assert resume.replay(branch.conversation()) == resume.replay(branch)
    Told(Ledger()).read(branch)
    Figures().count(branch)
    hits_in(path, re.compile("x"))
    list(list_sessions(folder))
    recognise(path)
    for name in FORMATS:
        out = b"".join(written(branch, name, injected=True))
        if name in ("json", "openai", "anthropic"):
            json.loads(out, parse_constant=pytest.fail)
    held = read_located(path)
    if faults_in(held):
        b"".join(map(encode_line, repair(held).records))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=st.lists(fields, min_size=1, max_size=3))
def test_no_reader_fails_on_a_field_of_any_type(tmp_path: Path, odd: list[Record]) -> None:
    for item in odd:
        if not isinstance(item.get("type", ""), str):
            del item["type"]
    extra = [record(f"x{n}", "d", "user", [text("x")]) | item for n, item in enumerate(odd)]
    read_in_every_way(tmp_path, [*TALK, *extra])


@pytest.mark.parametrize("parent", [{}, [], 5, True, 1.5, {"a": 1}])
@pytest.mark.parametrize("subtype", ["at_command", "rewind", None])
def test_a_parent_that_is_no_name_is_none(tmp_path: Path, parent: Any, subtype: Any) -> None:
    payload = {"filesRead": ["n.md"], "status": "success", "userText": "explain"}
    odd = record("x", parent, "system", subtype=subtype, systemPayload=payload)
    read_in_every_way(tmp_path, [*TALK, odd, record("y", "x", "user", [text("explain")])])


def test_numbers_that_json_does_not_have_are_exported_as_null(tmp_path: Path) -> None:
    call = {"functionCall": {"id": "c", "name": "f", "args": {"x": float("nan"), "y": [float("inf")], "z": 10**40}}}
    path = write(tmp_path / "s.jsonl", [record("a", None, "user", [text("q")]), record("b", "a", "assistant", [call])])
    branch = transcript.load(path)
    openai = json.loads(b"".join(written(branch, "openai")))["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert openai == '{"x": null, "y": [null], "z": 10000000000000000000000000000000000000000}'
    anthropic = json.loads(b"".join(written(branch, "anthropic")), parse_constant=pytest.fail)
    assert anthropic["messages"][1]["content"][0]["input"] == {"x": None, "y": [None], "z": 10**40}


def test_a_part_that_is_a_bare_string_is_read_in_every_way(tmp_path: Path) -> None:
    read_in_every_way(
        tmp_path, [*TALK, {**TALK[0], "uuid": "odd", "message": {"role": "user", "parts": ["", "words"]}}]
    )
