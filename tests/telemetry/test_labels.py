"""A hook's label, a store's id, an error's type."""

from __future__ import annotations

import pytest

from middleware.telemetry import hook_label
from middleware.telemetry.labels import error_type, without_secrets


@pytest.mark.parametrize(
    ("name", "command", "label"),
    [
        ("lint", "python /x/y.py", "lint"),
        (None, "python /home/u/s.py", "python"),
        ("", "/home/u/hooks/check.sh --key=abc", "check.sh"),
        ("  ", None, "unknown-command"),
        (None, None, "unknown-command"),
        (None, "curl -H 'Authorization: Bearer CANARY-7f3a' https://x.invalid", "curl"),
        (None, "TOKEN=CANARY-7f3a check.sh", "check.sh"),
        (None, "TOKEN=CANARY-7f3a", "unknown-command"),
        (None, "https://x.invalid/hook?token=CANARY-7f3a", "hook"),
        (None, r'"C:\tools\check.exe" --key=abc', "check.exe"),
        (None, "x" * 1000, "x" * 128),
        ("a\ud800b", None, "a\ufffdb"),
    ],
)
def test_a_hook_is_named_without_its_command_line(name: str | None, command: str | None, label: str) -> None:
    assert hook_label(name, command) == label


def test_a_store_url_loses_user_and_query() -> None:
    assert without_secrets("postgresql://u:p@ss@db:5432/m?password=x#y") == "postgresql://db:5432/m"


def test_an_error_is_its_full_class_name() -> None:
    assert error_type(KeyError("x")) == "KeyError"
    assert error_type(Own("x")) == f"{__name__}.Own"


class Own(Exception):
    code = "a string"
