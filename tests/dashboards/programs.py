"""Programs that the tests need and a machine may lack: there the test is skipped, with what to install; never in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..e2e.environments import alone

ROOT = Path(__file__).parent.parent.parent
DASHBOARDS = ROOT / "dashboards"
HERE = Path(__file__).parent
PACKAGES = ("@grafana/schema@11.6.0", "typescript@5.8.3", "dclint@3.1.0")


def program(name: str, package: str) -> str:
    """Where a program is; `package` is what Debian calls what has it."""
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is missing: apt-get install {package}")
    return str(found)


def missing(what: str) -> None:
    """Skip, or fail where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def node_modules() -> Path:
    """The folder with PACKAGES, installed when they are missing; there for the next run."""
    npm = program("npm", "npm")
    folder = HERE / "node_modules"
    ready = folder / f".ready-{'-'.join(package.rpartition('@')[2] for package in PACKAGES)}"
    with alone("dashboards"):
        if not ready.exists():
            options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund")
            command = [npm, "install", *options, *PACKAGES, "--prefix", str(HERE)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"npm install failed: {done.stderr[-800:]}"
            ready.touch()
    return folder
