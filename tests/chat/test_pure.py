"""What of the chat is pure, and that nobody pays for it who does not chat."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.test_layering import ROOT, imported

PURE = ("cells", "chat", "completing", "composer", "effects", "history", "mentions", "pastes", "queue", "turns")


@pytest.mark.parametrize("name", PURE)
def test_the_rules_of_the_chat_know_no_io(name: str) -> None:
    path = ROOT / "middleware" / "chat" / f"{name}.py"
    forbidden = {"asyncio", "opentelemetry", "io", "os", "pathlib", "socket", "subprocess", "threading", "logging"}
    assert forbidden.isdisjoint(name.split(".")[0] for name in imported(path))
    assert "prompt_toolkit" not in path.read_text()


def test_importing_middleware_does_not_import_the_chat() -> None:
    code = "import sys, middleware; print([name for name in sys.modules if name.startswith('middleware.chat')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_importing_the_command_line_does_not_import_prompt_toolkit() -> None:
    code = "import sys, middleware.cli, middleware.cli.chat; print('prompt_toolkit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
