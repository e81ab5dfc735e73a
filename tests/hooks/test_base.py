"""What a span may call a hook."""

from __future__ import annotations

import pytest

from middleware.hooks.base import label_of


@pytest.mark.parametrize(
    ("name", "command", "label"),
    [
        ("ctx", "python3 /home/u/s.py --key=abc", "ctx"),
        ("", "/home/u/hooks/check.sh --key=abc", "check.sh"),
        ("", "python /home/u/s.py", "python"),
        ("", "node i.js", "node"),
        ("", r"C:\tools\run.exe -x", "run.exe"),
        ("", '"/opt/a" b', "a"),
        ("", "API_KEY=sk-123 node i.js", "API_KEY"),
        ("", "A=/secret/path x", "A"),
        ("", "  ", "unknown-command"),
        ("", "", "unknown-command"),
        (" ", "/", "unknown-command"),
    ],
)
def test_a_label_holds_no_argument_path_or_value(name: str, command: str, label: str) -> None:
    assert label_of(name, command) == label
