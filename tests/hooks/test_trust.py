"""The trust file: which folders, with which hooks, written whole or not at all."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from middleware.errors import SettingsError
from middleware.hooks.trust import digest_of, distrust, standing_of, trust, trusted

HOOKS = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "firsthand" / "trusted_folders.json"


def test_a_folder_is_trusted_with_the_hooks_that_it_had(tmp_path: Path, file: Path) -> None:
    assert standing_of(tmp_path, "a", file=file) == "untrusted"
    trust(tmp_path, "a", file=file)
    assert standing_of(tmp_path, "a", file=file) == "trusted"
    assert standing_of(tmp_path, "b", file=file) == "changed"


def test_a_folder_in_it_is_another_folder(tmp_path: Path, file: Path) -> None:
    (tmp_path / "inner").mkdir()
    trust(tmp_path, "a", file=file)
    assert standing_of(tmp_path / "inner", "a", file=file) == "untrusted"


def test_the_file_holds_real_paths_and_is_the_persons_alone(tmp_path: Path, file: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    trust(tmp_path / "link", "a", file=file)
    assert json.loads(file.read_text()) == {str((tmp_path / "real").resolve()): "a"}
    assert standing_of(tmp_path / "real", "a", file=file) == "trusted"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_trust_is_taken_back(tmp_path: Path, file: Path) -> None:
    assert distrust(tmp_path, file=file) is False
    assert not file.exists()
    trust(tmp_path, "a", file=file)
    assert distrust(tmp_path, file=file) is True
    assert trusted(file) == {}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"/a": 1}', "[" * 100_000, "\x00"])
def test_a_file_that_is_none_is_an_error_that_names_it_and_is_left_alone(
    tmp_path: Path, file: Path, content: str
) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(content)
    for attempt in (lambda: standing_of(tmp_path, "a", file=file), lambda: trust(tmp_path, "a", file=file)):
        with pytest.raises(SettingsError, match="is no list of trusted folders; delete it") as caught:
            attempt()
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert file.read_text() == content


def test_a_pipe_of_that_name_holds_nobody(file: Path) -> None:
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    with pytest.raises(SettingsError, match="is no list of trusted folders"):
        trusted(file)


def test_a_file_that_is_a_link_stays_one(tmp_path: Path, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "kept elsewhere")
    trust(tmp_path, "a", file=file)
    assert file.is_symlink()
    assert trusted(tmp_path / "kept elsewhere") == {str(tmp_path.resolve()): "a"}


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trust(tmp_path, "a", file=file)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        trust(tmp_path, "b", file=file)
    assert trusted(file) == {str(tmp_path.resolve()): "a"}
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def _trust_many(base: str, file: str, start: int) -> None:
    for number in range(start, start + 10):
        trust(Path(base, str(number)), "a", file=Path(file))


def test_programs_that_trust_at_once_do_not_undo_each_other(tmp_path: Path, file: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_trust_many, args=(str(tmp_path), str(file), start)) for start in (0, 10, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(trusted(file)) == 30


def test_a_digest_is_of_what_is_said_about_hooks() -> None:
    digest = digest_of({"a.json": {"hooks": HOOKS, "theme": "dark"}})
    assert digest == digest_of({"a.json": {"theme": "light", "hooks": HOOKS}})
    others = (
        {"a.json": {"hooks": {}}},
        {"b.json": {"hooks": HOOKS}},
        {"a.json": {"hooks": HOOKS, "disableAllHooks": True}},
        {"a.json": {"hooks": HOOKS, "security": {"allowedHttpHookUrls": ["*"]}}},
        {"a.json": {"hooks": HOOKS}, "b.json": {}},
        {"a.json": None},
    )
    assert digest not in {digest_of(other) for other in others}
