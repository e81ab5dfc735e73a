"""The examples of docs/submitted-prompt.md do what the page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

PAGE = (ROOT / "docs" / "submitted-prompt.md").read_text(encoding="utf-8")
HOOK = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
SHELL = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]


def given(place: Path, argv: list[str], **payload: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, input=json.dumps(payload), capture_output=True, text=True, cwd=place, check=False)


def test_the_python_hook_keeps_only_what_was_vouched_for(place: Path) -> None:
    argv = [sys.executable, "-I", "-c", HOOK]
    assert given(place, argv, prompt="remember tea").returncode == 0
    assert not (place / "wishes.txt").exists()
    assert given(place, argv, prompt="remember tea <file>", submitted_prompt="remember tea").returncode == 0
    assert (place / "wishes.txt").read_text() == "tea\n"


def test_the_python_hook_refuses_what_would_leave_the_machine(place: Path) -> None:
    refused = given(place, [sys.executable, "-I", "-c", HOOK], prompt="AKIA" + "A" * 16, submitted_prompt="@keys")
    assert (refused.returncode, refused.stderr) == (2, "that holds a key; take it out\n")


@pytest.mark.skipif(shutil.which("jq") is None or sys.platform == "win32", reason="the example is of sh and jq")
def test_the_shell_hook_tells_presence_from_absence(place: Path) -> None:
    given(place, ["sh", "-c", SHELL], prompt="a\nb", submitted_prompt="a $(touch x)")
    given(place, ["sh", "-c", SHELL], prompt="c")
    assert (place / "typed.log").read_text() == "a $(touch x)\nnobody vouches for this one\n"
    assert not (place / "x").exists()


def test_the_readme_leads_to_the_page() -> None:
    assert "(docs/submitted-prompt.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
