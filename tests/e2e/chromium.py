"""A Chromium that is here already, driven by playwright-core; axe-core beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .environments import FOLDER, alone

__all__ = ["CHROMIUM", "browse"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PACKAGES = {"playwright-core": "1.56", "axe-core": "4.11"}
PLACE = FOLDER / "browser"


def browse(script: Path, *arguments: str, seconds: float = 240) -> str:
    """What a script says that is run with the path of Chromium and `arguments`; fails when it does, or without npm."""
    _install()
    found = {**os.environ, "NODE_PATH": str(PLACE / "node_modules")}
    command = ["node", str(script), str(CHROMIUM), *arguments]
    done = subprocess.run(command, env=found, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _install() -> None:
    # In a folder of their own: npm takes away what it was not asked for.
    with alone("playwright"):
        PLACE.mkdir(exist_ok=True)
        if all((PLACE / "node_modules" / name).exists() for name in PACKAGES):
            return
        npm = shutil.which("npm")
        assert npm is not None, "npm is missing: this needs node 20 and npm (Debian: apt-get install nodejs npm)"
        packages = [f"{name}@{version}" for name, version in PACKAGES.items()]
        options = ("--no-save", "--no-package-lock", "--no-audit", "--no-fund")
        command = [npm, "install", *options, *packages, "--prefix", str(PLACE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        said = f"npm install {' '.join(packages)} failed with {done.returncode}: {done.stderr[-800:]}"
        assert done.returncode == 0, said
