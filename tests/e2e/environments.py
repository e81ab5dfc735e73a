"""Environments of their own for packages that are no part of the project's, made once, by one process."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / ".venvs"
ROOT = Path(__file__).parent.parent.parent


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """In the block, no other process of these tests makes what has that name."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment(name: str, *packages: str, extras: tuple[str, ...] = ("openai",), pre: bool = True) -> Path:
    """The Python of an environment that holds the project's dependencies, those of `extras`, and `packages`.

    The project itself is not installed: what runs there is its own files. `pre` lets pip take pre-releases.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *packages]
    wanted += [line for extra in extras for line in project["optional-dependencies"][extra]]
    digest = hashlib.sha256("\n".join([*wanted, str(pre)]).encode()).hexdigest()[:12]
    folder = FOLDER / f"{name}-{digest}"
    python = folder / "bin" / "python"
    with alone(name):
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            done = subprocess.run([*pip, *(["--pre"] if pre else []), *wanted], capture_output=True, text=True)
            assert done.returncode == 0, f"the environment {name} cannot be made: {done.stderr[-2000:]}"
            (folder / "ready").touch()
    return python


def run(python: Path, module: str, *arguments: str) -> str:
    """The output of a module of this project, run with that Python from the project's own files."""
    done = subprocess.run([str(python), "-m", module, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
