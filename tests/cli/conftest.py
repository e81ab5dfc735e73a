"""A folder and an environment of their own for every command that is run, and a model for a chat."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from middleware.cli import firsthand

from .streaming import StreamingModel

ROOT = Path(__file__).parents[2]
Run = Callable[..., Result]
Spawn = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings from outside."""
    for name in list(os.environ):
        if name.startswith(("FIRSTHAND_", "OTEL_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def run() -> Run:
    """Run a command in this process."""

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(firsthand, args)

    return invoke


@pytest.fixture
def spawn(place: Path) -> Spawn:
    """Run `python -m middleware` as a process of its own, in the test's folder."""

    def start(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "middleware", *args],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
            check=False,
        )

    return start


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model
