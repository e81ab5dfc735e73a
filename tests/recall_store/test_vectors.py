"""The vector file, and the search over sign bits."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_store.vector_file import HEADER_BYTES, StoredVector, VectorFile, pack_rows, row_checksum
from recall_store.vectors import NamespaceVectors, Source, State, closest, sign_bits, unit

DIMENSION = 4


class Database:
    """The rows that a database would have, and how often they were all asked for."""

    def __init__(self, keys: list[int], epoch: int = 1) -> None:
        rng = np.random.default_rng(1)
        self.all = {key: unit(rng.standard_normal(DIMENSION), DIMENSION)[0].tobytes() for key in range(1, 40)}
        self.keys, self.epoch, self.gone, self.asked = keys, epoch, [], []

    def state(self) -> State:
        total = sum(row_checksum(key, self.all[key]) for key in self.keys) % 2**64
        last = max([*self.keys, *self.gone], default=0)
        return State(epoch=self.epoch, last_key=last, deleted=len(self.gone), live=len(self.keys), total=total)

    def source(self) -> Source:
        return Source(added=self.added, removed=lambda: list(self.gone))

    def added(self, after: int) -> list[StoredVector]:
        self.asked.append(after)
        return [StoredVector(key, self.all[key], row_checksum(key, self.all[key])) for key in self.keys if key > after]

    def remove(self, key: int) -> None:
        self.keys.remove(key)
        self.gone.append(key)


def living(vectors: NamespaceVectors, database: Database) -> list[int]:
    view = vectors.view(database.state(), database.source())
    keys, _ = view.nearest(np.array([1, 0, 0, 0], np.float32), 100)
    return [int(key) for key in keys]


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
    assert gone not in (tmp_path / "v" / "1.vectors").read_bytes()


def test_a_file_with_rows_that_the_database_lost_is_rebuilt(tmp_path: Path) -> None:
    living(opened(tmp_path), Database([1, 2, 3]))
    rolled_back = Database([1, 2, 3])
    rolled_back.all[3] = rolled_back.all[30]
    vectors = opened(tmp_path)
    assert living(vectors, rolled_back) == [1, 2, 3]
    view = vectors.view(rolled_back.state(), rolled_back.source())
    wanted = np.frombuffer(rolled_back.all[3], np.float32)
    assert view.cosines(np.array([3]), wanted)[0] == pytest.approx(1.0)


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
        path = Path(name) / "v" / "1.vectors"
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
            damaged = bytearray(data.draw(st.binary(max_size=400)))
        path.write_bytes(bytes(damaged))
        assert VectorFile(path, "fake/1", DIMENSION).read(1) is None
        assert living(opened(Path(name)), database) == [1, 2, 5, 8]
        assert path.read_bytes() == whole


@pytest.mark.parametrize(("embedder", "dimension", "epoch"), [("fake/2", 4, 1), ("fake/1", 3, 1), ("fake/1", 4, 2)])
def test_a_file_of_another_embedder_dimension_or_epoch_is_not_read(
    tmp_path: Path, embedder: str, dimension: int, epoch: int
) -> None:
    path = tmp_path / "x.vectors"
    VectorFile(path, "fake/1", 4).replace(1, pack_rows([], 4))
    assert VectorFile(path, "fake/1", 4).read(1) is not None
    assert VectorFile(path, embedder, dimension).read(epoch) is None


def test_the_file_is_a_header_and_bounded_rows(tmp_path: Path) -> None:
    living(opened(tmp_path), Database(list(range(1, 31))))
    assert (tmp_path / "v" / "1.vectors").stat().st_size == HEADER_BYTES + 30 * (8 + 8 + 4 * DIMENSION)


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
    bits = sign_bits(matrix)
    kept = 0
    for query in unit(matrix[:20] + 0.05 * rng.standard_normal((20, 256)), 256):
        exact = set(np.argsort(-(matrix @ query))[:10].tolist())
        kept += len(exact & set(closest(bits, sign_bits(query[None]), None, 200).tolist()))
    assert kept >= 198


def test_masked_rows_are_never_candidates() -> None:
    bits = sign_bits(np.ones((10, 256), np.float32))
    dead = np.ones(10, bool)
    dead[3] = False
    assert closest(bits, bits[:, :1], dead, 5).tolist() == [3]


def test_opposite_vectors_of_256_bits_are_the_farthest_and_not_the_nearest() -> None:
    matrix = np.vstack([-np.ones((1, 256)), np.ones((1, 256))]).astype(np.float32)
    bits = sign_bits(matrix)
    assert closest(bits, sign_bits(np.ones((1, 256), np.float32)), None, 1).tolist() == [1]
