"""The vector file, and the search over sign bits."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_store.signs import Bits, closest, row_checksums, sign_bits, unit
from recall_store.vector_file import HEADER_BYTES, Chunk, VectorFile, index_type
from recall_store.vectors import NamespaceVectors, Source, State, View

DIMENSION = 4


class Database:
    """The rows that a database would have, and how often they were all asked for."""

    def __init__(self, keys: list[int], epoch: int = 1) -> None:
        rng = np.random.default_rng(1)
        self.all = {key: unit(rng.standard_normal(DIMENSION), DIMENSION)[0] for key in range(1, 40)}
        self.keys, self.epoch, self.gone, self.asked = keys, epoch, [], []

    def state(self) -> State:
        total = int(self.chunk(self.keys).checksums.sum(dtype=np.uint64))
        last = max([*self.keys, *self.gone], default=0)
        return State(epoch=self.epoch, last_key=last, deleted=len(self.gone), live=len(self.keys), total=total)

    def source(self) -> Source:
        return Source(added=self.added, removed=lambda: list(self.gone))

    def added(self, after: int) -> list[Chunk]:
        self.asked.append(after)
        keys = [key for key in self.keys if key > after]
        return [self.chunk(keys)] if keys else []

    def chunk(self, keys: list[int]) -> Chunk:
        vectors = np.array([self.all[key] for key in keys], np.float32).reshape(-1, DIMENSION)
        count = np.ones(len(keys), np.uint32)
        return Chunk(
            keys=np.array(keys, np.int64),
            vectors=vectors,
            checksums=row_checksums(np.array(keys, np.int64), vectors),
            sessions=np.zeros(len(keys), np.int64),
            positions=np.full(len(keys), np.nan),
            lengths=count,
            texts=count,
        )

    def remove(self, key: int) -> None:
        self.keys.remove(key)
        self.gone.append(key)


def nearest(view: View) -> list[int]:
    found, _ = view.nearest(np.array([1, 0, 0, 0], np.float32), 100, view.dead)
    return [int(key) for key in view.keys[found]]


def living(vectors: NamespaceVectors, database: Database) -> list[int]:
    return vectors.ask(database.state(), database.source(), nearest)


def columns(matrix: np.ndarray) -> Bits:
    return np.ascontiguousarray(sign_bits(matrix).T)


def opened(folder: Path) -> NamespaceVectors:
    return NamespaceVectors(folder / "v" / "1.vectors", "fake/1", DIMENSION)


def test_rows_are_made_once_and_then_read_from_the_file(tmp_path: Path) -> None:
    database = Database([1, 2, 5])
    assert living(opened(tmp_path), database) == [1, 2, 5]
    database.asked.clear()
    assert living(opened(tmp_path), database) == [1, 2, 5]
    assert database.asked == []


def test_new_rows_are_appended_and_deleted_ones_are_masked(tmp_path: Path) -> None:
    database, vectors = Database([1, 2, 5]), opened(tmp_path)
    living(vectors, database)
    database.keys += [7, 9]
    database.remove(2)
    database.asked.clear()
    assert living(vectors, database) == [1, 5, 7, 9]
    assert database.asked == [5]
    assert living(opened(tmp_path), database) == [1, 5, 7, 9]


def test_rows_that_another_process_appended_later_are_not_seen_early(tmp_path: Path) -> None:
    early, late = Database([1, 2]), Database([1, 2, 3])
    mine, other = opened(tmp_path), opened(tmp_path)
    assert living(other, late) == [1, 2, 3]
    assert living(mine, early) == [1, 2]
    assert living(mine, late) == [1, 2, 3]


def test_a_new_epoch_rebuilds_the_file_without_the_deleted(tmp_path: Path) -> None:
    database = Database([1, 2, 5])
    vectors = opened(tmp_path)
    living(vectors, database)
    gone = database.all[2]
    database.keys.remove(2)
    database.epoch = 2
    assert living(vectors, database) == [1, 5]
    assert gone.tobytes() not in (tmp_path / "v" / "1.vectors").read_bytes()


def test_a_file_with_rows_that_the_database_lost_is_rebuilt(tmp_path: Path) -> None:
    living(opened(tmp_path), Database([1, 2, 3]))
    rolled_back = Database([1, 2, 3])
    rolled_back.all[3] = rolled_back.all[30]
    vectors = opened(tmp_path)
    assert living(vectors, rolled_back) == [1, 2, 3]
    view = vectors.view(rolled_back.state(), rolled_back.source())
    assert view.cosines(np.array([2]), rolled_back.all[3])[0] == pytest.approx(1.0)


def test_the_files_are_private(tmp_path: Path) -> None:
    living(opened(tmp_path), Database([1]))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "v").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "v").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_costs_the_cache_only(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("a file where the folder should be")
    assert living(opened(tmp_path), Database([1, 2])) == [1, 2]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_damage_to_the_file_is_found_and_the_file_rebuilt(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        database = Database([1, 2, 5, 8])
        living(opened(Path(name)), database)
        path = Path(name) / "v" / data.draw(st.sampled_from(["1.index", "1.vectors"]))
        whole = path.read_bytes()
        damaged = bytearray(whole)
        kind = data.draw(st.sampled_from(["cut", "flip", "grow", "other"]))
        if kind == "cut":
            del damaged[data.draw(st.integers(0, len(whole) - 1)) :]
        elif kind == "flip":
            damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
        elif kind == "grow":
            damaged += data.draw(st.binary(min_size=1, max_size=100))
        else:
            damaged = bytearray(data.draw(st.binary(max_size=400).filter(lambda other: other != whole)))
        path.write_bytes(bytes(damaged))
        if path.suffix == ".index" or len(damaged) != len(whole):
            assert VectorFile(path, "fake/1", DIMENSION).read(1) is None
        assert living(opened(Path(name)), database) == [1, 2, 5, 8]
        assert path.read_bytes() == whole


@pytest.mark.parametrize(("embedder", "dimension", "epoch"), [("fake/2", 4, 1), ("fake/1", 3, 1), ("fake/1", 4, 2)])
def test_a_file_of_another_embedder_dimension_or_epoch_is_not_read(
    tmp_path: Path, embedder: str, dimension: int, epoch: int
) -> None:
    path = tmp_path / "x.vectors"
    VectorFile(path, "fake/1", 4).replace(1, [])
    assert VectorFile(path, "fake/1", 4).read(1) is not None
    assert VectorFile(path, embedder, dimension).read(epoch) is None


def test_the_files_are_a_header_and_bounded_rows(tmp_path: Path) -> None:
    living(opened(tmp_path), Database(list(range(1, 31))))
    assert (tmp_path / "v" / "1.vectors").stat().st_size == 30 * 4 * DIMENSION
    assert (tmp_path / "v" / "1.index").stat().st_size == HEADER_BYTES + 30 * 48
    assert index_type(256).itemsize == 72


@pytest.mark.parametrize("ending", ["index", "vectors"])
def test_a_pipe_in_the_place_of_a_file_is_replaced_and_not_waited_for(tmp_path: Path, ending: str) -> None:
    database = Database([1, 2, 5])
    living(opened(tmp_path), database)
    path = tmp_path / "v" / f"1.{ending}"
    path.unlink()
    os.mkfifo(path)
    assert living(opened(tmp_path), database) == [1, 2, 5]
    assert path.is_file()


def test_a_file_cut_short_under_an_open_view_is_rebuilt_and_kills_nobody(tmp_path: Path) -> None:
    database, vectors = Database(list(range(1, 31))), opened(tmp_path)
    assert len(living(vectors, database)) == 30
    (tmp_path / "v" / "1.vectors").write_bytes(b"")
    assert len(living(vectors, database)) == 30
    assert (tmp_path / "v" / "1.vectors").stat().st_size == 30 * 4 * DIMENSION


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_one_changed_bit_changes_the_checksum_of_its_row_only(data: st.DataObject) -> None:
    dimension = data.draw(st.integers(1, 9))
    raw = bytearray(data.draw(st.binary(min_size=8 * dimension, max_size=8 * dimension)))
    keys = np.array([1, 2])
    before = row_checksums(keys, np.frombuffer(bytes(raw), "<f4").reshape(2, dimension))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    changed = before != row_checksums(keys, np.frombuffer(bytes(raw), "<f4").reshape(2, dimension))
    assert changed.tolist() == ([True, False] if at < 4 * dimension else [False, True])


def test_unit_scales_rows_and_zeroes_what_has_no_direction() -> None:
    rows = unit([[3, 4], [0, 0], [np.nan, 1], [np.inf, 1], [1e300, 0], [1e-300, 0]], 2)
    assert rows.tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0], [0, 0], [0, 0], [1, 0], [1, 0]]


def test_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        unit([[1, 0]], 4)


def test_the_first_pass_keeps_nearly_all_of_the_exact_best() -> None:
    rng = np.random.default_rng(5)
    topics = np.repeat(rng.standard_normal((1000, 256)), 20, axis=0)
    matrix = unit(topics + 0.7 * rng.standard_normal((20_000, 256)), 256)
    bits = columns(matrix)
    kept = 0
    for query in unit(matrix[:20] + 0.05 * rng.standard_normal((20, 256)), 256):
        exact = set(np.argsort(-(matrix @ query))[:10].tolist())
        kept += len(exact & set(closest(bits, sign_bits(query[None])[0], None, 200).tolist()))
    assert kept >= 198


def test_masked_rows_are_never_candidates() -> None:
    bits = columns(np.ones((10, 256), np.float32))
    dead = np.ones(10, bool)
    dead[3] = False
    assert closest(bits, bits[:, 0], dead, 5).tolist() == [3]


def test_opposite_vectors_of_256_bits_are_the_farthest_and_not_the_nearest() -> None:
    matrix = np.vstack([-np.ones((1, 256)), np.ones((1, 256))]).astype(np.float32)
    bits = columns(matrix)
    assert closest(bits, bits[:, 1], None, 1).tolist() == [1]
