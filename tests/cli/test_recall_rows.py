"""The tables of `firsthand recall search` and `list`: an id is whole at any width, and a pipe gets a line a memory."""

from __future__ import annotations

import pytest

from .conftest import Run

STORE = ("--store", "sqlite:///m.db", "--namespace", "ada")
TEXT = "The CI runner is called brontes and it stands in the cellar, behind the boiler of the house next door."


@pytest.mark.parametrize("columns", ["40", "55", "60", "80", "100", "200"])
@pytest.mark.parametrize("command", [("search", "runner"), ("list",)])
def test_an_id_is_whole_in_one_line_at_any_width(
    command: tuple[str, ...], columns: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = run("recall", "add", TEXT, *STORE).stdout.split()[-1]
    monkeypatch.setenv("COLUMNS", columns)
    lines = run("recall", *command, *STORE).stdout.splitlines()
    assert len(id_) == 32
    assert len([line for line in lines if line.rstrip().endswith(id_)]) == 1
    assert max(map(len, lines)) <= int(columns)


@pytest.mark.parametrize(
    ("command", "columns", "header"),
    [
        (("search", "runner"), "110", "score lexical cosine age author memory id"),
        (("search", "runner"), "100", "score lexical age author memory id"),
        (("search", "runner"), "80", "score age memory id"),
        (("search", "runner"), "70", "score memory id"),
        (("list",), "100", "age type author memory id"),
        (("list",), "80", "age author memory id"),
        (("list",), "65", "memory id"),
    ],
)
def test_columns_are_left_out_for_the_words(
    command: tuple[str, ...], columns: str, header: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("recall", "add", TEXT, *STORE)
    monkeypatch.setenv("COLUMNS", columns)
    assert run("recall", *command, *STORE).stdout.splitlines()[0].split() == header.split()


def test_an_id_that_is_longer_than_the_line_is_a_line_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("recall", "add", "I like tea", "--id", "x" * 200, *STORE)
    monkeypatch.setenv("COLUMNS", "60")
    assert run("recall", "list", *STORE).stdout == f"{'x' * 200}\nI like tea\n"


@pytest.mark.parametrize("command", [("search", "runner"), ("list",)])
def test_a_pipe_gets_a_line_a_memory_with_its_id_at_the_end(
    command: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    ids = [
        run("recall", "add", f"{TEXT}\nAnd \x1b[31m{number}.", "--title", "CI", *STORE).stdout.split()[-1]
        for number in range(2)
    ]
    header, *lines = run("recall", *command, *STORE).stdout.splitlines()
    assert header.split()[-2:] == ["memory", "id"]
    assert sorted(line.split()[-1] for line in lines) == sorted(ids)
    assert all(f"  CI: {TEXT} And \N{REPLACEMENT CHARACTER}[31m" in line for line in lines)


def test_a_blank_query_is_a_usage_error(run: Run) -> None:
    run("recall", "add", "I like tea", *STORE)
    for query in ("", "  "):
        result = run("recall", "search", query, *STORE)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "firsthand: QUERY is blank; say what to look for, or use `firsthand recall list` "
            "(see `firsthand recall search --help`)\n"
        )
