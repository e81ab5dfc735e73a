"""Reading: whatever the bytes are, every complete record is found and the rest is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware import resume, transcript
from middleware.errors import TranscriptError
from middleware.transcript.lines import encode_line
from middleware.transcript.reader import records_in_line
from tests.pace import no_hang

A = b'{"uuid":"a","parentUuid":null,"type":"user"}'
B = b'{"uuid":"b","parentUuid":"a","type":"assistant"}'


def uuids(data: bytes) -> list[str]:
    return [record["uuid"] for record in transcript.parse(data).records]


def flaws(data: bytes) -> list[tuple[int | None, str]]:
    return [(flaw.line, flaw.detail) for flaw in transcript.parse(data).flaws]


@pytest.mark.parametrize(
    ("data", "expected", "flawed"),
    [
        (A + b"\n" + B + b"\n", ["a", "b"], []),
        (A + b"\n" + B, ["a", "b"], []),
        (A + b"\r\n" + B + b"\r\n", ["a", "b"], []),
        (b"\xef\xbb\xbf" + A + b"\n", ["a"], []),
        (b"\n  \n\t\r\n" + A, ["a"], []),
        (A + B + b"\n", ["a", "b"], [1]),
        (A + b" \t" + B + b"\n", ["a", "b"], [1]),
        (A + b"\n" + B[:-9], ["a"], [2]),
        (A + b"\n" + B[:9] + A + b"\n" + B, ["a", "a", "b"], [2]),
        (b"\0" * 50 + A + b"\n" + b"\0" * 9 + b"\n" + B, ["a", "b"], [1, 2]),
        (A + b"\n[1]\nnull\n7\ntrue\n" + B, ["a", "b"], [2, 3, 4, 5]),
        (A + b'\n{}\n{"uuid":5,"type":"user"}\n{"uuid":"c"}\n' + B, ["a", "b"], [2, 3, 4]),
        (b'{"uuid":"a","type":"user","x":"\x1c \xe2\x80\xa8 \xc2\x85"}', ["a"], []),
        (b'{"uuid":"a","type":"user","x":"\xff"}', ["a"], [1]),
        (b"junk " + A, ["a"], [1]),
        (A + b" junk", ["a"], [1]),
        (b'{"outer":' + A + b"}", [], [1]),
        (b'{"torn":[' + A, ["a"], [1]),
        (b"", [], []),
    ],
)
def test_a_file_gives_its_records_and_names_its_bad_lines(data: bytes, expected: list[str], flawed: list[int]) -> None:
    assert uuids(data) == expected
    assert [line for line, _ in flaws(data)] == flawed


def test_a_flaw_says_what_is_there() -> None:
    latin = b'\n{"uuid":"a","type":"user","text":"\xe9"}\n\0\0{"uuid":"b","type":"user"}'
    assert flaws(b'[1]\n"x"\n{}\n\0\0\n' + A + B + latin) == [
        (1, "a JSON array where a record belongs"),
        (2, "a JSON string where a record belongs"),
        (3, "an object without a uuid and a type"),
        (4, "the line is NUL bytes; 0 records recovered"),
        (5, "2 records are glued together; nothing is lost"),
        (6, "the line is not UTF-8; what cannot be read in it is replaced"),
        (7, "NUL bytes around a record; nothing is lost"),
    ]


def test_what_strict_parsers_refuse_is_no_torn_line() -> None:
    line = b'{"uuid":"a","type":"user","n":NaN,"i":-Infinity,"s":"\\ud800","big":%s,"huge":1e999,"wide":%s}'
    (record,) = transcript.parse(line % (b"9" * 5000, b"9" * 30)).records
    assert transcript.parse(line % (b"9" * 5000, b"9" * 30)).flaws == ()
    assert (record["s"], record["big"], record["wide"]) == ("\ud800", "9" * 5000, 10**30 - 1)


def test_a_line_that_nests_too_deep_for_any_parser_is_left_out() -> None:
    deep = b'{"uuid":"d","type":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert uuids(deep + b"\n" + A) == ["a"]


def test_a_line_made_to_be_scanned_from_every_brace_is_given_up_in_time() -> None:
    assert records_in_line(b'{"a":[' * 200_000)[0] == []
    assert records_in_line(b'{"a":"' * 200_000)[0] == []


def test_a_line_of_12_8_million_characters_among_19_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        for number in range(19):
            text = "\\{x" * 4_266_667 if number == 17 else "small"
            parent = str(number - 1) if number else None
            parts = {"role": "user", "parts": [{"text": text}]}
            file.write(encode_line({"uuid": str(number), "parentUuid": parent, "type": "user", "message": parts}))
    with no_hang():
        branch, found = transcript.walk(transcript.read(path).records)
    assert len(resume.display(branch)) == len(resume.replay(branch)) == 19
    assert found == []


def test_a_torn_line_of_12_8_million_characters_is_got_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(A + b'\n{"uuid":"t","type":"user","x":"' + b'{\\"k\\": {} ' * 1_280_000)
    assert [record["uuid"] for record in transcript.read(path).records] == ["a"]


def test_records_are_streamed_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(A + b"\nnull\n" + B)
    found: list[transcript.Flaw] = []
    stream = transcript.iter_records(path, found.append)
    assert next(stream)["uuid"] == "a"
    assert found == []
    assert [record["uuid"] for record in stream] == ["b"]
    assert [flaw.line for flaw in found] == [2]


def test_a_folder_is_no_transcript(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match=r"is a folder, not a transcript; name one of its \.jsonl files"):
        transcript.read(tmp_path)


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0", b"hello\n", b"[1,2]\n", b"42", b'{\n  "a": 1\n}\n', "{}".encode("utf-16")],
)
def test_a_file_without_one_json_object_is_no_transcript(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    with pytest.raises(TranscriptError, match="is not a transcript: no line of it is a JSON object"):
        transcript.read(path)


@pytest.mark.parametrize("data", [b'{"a": 1}\n', b'import json\nprint({"a": 1})\n', b'{"a": 1}\n' + A[:20]])
def test_a_file_of_objects_that_are_no_records_is_no_transcript(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(TranscriptError, match="is not a transcript: no line of it is a record"):
        transcript.read(path)


CUT_IN_ITS_MESSAGE = b'{"uuid":"1","type":"user","message":{"role":"user","parts":[{"text":"hi"}'


@pytest.mark.parametrize("data", [b"", b"\n", b"\0" * 4096, A[:1], A[:20], A[:20] + b"\n" + B[:30], CUT_IN_ITS_MESSAGE])
def test_a_file_that_was_cut_in_its_first_record_is_an_empty_transcript(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert transcript.read(path).records == ()


def test_a_missing_file_is_reported_as_the_system_reports_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        transcript.read(tmp_path / "none.jsonl")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def record(draw: st.DrawFn) -> dict[str, Any]:
    extra = draw(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), JSON, max_size=4))
    return {**extra, "uuid": draw(st.uuids()).hex, "type": draw(st.sampled_from(["user", "assistant", "other"]))}


@given(st.binary(max_size=400) | st.lists(st.sampled_from([A, B, b"{", b"}", b'"', b"\\", b"\n", b"\0"])).map(b"".join))
def test_no_bytes_ever_stop_the_reader(data: bytes) -> None:
    read = transcript.parse(data)
    branch, _ = transcript.walk(read.records)
    resume.display(branch)
    resume.replay(branch)


@given(st.lists(record(), max_size=6))
def test_what_is_written_is_read_back_equal(written: list[dict[str, Any]]) -> None:
    data = b"".join(map(encode_line, written))
    assert list(transcript.parse(data).records) == written
    assert transcript.parse(data).flaws == ()
    assert [json.loads(line) for line in data.splitlines()] == written


@given(st.lists(record(), min_size=1, max_size=5), st.data())
def test_any_prefix_of_a_file_loses_at_most_its_last_record(written: list[dict[str, Any]], data: st.DataObject) -> None:
    lines = [encode_line(one) for one in written]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    complete = sum(1 for index in range(len(lines)) if len(b"".join(lines[: index + 1])) <= cut)
    read = list(transcript.parse(whole[:cut]).records)
    assert read[:complete] == written[:complete]
    assert len(read) <= complete + 1
