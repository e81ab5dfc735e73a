"""Locks on files, by which programs wait for one another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from middleware.locks import lock, unlock


def test_what_one_holds_another_does_not_get_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    one, other = (os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for _ in range(2))
    lock(one)
    with pytest.raises(BlockingIOError):
        lock(other)
    unlock(one)
    lock(other)
    os.close(other)
    lock(one)
    os.close(one)


def test_letting_go_of_what_is_not_held_is_nothing(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0o600)
    unlock(fd)
    os.close(fd)
