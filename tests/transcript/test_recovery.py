"""Recovery: what is whole in a broken line is found, and a line made to be slow is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.errors import TranscriptError
from middleware.transcript import load, read
from middleware.transcript.located import read_located
from middleware.transcript.reader import records_in_line
from middleware.transcript.recovery import objects_in
from tests.pace import no_hang

ONE = '{"uuid":"1","type":"user","message":{"parts":[{"text":"x{\\"y\\"}"}]}}'
TWO = ONE.replace('"1"', '"2"')


@pytest.mark.parametrize(
    "before",
    [
        '{"a":' * 5_000,
        '{"a":[' * 5_000,
        '{"a":' * 600,
        ('{"k":"' + "v" * 2_000 + '","a":') * 500,
        '{"uuid":"0","message":{"parts":[{"text":"torn',
        '{"uuid":"0","message":{"parts":[{"te',
        '{"' * 1_000,
        "}" * 1_000,
    ],
)
def test_whole_records_behind_a_torn_one_are_found(before: str) -> None:
    assert [record["uuid"] for record in records_in_line((before + ONE + TWO).encode())[0]] == ["1", "2"]


@pytest.mark.parametrize(
    "piece", ['{"', '{"a":', '{"a":[', '{"a":{"b":1},', '{"a":1 ', '{"a":"\\"', '[{"a":1},', "{", '"']
)
def test_a_line_that_is_made_to_be_slow_is_read_about_as_fast_as_its_length(piece: str) -> None:
    with no_hang():
        records_in_line((piece * (400_000 // len(piece))).encode())


pieces = st.sampled_from(['{"a":', "{", "}", '"', '"b"', ":", ",", "1", "[", "]", '\\"', '{"c":2}', " ", '{"d":{}}'])


def naive(text: str) -> list[object]:
    found: list[object] = []
    at = 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, length = json.JSONDecoder(strict=False).raw_decode(text[at:])
        except ValueError:
            at += 1
            continue
        if value:
            found.append(value)
        at += length
    return found


@given(parts=st.lists(pieces, max_size=12))
def test_what_is_found_is_what_trying_every_brace_finds(parts: list[str]) -> None:
    text = "".join(parts)
    assert [value for _, _, value in objects_in(text)] == naive(text)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "p.jsonl"
    os.mkfifo(pipe)
    for reading in (load, read, read_located):
        with pytest.raises(TranscriptError, match="is no regular file"):
            reading(pipe)
