"""`@file` in a text."""

from __future__ import annotations

import pytest

from middleware.chat.mentions import mentions


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@a.txt", [("a.txt",)]),
        ("see @a.txt and @b/c.py", [("a.txt",), ("b/c.py",)]),
        ("@a.txt, please", [("a.txt,", "a.txt")]),
        ("(@a.txt)", [("a.txt)", "a.txt")]),
        (r"@my\ notes.txt now", [("my notes.txt",)]),
        ('@"my notes.txt" now', [("my notes.txt",)]),
        ("@src/*.py", [("src/*.py",)]),
        ("line\n@a.txt", [("a.txt",)]),
        ("@a.png @b.png\n\nlook", [("a.png",), ("b.png",)]),
        ("@ü.txt", [("ü.txt",)]),
        ("@...", [("...",)]),
        ("mail me@example.org", []),
        ("@ alone", []),
        ("a@b @", []),
        ("", []),
    ],
)
def test_mentions_are_found_in_order_with_the_paths_that_they_may_mean(text: str, paths: list[tuple[str, ...]]) -> None:
    assert [mention.paths for mention in mentions(text)] == paths


def test_a_long_text_without_mentions_is_read_in_one_go() -> None:
    assert list(mentions("x@" * 500_000)) == []
