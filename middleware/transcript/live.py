"""Reads the conversation of a transcript of any size: the live branch, record by record, from the file."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import msgspec

from ..errors import TranscriptError
from ..records import Record
from .chain import Chain, Head
from .flaws import Flaw
from .fragments import dated
from .reader import Tally, file_of, records_in_line

__all__ = ["Branch", "load"]

_PIECE = 1 << 16
_KEPT_PIECES = 2
_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)


class _Shown(TypedDict, total=False):
    """What a screen and a model are shown of a record, and what orders it."""

    uuid: Any
    parentUuid: Any
    type: Any
    subtype: Any
    message: Any
    systemPayload: Any
    parts: Any
    content: Any


_decode_head = msgspec.json.Decoder(Head).decode
_Decoder: TypeAlias = msgspec.json.Decoder[dict[str, Any]]
_records: _Decoder = msgspec.json.Decoder(dict[str, Any])
_shown: _Decoder = msgspec.json.Decoder(_Shown)


class Branch:
    """The live branch of a file, root first, as `walk` gives it; iterate it as often as you like.

    Each iteration reads the file again, a piece at a time, so that nothing is kept of dead branches, nor of what
    was read. `flaws` are those of the lines and of the chain, `leaf` is the uuid of the last record, None for none,
    and `size` how many bytes of the file were there. Iterating raises `TranscriptError` when the file was
    replaced or cut meanwhile, and OSError when it cannot be read.
    """

    def __init__(self, pieces: _Pieces, chain: Chain, positions: list[int], flaws: tuple[Flaw, ...]) -> None:
        self.path = pieces.path
        self.size = pieces.size
        self.leaf: str | None = chain.record(positions[-1])["uuid"] if positions else None
        self.flaws = flaws
        self._pieces = pieces
        self._chain = chain
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[Record]:
        return map(dated, self._read(_records))

    def conversation(self) -> Iterator[Record]:
        """The records without what no screen and no model is shown: place, time, usage, what a tool kept for itself."""
        return self._read(_shown)

    def _read(self, decoder: _Decoder) -> Iterator[Record]:
        pieces, chain, positions = self._pieces, self._chain, self._positions
        at, count = 0, len(positions)
        with pieces.opened():
            while at < count:
                first, records = pieces.around(positions[at], decoder)
                end = first + len(records)
                while at < count and first <= positions[at] < end:
                    position = positions[at]
                    yield records[position - first] if chain.is_whole(position) else chain.record(position)
                    at += 1


def load(path: str | Path) -> Branch:
    """Find the conversation in a file, to be read from it record by record.

    Raises `TranscriptError` for a file that is no transcript (one that is merely torn is) or holds several sessions,
    OSError when it cannot be read. Its flaws do not name what is unknown, which `walk` looks for in every part.
    """
    flaws: list[Flaw] = []
    pieces = _Pieces(file_of(path))
    chain = Chain(pieces.record, flaws.append, f"transcript {pieces.path}")
    tally, number = Tally(), 1
    with pieces.opened():
        for data in pieces.new():
            lines = data.split(b"\n")
            if not lines[-1]:
                lines.pop()
            heads = _plain_heads(data, lines)
            pieces.add(len(data), first=len(chain), is_plain=heads is not None)
            if heads is not None:
                tally.objects = tally.records = True
                chain.extend(heads)
            else:
                for at, line in enumerate(lines, number):
                    chain.extend(map(Head.of, tally.line(line, at, flaws.append)))
            number += len(lines)
        tally.refuse_foreign(pieces.path)
        return Branch(pieces, chain, chain.branch(), tuple(flaws))


def _plain_heads(data: bytes, lines: list[bytes]) -> list[Head] | None:
    """The heads of a piece in which every line is one whole record, as in nearly every piece; None for another."""
    try:
        heads = list(map(_decode_head, lines))
        # The decoder does not look at the strings that it skips.
        return heads if data.isascii() or data.decode() else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class _Pieces:
    """A file in pieces of whole lines, each of which can be read again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._firsts: list[int] = []
        self._spans: list[tuple[int, int, bool]] = []
        self._kept: OrderedDict[int, list[Record]] = OrderedDict()
        self.size = 0
        self._id: tuple[int, int] | None = None
        self._fd = -1
        self._inside = 0
        self._lock = threading.Lock()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The file is open within. Raises `TranscriptError` when it is not the one that was open before."""
        with self._lock:
            if self._fd < 0:
                self._fd = self._open()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    os.close(self._fd)
                    self._fd = -1
                    self._kept.clear()

    def new(self) -> Iterator[bytes]:
        """What follows the pieces that were added, in whole lines but for the last."""
        length = _PIECE
        while data := os.pread(self._fd, length, self.size):
            end = data.rfind(b"\n") + 1
            if not end and len(data) == length:
                length *= 8
                continue
            yield data[:end] if end else data
            length = _PIECE

    def add(self, length: int, *, first: int, is_plain: bool) -> None:
        """Note the next piece: how long it is, and the position of its first record."""
        self._firsts.append(first)
        self._spans.append((self.size, length, is_plain))
        self.size += length

    def record(self, position: int) -> Record:
        """The whole record at a position."""
        number = bisect_right(self._firsts, position) - 1
        if number not in self._kept:
            self._kept[number] = self.around(position, _records)[1]
            if len(self._kept) > _KEPT_PIECES:
                self._kept.popitem(last=False)
        return self._kept[number][position - self._firsts[number]]

    def around(self, position: int, decoder: _Decoder) -> tuple[int, list[Record]]:
        """The records of the piece that holds a position, and the position of the first of them."""
        number = bisect_right(self._firsts, position) - 1
        first = self._firsts[number]
        start, length, is_plain = self._spans[number]
        data = os.pread(self._fd, length, start)
        records = _records_of(data, decoder if is_plain else None)
        if len(data) != length or position - first >= len(records):
            raise self._changed()
        return first, records

    def _open(self) -> int:
        fd = os.open(self.path, _OPEN)
        state = os.fstat(fd)
        file = (state.st_dev, state.st_ino)
        if self._id not in (None, file) or state.st_size < self.size:
            os.close(fd)
            raise self._changed()
        self._id = file
        return fd

    def _changed(self) -> TranscriptError:
        return TranscriptError(f"transcript {self.path} was replaced or cut while it was read; read it again")


def _records_of(data: bytes, decoder: _Decoder | None) -> list[Record]:
    if decoder is not None:
        try:
            return decoder.decode_lines(data)
        except (msgspec.DecodeError, RecursionError):
            # A number that the decoder refuses where it has to read it.
            pass
    return [record for line in data.split(b"\n") for record in records_in_line(line)[0]]
