"""The two files that cache the vectors of one namespace: append-only, checked, never the truth.

`N.index` is a header and one small row a memory: key (int64, ascending), checksum, session, position, lengths in
words, sign bits. The header names the embedder, dimension, epoch, count and a CRC-32 of all rows, and ends in a CRC-32
of itself; the file is read whole when a namespace is opened. `N.vectors` is the float32 components alone: a row
is read, and checked against its checksum, when a query needs it, so that opening a large file costs nothing.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .signs import Floats, Keys, Mask, Positions, row_checksums, sign_bits, sign_words

try:
    import fcntl
except ImportError:  # no advisory locks: two writers are then found out by the checksums
    fcntl = None  # type: ignore[assignment]

MAGIC = b"FHVECTOR"
VERSION = 2
HEADER_BYTES = 128
_HEADER = struct.Struct("<8sIIQQI64sI")
_COUNT_AND_CHECKSUM = struct.Struct("<QI")
_COUNT_OFFSET = 24


class DamagedError(Exception):
    """A row of `N.vectors` is not what `N.index` says."""


class Chunk(NamedTuple):
    """Vectors as the database keeps them, and what else the index says of each. One row a memory, keys ascending.

    `vectors` has shape (n, dimension). `sessions` and `positions` say whose neighbours they are (NaN: nobody's);
    `lengths` are in index words, of the whole memory; `texts` of its text alone.
    """

    keys: Keys
    vectors: Floats
    checksums: NDArray[np.uint64]
    sessions: Keys
    positions: NDArray[np.float64]
    lengths: NDArray[np.uint32]
    texts: NDArray[np.uint32]


class Index(NamedTuple):
    """The rows of `N.index`, in memory, and the CRC-32 of all their bytes."""

    array: NDArray[Any]
    checksum: int


def index_type(dimension: int) -> np.dtype[Any]:
    """The type of one row of `N.index`."""
    fields = [("key", "<i8"), ("sum", "<u8"), ("session", "<i8"), ("position", "<f8"), ("length", "<u4")]
    return np.dtype([*fields, ("text", "<u4"), ("bits", "<u8", (sign_words(dimension),))])


def index_rows(chunk: Chunk) -> NDArray[Any]:
    """The rows of `N.index` for a chunk."""
    rows = np.zeros(len(chunk.keys), dtype=index_type(chunk.vectors.shape[1]))
    rows["key"], rows["sum"] = chunk.keys, chunk.checksums
    rows["session"], rows["position"] = chunk.sessions, chunk.positions
    rows["length"], rows["text"] = chunk.lengths, chunk.texts
    rows["bits"] = sign_bits(chunk.vectors)
    return rows


class Rows:
    """Components by position, each row checked against its checksum when it is first taken.

    Read, and not mapped: a file cut short would kill who has it mapped, and every page that is touched would count as
    ours (a query touches a few hundred of them).
    """

    def __init__(self, index: NDArray[Any], source: Floats | IO[bytes], dimension: int) -> None:
        """From an array, or from an open `N.vectors`."""
        self._index = index
        self._bytes = dimension * 4
        self._dimension = dimension
        self._handle = -1
        self._vectors: Floats | None = None
        self._checked: Mask = np.zeros(len(index), bool)
        if isinstance(source, np.ndarray):
            self._vectors = source
        else:
            self._handle = os.dup(source.fileno())

    def take(self, positions: Positions) -> Floats:
        """The rows at `positions`, copied. Raises DamagedError."""
        if self._vectors is not None:
            return self._vectors[positions]
        size, handle = self._bytes, self._handle
        raw = b"".join([os.pread(handle, size, at) for at in (positions * size).tolist()])
        if len(raw) != len(positions) * size:
            raise DamagedError
        taken = np.frombuffer(raw, "<f4").reshape(len(positions), self._dimension)
        fresh = np.flatnonzero(~self._checked[positions])
        if len(fresh):
            at = positions[fresh]
            if not np.array_equal(row_checksums(self._index["key"][at], taken[fresh]), self._index["sum"][at]):
                raise DamagedError
            self._checked[at] = True
        return taken

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            os.close(self._handle)


class VectorFile:
    """The two files of one namespace, by path (without ending)."""

    def __init__(self, path: Path, embedder_id: str, dimension: int) -> None:
        self.index = path.with_suffix(".index")
        self.vectors = path.with_suffix(".vectors")
        self.dimension = dimension
        self.row_type = index_type(dimension)
        self._embedder = zlib.crc32(embedder_id.encode()).to_bytes(4, "little") + embedder_id.encode()[:60]

    def header(self, epoch: int, count: int, checksum: int) -> bytes:
        """The header for `count` rows whose CRC-32 is `checksum`; it ends in a CRC-32 of its own."""
        fields = (MAGIC, VERSION, self.dimension, epoch, count, checksum, self._embedder)
        own = zlib.crc32(_HEADER.pack(*fields, 0))
        return _HEADER.pack(*fields, own).ljust(HEADER_BYTES, b"\0")

    def read(self, epoch: int, known: Index | None = None) -> Index | None:
        """The rows of the index, checked, or None if the files are not exactly what its header says.

        Also None if it is of another epoch, embedder or dimension, or if its keys do not ascend. Rows `known` from an
        earlier read are not read again: the CRC-32 goes on where theirs ended.
        """
        if not (self.index.is_file() and self.vectors.is_file()):
            return None  # a pipe, for one, would be waited for
        try:
            with self.index.open("rb") as file:
                raw = file.read(HEADER_BYTES)
                if len(raw) < HEADER_BYTES:
                    return None
                count, checksum = _COUNT_AND_CHECKSUM.unpack_from(raw, _COUNT_OFFSET)
                sized = os.fstat(file.fileno()).st_size == HEADER_BYTES + count * self.row_type.itemsize
                sized = sized and self.vectors.stat().st_size == count * self.dimension * 4
                if raw != self.header(epoch, count, checksum) or not sized:
                    return None
                if known is not None and len(known.array) <= count:
                    found = self._go_on(file, known, count, checksum)
                    if found is not None:
                        return found
                return self._go_on(file, Index(np.zeros(0, self.row_type), 0), count, checksum)
        except (OSError, ValueError, OverflowError):
            return None

    def _go_on(self, file: IO[bytes], known: Index, count: int, checksum: int) -> Index | None:
        have = len(known.array)
        file.seek(HEADER_BYTES + have * self.row_type.itemsize)
        raw = file.read((count - have) * self.row_type.itemsize)
        if zlib.crc32(raw, known.checksum) != checksum:
            return None
        array = np.frombuffer(raw, self.row_type)
        if have:
            array = np.concatenate([known.array, array]) if len(array) else known.array
        keys = array["key"][max(have - 1, 0) :]
        return Index(array, checksum) if bool((keys[1:] > keys[:-1]).all()) else None

    def rows(self, index: Index) -> Rows:
        """The components of the rows of `index`. Raises OSError."""
        with self.vectors.open("rb") as file:
            return Rows(index.array, file, self.dimension)

    def append(self, epoch: int, known: Index, added: Iterable[Chunk]) -> Index:
        """Add rows after the `known` ones and return all of them.

        The rows are written before the header that counts them: a crash between leaves files that `read` refuses.
        Raises OSError.
        """
        with self.vectors.open("r+b") as vectors, self.index.open("r+b") as index:
            vectors.seek(len(known.array) * self.dimension * 4)
            index.seek(HEADER_BYTES + len(known.array) * self.row_type.itemsize)
            return self._write(epoch, known, added, vectors, index)

    def replace(self, epoch: int, chunks: Iterable[Chunk]) -> Index:
        """Write both files anew, each in one step for every reader, and return the rows. Mode 0600. Raises OSError."""
        self.index.parent.mkdir(mode=0o700, exist_ok=True)
        with self._replacing(self.index) as index, self._replacing(self.vectors) as vectors:
            index.write(bytes(HEADER_BYTES))
            return self._write(epoch, Index(np.zeros(0, self.row_type), 0), chunks, vectors, index)

    def _write(self, epoch: int, known: Index, chunks: Iterable[Chunk], vectors: IO[bytes], index: IO[bytes]) -> Index:
        checksum = known.checksum
        parts = [known.array]
        for chunk in chunks:
            rows = index_rows(chunk)
            vectors.write(np.ascontiguousarray(chunk.vectors, "<f4").tobytes())
            raw = rows.tobytes()
            index.write(raw)
            checksum = zlib.crc32(raw, checksum)
            parts.append(rows)
        vectors.flush()
        array = np.concatenate(parts)
        index.seek(0)
        index.write(self.header(epoch, len(array), checksum))
        index.flush()
        return Index(array, checksum)

    @contextlib.contextmanager
    def _replacing(self, path: Path) -> Iterator[IO[bytes]]:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Exclusive among processes while rows are added."""
        self.index.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(self.index.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
