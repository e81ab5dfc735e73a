"""Reading the conversation of a file piece by piece: the same as reading all of it, in less memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from middleware import resume, transcript
from middleware.errors import TranscriptError
from middleware.transcript import live
from middleware.transcript.lines import encode_line

UUIDS = st.sampled_from("abcdef")
SHAPES = st.fixed_dictionaries(
    {
        "uuid": UUIDS,
        "parentUuid": UUIDS | st.none() | st.just(5),
        "type": st.sampled_from(["user", "assistant", "system", "odd"]),
    },
    optional={
        "subtype": st.sampled_from(["rewind", "session_artifact_event", "of_2027", 7]),
        "message": st.sampled_from([{"parts": [{"text": "x"}]}, {"parts": [{"text": "é\ud800"}]}, None]),
        "timestamp": st.sampled_from(["2026-01-01T00:00:00Z", "yesterday", 5]),
        "number": st.sampled_from([1, 10**30, 1e300]),
    },
)
LINES = st.one_of(
    SHAPES.map(lambda record: json.dumps(record).encode()),
    SHAPES.map(lambda record: json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.tuples(SHAPES, SHAPES).map(lambda pair: b"".join(json.dumps(record).encode() for record in pair)),
    st.binary(max_size=20),
    st.sampled_from(
        [b"", b"[]", b"{}", b'{"uuid":"a","type":"user","x":"\xff"}', b'{"uuid":"a","type":"user","x":1e999}']
    ),
)


def record(uuid: str, parent: str | None, text: str = "x", **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"text": text}]}
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": "user", "message": message, **fields}


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_bytes(b"".join(map(encode_line, records)))
    return path


@pytest.fixture
def tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PIECE", 96)


@pytest.mark.usefixtures("tiny_pieces")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, max_size=10), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_any_file_gives_what_reading_all_of_it_gives(
    tmp_path: Path, lines: list[bytes], newline: bytes, ended: bool
) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(newline.join(lines) + newline * ended)
    try:
        whole = transcript.read(path)
    except TranscriptError as error:
        with pytest.raises(TranscriptError) as raised:
            transcript.load(path)
        assert str(raised.value) == str(error)
        return
    branch, flaws = transcript.walk(whole.records)
    loaded = transcript.load(path)
    assert (list(loaded), len(loaded)) == (branch, len(branch))
    expected = [*whole.flaws, *(flaw for flaw in flaws if flaw.name != "unknown_record_or_part")]
    assert sorted(map(repr, loaded.flaws)) == sorted(map(repr, expected))
    assert list(resume.rows(loaded.conversation())) == resume.display(branch)
    assert resume.replay(loaded.conversation()) == resume.replay(branch)


@pytest.mark.usefixtures("tiny_pieces")
def test_fragments_repetitions_and_renamed_records_are_put_together_from_the_file(tmp_path: Path) -> None:
    first = record("a", None, "1")
    path = written(
        tmp_path / "s.jsonl", first, record("b", "a"), record("a", None, "2"), first, record("a", "b", "other")
    )
    assert [(entry["uuid"], entry["message"]["parts"]) for entry in transcript.load(path)] == [
        ("a", [{"text": "1"}, {"text": "2"}]),
        ("b", [{"text": "x"}]),
        ("a#2", [{"text": "other"}]),
    ]


def test_a_branch_can_be_read_twice_at_a_time(tmp_path: Path) -> None:
    branch = transcript.load(written(tmp_path / "s.jsonl", record("a", None), record("b", "a")))
    one, two = iter(branch), iter(branch)
    assert [next(one)["uuid"], next(two)["uuid"]] == ["a", "a"]
    assert [entry["uuid"] for entry in one] == ["b"]
    assert [entry["uuid"] for entry in two] == ["b"]


def test_what_is_appended_after_loading_is_not_in_it(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", record("a", None))
    branch = transcript.load(path)
    with path.open("ab") as file:
        file.write(encode_line(record("b", "a")))
    assert [entry["uuid"] for entry in branch] == ["a"]


def test_a_file_that_was_replaced_since_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", record("a", None))
    branch = transcript.load(path)
    written(tmp_path / "new", record("b", None)).replace(path)
    with pytest.raises(TranscriptError, match="was replaced or cut while it was read; read it again"):
        list(branch)


def test_two_sessions_in_one_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", record("a", None), record("b", "a", sessionId="t"))
    with pytest.raises(TranscriptError, match=r"transcript .*/s\.jsonl holds records of the sessions s and t; split"):
        transcript.load(path)


def test_dead_branches_cost_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        file.write(encode_line(record("a", None)))
        for number in range(400):
            file.write(encode_line(record(f"dead{number}", "a", "y" * 50_000)))
        file.write(encode_line(record("b", "a")))
    tracemalloc.start()
    rows = resume.display(transcript.load(path).conversation())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row.uuid for row in rows] == ["a", "b"]
    assert peak < 2_000_000


def test_20_000_records_take_less_than_10_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        for number in range(20_000):
            file.write(encode_line(record(f"{number:036}", f"{number - 1:036}" if number else None, "z" * 500)))
    code = (
        "import re, sys; from pathlib import Path; from middleware import resume, transcript\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "before = peak()\n"
        "assert sum(1 for row in resume.rows(transcript.load(sys.argv[1]).conversation())) == 20_000\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, timeout=60, check=True)
    assert 0 < int(done.stdout) < 10_000
