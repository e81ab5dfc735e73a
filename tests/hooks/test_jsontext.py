"""JSON as hooks speak it."""

from __future__ import annotations

import pytest

from middleware.hooks.jsontext import decode, encode, objects_on_lines


def test_what_is_written_is_one_compact_utf8_object() -> None:
    assert encode({"a": 1, "b": "é"}) == '{"a":1,"b":"é"}'.encode()


def test_lone_surrogates_and_nul_are_replaced_wherever_they_are() -> None:
    assert encode({"a\ud800": ["b\x00", {"c": "\udc00"}]}) == '{"a�":["b�",{"c":"�"}]}'.encode()


def test_integers_over_64_bits_are_written_in_full() -> None:
    assert encode({"n": 2**70}) == b'{"n":1180591620717411303424}'


def test_bytes_are_refused() -> None:
    with pytest.raises(TypeError):
        encode({"a": b"x"})


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        encode({"a": object()})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1}', {"a": 1}),
        (r'"\ud800"', "\ud800"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_what_either_library_reads_is_read(text: str, value: object) -> None:
    assert decode(text) == value


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "1" * 10_000, "{'a':1}", "{} {}"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_objects_are_found_on_lines_and_not_inside_each_other() -> None:
    text = 'x {"no":1}\n{"a":\n{"b":1}\n}\n {"indented":1}\n{"c":2} tail\n{"d":3}  '
    assert list(objects_on_lines(text)) == [{"a": {"b": 1}}, {"d": 3}]


def test_a_text_without_objects_gives_none() -> None:
    assert list(objects_on_lines("")) == []
    assert list(objects_on_lines("{")) == []
