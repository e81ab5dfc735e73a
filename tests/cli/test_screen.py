"""What a command prints about itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from middleware.cli.screen import program


@pytest.fixture
def script(place: Path) -> Path:
    """A program of that name, in a virtual environment of the working directory."""
    script = place / ".venv/bin/firsthand"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    return script


@pytest.mark.parametrize("started", [".venv/bin/firsthand", "./.venv/bin/firsthand"])
def test_a_program_that_is_not_on_the_path_is_named_by_its_own(
    script: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "argv", [started])
    assert program() == ".venv/bin/firsthand"


def test_a_program_that_is_on_the_path_is_named_as_it_is_typed(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert program() == "firsthand"


def test_a_module_that_is_run_names_the_program_beside_its_python(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "argv", ["/x/middleware/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    assert program() == ".venv/bin/firsthand"
    script.unlink()
    assert program() == f"{script.with_name('python')} -m middleware"


def test_a_path_with_spaces_can_be_copied(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "argv", ["/opt/my tools/firsthand"])
    assert program() == "'/opt/my tools/firsthand'"
