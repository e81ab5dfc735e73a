"""An OTLP request in protobuf, cut into smaller requests: what is decoded at a time is bounded, and so is a fault.

All three signals have one shape: field 1 of a request is a resource's part, field 2 of that a scope's, and field 2 of
that one item; everything else in a part is said of all of its items, and goes into every piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Malformed", "pieces"]

_LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_PARTS: Final = 1
_ITEMS: Final = 2


class Malformed(ValueError):
    """The lengths in a body do not fit it."""


class _Field(NamedTuple):
    number: int
    start: int
    value: int
    end: int


class _Scope(NamedTuple):
    """What is said of a resource and of a scope, and where the scope's items are."""

    resource: bytes
    scope: bytes
    items: list[tuple[int, int]]


def pieces(body: bytes | bytearray, *, most_items: int, most_bytes: int) -> Iterator[bytes]:
    """Requests that together are the body: of so many items, and of so many bytes or of one item.

    Raises `Malformed` before the first of them.
    """
    for _ in _scopes(body):
        pass
    return _cut(body, most_items, most_bytes)


def _cut(body: bytes | bytearray, most_items: int, most_bytes: int) -> Iterator[bytes]:
    held: list[bytes] = []
    count = size = 0
    for resource, scope, items in _scopes(body):
        taken: list[bytes] = []
        for start, end in items:
            if count and (count >= most_items or size + end - start > most_bytes):
                yield b"".join([*held, _wrapped(resource, scope, taken)])
                held, taken, count, size = [], [], 0, 0
            taken.append(bytes(body[start:end]))
            count, size = count + 1, size + end - start
        if taken:
            held.append(_wrapped(resource, scope, taken))
            size += len(resource) + len(scope)
    if held:
        yield b"".join(held)


def _wrapped(resource: bytes, scope: bytes, items: list[bytes]) -> bytes:
    scoped = b"".join([scope, *items])
    inner = b"".join([resource, b"\x12", _number(len(scoped)), scoped])
    return b"".join([b"\x0a", _number(len(inner)), inner])


def _scopes(body: bytes | bytearray) -> Iterator[_Scope]:
    for part in _fields(body, 0, len(body)):
        if part.number != _PARTS:
            continue
        fields = list(_fields(body, part.value, part.end))
        resource = b"".join(body[each.start : each.end] for each in fields if each.number != _ITEMS)
        for field in fields:
            if field.number == _ITEMS:
                inner = list(_fields(body, field.value, field.end))
                scope = b"".join(body[each.start : each.end] for each in inner if each.number != _ITEMS)
                yield _Scope(resource, scope, [(each.start, each.end) for each in inner if each.number == _ITEMS])


def _fields(body: bytes | bytearray, at: int, end: int) -> Iterator[_Field]:
    """The fields of a message; the number of one that is not length-delimited is 0: none of ours."""
    while at < end:
        start = at
        tag, at = _varint(body, at, end)
        kind, value = tag & 7, at
        if kind == _LENGTH_DELIMITED:
            size, value = _varint(body, at, end)
            at = value + size
        elif kind == 0:
            _, at = _varint(body, at, end)
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise Malformed(f"a field of wire type {kind}")
        if at > end:
            raise Malformed("a field that is longer than what it is in")
        yield _Field(tag >> 3 if kind == _LENGTH_DELIMITED else 0, start, value, at)


def _varint(body: bytes | bytearray, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("a number that does not end")


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
