"""One record as one line of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..plain import clean_tree, cut, exact
from ..records import Record

__all__ = ["encode_line"]

_encoder = msgspec.json.Encoder(enc_hook=exact)
_BYTES = (bytes, bytearray, memoryview)
_LEAVES = frozenset({int, float, bool, type(None)})


def encode_line(record: Record) -> bytes:
    """Write a record as compact UTF-8 JSON and a newline.

    Lone surrogates and NUL become U+FFFD (D5), and what is nested too deeply a note (`cut`); the record itself is not
    changed. Raises TypeError for bytes anywhere in it (an encoder would write base64 without a word) and for what
    JSON cannot hold.
    """
    try:
        return _encoded(record)
    except RecursionError:
        return _encoded(cut(record))


def _encoded(record: Record) -> bytes:
    try:
        line = _encoder.encode_lines((record,))
    except UnicodeEncodeError:
        record = clean_tree(record)
        line = _encoder.encode_lines((record,))
    if _holds_nul(record):
        line = _encoder.encode_lines((clean_tree(record),))
    return line


def _holds_nul(record: Record) -> bool:
    """Look at every value once: True when a string holds NUL, TypeError when there are bytes."""
    # It follows the encoder, which has refused a record that contains itself; searching the line would be slower.
    found = False
    pending: list[Any] = [record]
    for container in pending:
        for item in container.values() if type(container) is dict or isinstance(container, Mapping) else container:
            kind = type(item)
            if kind is str:
                if "\0" in item:
                    found = True
            elif kind in _LEAVES:
                continue
            elif kind is dict or kind is list or kind is tuple:
                pending.append(item)
            elif isinstance(item, _BYTES):
                raise TypeError(
                    "a transcript record holds bytes; encode them first, as base64 text in inlineData for example"
                )
            elif isinstance(item, str):
                found = found or "\0" in item
            elif isinstance(item, (Mapping, list, tuple)):
                pending.append(item)
    return found
