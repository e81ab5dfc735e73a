"""An OTLP request in protobuf, cut into smaller requests: what is decoded at a time is bounded, and so is a fault.

All three signals have one shape: field 1 of a request is a resource's part, field 2 of that a scope's, and field 2 of
that one item; everything else in a part is said of all of its items, and goes into every piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["MOST", "Malformed", "pieces"]

MOST: Final = 200_000
"""Items, scopes and resources of one request."""

_LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_PARTS: Final = 1
_ITEMS: Final = 2
_DEEP: Final = 3


class Malformed(ValueError):
    """The lengths in a body do not fit it, or it has more than `MOST` parts."""


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
    """Requests that together are the body, at least one: of so many items, and of so many bytes or of one item.

    Raises `Malformed` before the first of them.
    """
    _check(body)
    return _cut(body, most_items, most_bytes)


def _check(body: bytes | bytearray) -> None:
    """Go through it once, and keep nothing."""
    count = 0
    within = [_fields(body, 0, len(body))]
    while within:
        field = next(within[-1], None)
        if field is None:
            within.pop()
            continue
        count += 1
        if count > MOST:
            raise Malformed(f"it has more than {MOST:,} items; send smaller batches")
        if len(within) < _DEEP and field.number == (_PARTS if len(within) == 1 else _ITEMS):
            within.append(_fields(body, field.value, field.end))


def _cut(body: bytes | bytearray, most_items: int, most_bytes: int) -> Iterator[bytes]:
    held: list[tuple[bytes, list[bytes]]] = []
    count = size = cuts = 0
    for resource, scope, items in _scopes(body):
        taken: list[bytes] = []
        for start, end in items:
            if count and (count >= most_items or size + end - start > most_bytes):
                _hold(held, resource, scope, taken)
                yield _request(held)
                held, taken, count, size, cuts = [], [], 0, 0, cuts + 1
            taken.append(bytes(body[start:end]))
            count, size = count + 1, size + end - start
        size += len(scope)
        _hold(held, resource, scope, taken)
    if count or not cuts:
        yield _request(held)


def _hold(held: list[tuple[bytes, list[bytes]]], resource: bytes, scope: bytes, items: list[bytes]) -> None:
    """Put a scope's items to those of its resource, which is said once however many scopes it has."""
    if items:
        if not held or held[-1][0] is not resource:
            held.append((resource, []))
        held[-1][1].append(_framed(_ITEMS, [scope, *items]))


def _request(held: list[tuple[bytes, list[bytes]]]) -> bytes:
    return b"".join(_framed(_PARTS, [resource, *scopes]) for resource, scopes in held)


def _framed(number: int, parts: list[bytes]) -> bytes:
    inner = b"".join(parts)
    return b"".join([_number(number << 3 | _LENGTH_DELIMITED), _number(len(inner)), inner])


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
