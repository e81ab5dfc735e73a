"""One record as one line of bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from ..records import Record, clean_tree

__all__ = ["encode_line"]

_encoder = msgspec.json.Encoder()
_BYTES = (bytes, bytearray, memoryview)


def encode_line(record: Record) -> bytes:
    """Write a record as compact UTF-8 JSON and a newline.

    Lone surrogates and NUL become U+FFFD (D5); the record itself is not changed. Raises TypeError for bytes
    anywhere in it (an encoder would write base64 without a word) and for what JSON cannot hold.
    """
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
    while pending:
        container = pending.pop()
        for item in container.values() if type(container) is dict else container:
            kind = type(item)
            if kind is str:
                found = found or "\0" in item
            elif kind is dict or kind is list or kind is tuple:
                pending.append(item)
            elif kind in _BYTES:
                raise TypeError(
                    "a transcript record holds bytes; encode them first, as base64 text in inlineData for example"
                )
    return found
