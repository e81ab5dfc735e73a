"""The file that caches the vectors of one namespace: append-only, memory-mapped, checked.

A header and then one row a vector: the memory's key (int64, ascending), a checksum of the row (uint64) and the
components (float32, of length 1 or 0). The header names the embedder, dimension, epoch, count and a CRC-32 of all
rows, and ends in a CRC-32 of itself. The file is never the truth: what does not agree with its header is not read.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # no advisory locks: two writers are then found out by the checksum
    fcntl = None  # type: ignore[assignment]

MAGIC = b"FHVECTOR"
VERSION = 1
HEADER_BYTES = 128
_HEADER = struct.Struct("<8sIIQQI64sI")
_COUNT_AND_CHECKSUM = struct.Struct("<QI")
_COUNT_OFFSET = 24


class Rows(NamedTuple):
    """Rows as they are in the file, and the CRC-32 of all their bytes."""

    array: NDArray[Any]
    checksum: int


class StoredVector(NamedTuple):
    """A vector as the database keeps it: float32 bytes, and its `row_checksum`."""

    key: int
    vector: bytes
    checksum: int


def row_type(dimension: int) -> np.dtype[Any]:
    """The type of one row: fields `key`, `sum` and `vector`."""
    return np.dtype([("key", "<i8"), ("sum", "<u8"), ("vector", "<f4", (dimension,))])


def row_checksum(key: int, vector: bytes) -> int:
    """A 64-bit checksum of one row. Their sum modulo 2**64 says whether two sets of rows are the same set."""
    low = zlib.crc32(vector, key & 0xFFFFFFFF)
    return low << 32 | zlib.crc32(struct.pack("<qI", key, low))


def pack_rows(stored: list[StoredVector], dimension: int) -> NDArray[Any]:
    """File rows for vectors of the database. Raises ValueError if one has another dimension."""
    packed = np.zeros(len(stored), dtype=row_type(dimension))
    if stored:
        keys, vectors, checksums = zip(*stored, strict=True)
        packed["key"] = keys
        packed["sum"] = np.array(checksums, dtype=np.uint64)
        packed["vector"] = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(stored), dimension)
    return packed


class VectorFile:
    """One such file, by path. Keeps nothing open."""

    def __init__(self, path: Path, embedder_id: str, dimension: int) -> None:
        self.path = path
        self.dimension = dimension
        self.row_type = row_type(dimension)
        self._embedder = zlib.crc32(embedder_id.encode()).to_bytes(4, "little") + embedder_id.encode()[:60]

    def header(self, epoch: int, count: int, checksum: int) -> bytes:
        """The header for `count` rows whose CRC-32 is `checksum`; it ends in a CRC-32 of its own."""
        fields = (MAGIC, VERSION, self.dimension, epoch, count, checksum, self._embedder)
        own = zlib.crc32(_HEADER.pack(*fields, 0))
        return _HEADER.pack(*fields, own).ljust(HEADER_BYTES, b"\0")

    def read(self, epoch: int, known: Rows | None = None) -> Rows | None:
        """Every row, memory-mapped and checked, or None if the file is not exactly what its header says.

        Also None if it is of another epoch, embedder or dimension, or if its keys do not ascend. Rows `known` from an
        earlier read are not read again: the CRC-32 goes on where theirs ended.
        """
        try:
            with self.path.open("rb") as file:
                raw = file.read(HEADER_BYTES)
                size = os.fstat(file.fileno()).st_size
                if len(raw) < HEADER_BYTES:
                    return None
                count, checksum = _COUNT_AND_CHECKSUM.unpack_from(raw, _COUNT_OFFSET)
                sized = size == HEADER_BYTES + count * self.row_type.itemsize
                if raw != self.header(epoch, count, checksum) or not sized:
                    return None
                array = np.zeros(0, self.row_type)
                if count:
                    array = np.memmap(file, self.row_type, "r", HEADER_BYTES, (count,))
        except (OSError, ValueError, OverflowError):
            return None
        rows = Rows(array, checksum)
        if known is not None and len(known.array) <= count and _continues(known, rows):
            return rows
        return rows if _continues(Rows(array[:0], 0), rows) else None

    def append(self, epoch: int, known: Rows, added: NDArray[Any]) -> Rows:
        """Add rows after the `known` ones and return all of them, mapped.

        The rows are written before the header that counts them: a crash between leaves a file that `read` refuses.
        Raises OSError.
        """
        checksum = zlib.crc32(added.tobytes(), known.checksum)
        count = len(known.array) + len(added)
        with self.path.open("r+b") as file:
            file.seek(HEADER_BYTES + len(known.array) * self.row_type.itemsize)
            file.write(added.tobytes())
            file.seek(0)
            file.write(self.header(epoch, count, checksum))
            file.flush()
            return Rows(np.memmap(file, self.row_type, "r", HEADER_BYTES, (count,)), checksum)

    def replace(self, epoch: int, rows: NDArray[Any]) -> Rows:
        """Write the file anew, in one step for every reader, and return its rows, mapped. Mode 0600. Raises OSError."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                checksum = zlib.crc32(rows.tobytes())
                file.write(self.header(epoch, len(rows), checksum))
                file.write(rows.tobytes())
            Path(temporary).replace(self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        if not len(rows):
            return Rows(rows, checksum)
        return Rows(np.memmap(self.path, self.row_type, "r", HEADER_BYTES, (len(rows),)), checksum)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Exclusive among processes while rows are added."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _continues(start: Rows, rows: Rows) -> bool:
    """True if the rows after those of `start` bring its CRC-32 to that of `rows`, with ascending keys."""
    known = len(start.array)
    rest = rows.array[known:]
    if zlib.crc32(np.ascontiguousarray(rest).data.cast("B") if len(rest) else b"", start.checksum) != rows.checksum:
        return False
    keys = rows.array["key"][max(known - 1, 0) :]
    return bool((keys[1:] > keys[:-1]).all())
