"""`firsthand recall add` from anywhere, `list`, `history`, `export`, `import`, `reindex` and `vacuum`."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from middleware.cli import firsthand
from recall_store import Record, open_store
from recall_store.embedders.hash import HashEmbedder
from tests.recall_store.planted import PLANTED

from .conftest import Run

STORE = ("--store", "sqlite:///m.db", "--namespace", "ada")
KEY = "AKIAIOSFODNN7EXAMPLE"
Pipe = Callable[..., Result]


@pytest.fixture
def pipe() -> Pipe:
    """Run a command with something on its standard input."""

    def invoke(given: str | bytes, *args: str) -> Result:
        return CliRunner().invoke(firsthand, args, input=given)

    return invoke


def planted(*records: Record, namespace: str = "ada") -> list[str]:
    with open_store("sqlite:///m.db") as store:
        return [str(record.id) for record in store.upsert(namespace=namespace, records=records)]


# --- add


@pytest.mark.parametrize("args", [(), ("-",), ("--file", "-")])
def test_text_comes_from_standard_input(args: tuple[str, ...], pipe: Pipe, run: Run) -> None:
    assert pipe("\ufeffI like\ngreen tea\n", "recall", "add", *args, *STORE).exit_code == 0
    [row] = json.loads(run("recall", "list", "--json", *STORE).stdout)
    assert row["text"] == "I like\ngreen tea"


def test_text_comes_from_a_file_with_all_that_is_said_of_it(run: Run, place: Path) -> None:
    (place / "tea.txt").write_text("I like tea\n")
    more = (
        "--title",
        "drinks",
        "--description",
        "at breakfast",
        "--type",
        "feedback",
        "--author",
        "tool",
        "--ttl",
        "30d",
    )
    assert run("recall", "add", "--file", "tea.txt", *more, *STORE).exit_code == 0
    [row] = json.loads(run("recall", "list", "--json", *STORE).stdout)
    said = {name: row[name] for name in ("text", "title", "description", "type", "author")}
    assert said == {
        "text": "I like tea",
        "title": "drinks",
        "description": "at breakfast",
        "type": "feedback",
        "author": "tool",
    }
    left = datetime.fromisoformat(row["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)


@pytest.mark.parametrize(
    ("given", "args", "said"),
    [
        ("", (), "firsthand: standard input is empty; a memory needs words\n"),
        (b"\xff\xfe", (), "firsthand: standard input is no UTF-8 text; save it as UTF-8\n"),
        ("x", ("--file", "gone.txt"), "firsthand: gone.txt: No such file or directory; check the path"),
        ("x", ("text", "--file", "gone.txt"), "firsthand: give the text once: TEXT, or --file"),
        (
            "x",
            ("text", "--ttl", "soon"),
            "firsthand: Invalid value for '--ttl': 'soon' is no time; write 90s, 15m, 12h, 30d, 8w",
        ),
        ("x", ("text", "--type", "hook"), "firsthand: Invalid value for '--type'"),
    ],
)
def test_what_is_no_text_is_one_line(given: str | bytes, args: tuple[str, ...], said: str, pipe: Pipe) -> None:
    result = pipe(given, "recall", "add", *args, *STORE)
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1


def test_no_planted_secret_is_added_and_its_value_is_in_no_output_and_no_file(run: Run, place: Path) -> None:
    for rule, value in PLANTED:
        result = run("recall", "add", "--title", "keys", f"it is {value}", *STORE)
        assert (result.exit_code, f" {rule}" in result.stderr, value in result.output) == (1, True, False)
    files = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    assert [rule for rule, value in PLANTED if value.encode() in files] == []


def test_what_nearly_says_the_same_is_told(run: Run) -> None:
    run("recall", "add", "PocketBase runs on port 8090", *STORE)
    result = run("recall", "add", "PocketBase backend runs on port 8090", *STORE)
    assert result.stdout.startswith("Added in ada: ")
    assert "of the words): " in result.stderr
    assert result.stderr.endswith(": PocketBase runs on port 8090\n")
    told = json.loads(run("recall", "add", "PocketBase runs on port 8091", "--json", *STORE).stdout)
    assert told["status"] == "added"
    assert sorted(pair["text"] for pair in told["similar"]) == [
        "PocketBase backend runs on port 8090",
        "PocketBase runs on port 8090",
    ]


def test_a_memory_takes_the_place_of_another_and_the_old_one_is_history(run: Run) -> None:
    id = run("recall", "add", "I have 5 cats", *STORE).stdout.split()[-1]
    assert run("recall", "add", "I have 6 cats", "--id", id, *STORE).stdout == f"Updated in ada: {id}\n"
    assert run("recall", "add", "I have 6 cats", "--id", id, *STORE).stdout == f"Already there in ada: {id}\n"
    events = json.loads(run("recall", "history", id, "--json", *STORE).stdout)
    assert [(event["event"], event["memory"]["text"]) for event in events] == [
        ("added", "I have 5 cats"),
        ("updated", "I have 6 cats"),
    ]
    shown = run("recall", "history", id, *STORE).stdout
    assert "added" in shown
    assert "I have 5 cats" in shown
    run("recall", "forget", "--id", id, "--yes", *STORE)
    assert "I have 5 cats" not in run("recall", "history", id, *STORE).stdout


# --- search and list


def test_a_search_shows_scores_age_and_author(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    planted(Record(text="argus has 64 GB", author="assistant", created_at=datetime.now(UTC) - timedelta(days=3)))
    header, row = run("recall", "search", "argus", *STORE).stdout.splitlines()[:2]
    assert header.split() == ["score", "lexical", "cosine", "age", "author", "memory", "id"]
    assert "1.00" in row
    assert "3 days ago" in row
    assert "assistant" in row
    assert "argus has 64 GB" in row


def test_filters_keep_what_they_name(run: Run) -> None:
    old = datetime(2026, 1, 5, 12, tzinfo=UTC)
    planted(
        Record(text="harbour one", type="project", created_at=old),
        Record(text="harbour two", author="tool", created_at=old + timedelta(days=30)),
    )

    def texts(*args: str) -> list[str]:
        found = [
            json.loads(run("recall", *verb, *args, "--json", *STORE).stdout)
            for verb in (("search", "harbour"), ("list",))
        ]
        assert [row["text"] for row in found[0]] == [row["text"] for row in found[1]]
        return [row["text"] for row in found[0]]

    assert texts("--type", "project") == ["harbour one"]
    assert texts("--author", "tool", "--author", "import") == ["harbour two"]
    assert texts("--before", "2026-01-20") == ["harbour one"]
    assert texts("--after", "2026-01-20", "--type", "user") == ["harbour two"]
    assert texts("--after", "2027-01-01") == []


def test_a_list_is_newest_first_and_pages(run: Run) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    planted(*(Record(text=f"note {n}", created_at=start + timedelta(days=n)) for n in range(5)))
    result = run("recall", "list", "--limit", "2", *STORE)
    assert [line.split()[-2] for line in result.stdout.splitlines()[1:]] == ["4", "3"]
    assert result.stderr == "There are more: --offset 2\n"
    last = run("recall", "list", "--limit", "2", "--offset", "4", "--json", *STORE)
    assert [row["text"] for row in json.loads(last.stdout)] == ["note 0"]


def test_nothing_is_an_answer_too(run: Run) -> None:
    planted(Record(text="note"))
    result = run("recall", "list", "--type", "project", *STORE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "Nothing of that kind is remembered of ada.\n"
    result = run("recall", "history", "nobody", *STORE)
    assert result.exit_code == 1
    assert result.stderr == "firsthand: ada never had a memory of that id; `firsthand recall list` prints ids\n"


@pytest.mark.parametrize("command", [("list",), ("history", "x"), ("export",), ("reindex",), ("vacuum",)])
def test_a_store_that_is_not_there_is_not_made(command: tuple[str, ...], run: Run, place: Path) -> None:
    args = STORE[:2] if command[0] in ("reindex", "vacuum") else STORE
    result = run("recall", *command, *args)
    assert result.exit_code == 1
    assert result.stderr.startswith("firsthand: m.db: no such store")
    assert list(place.iterdir()) == []


def test_terminal_escapes_are_obeyed_nowhere(run: Run) -> None:
    [id] = planted(Record(text="tea \x1b[31mred\x1b[0m", title="\x1b]0;x\x07"))
    planted(Record(text="tea \x1b[31mred\x1b[0m again", title="\x1b]0;x\x07"))
    outputs = [
        run("recall", "list", *STORE),
        run("recall", "history", id, *STORE),
        run("recall", "add", "tea red once", *STORE),
    ]
    assert not any("\x1b" in result.output or "\x07" in result.output for result in outputs)


# --- export and import


@pytest.mark.parametrize("form", ["jsonl", "md"])
def test_what_is_exported_is_imported(form: str, run: Run, place: Path) -> None:
    planted(Record(text="I like tea", title="drinks"), Record(text="用户喜欢绿茶", type="feedback"))
    out = "all.jsonl" if form == "jsonl" else "memories"
    result = run("recall", "export", "-f", form, "-o", out, *STORE)
    assert (result.stdout, result.stderr) == ("", f"Wrote 2 memories of ada to {out}\n")
    to_bob = ("--store", "sqlite:///m.db", "--namespace", "bob")
    assert run("recall", "import", out, *to_bob).stdout == "Imported 2 memories into bob\n"
    again = run("recall", "import", out, "--json", *to_bob)
    assert json.loads(again.stdout) == {"imported": 2, "added": 0, "replaced": 0}
    rows = [json.loads(run("recall", "list", "--json", *args).stdout) for args in (STORE, to_bob)]
    assert sorted(rows[0], key=str) == sorted(rows[1], key=str)


def test_lines_go_through_a_pipe(run: Run, pipe: Pipe) -> None:
    planted(Record(text="I like tea"), Record(text="用户喜欢绿茶"))
    lines = run("recall", "export", *STORE).stdout
    assert len(lines.splitlines()) == 2
    result = pipe(lines, "recall", "import", "-", "--store", "sqlite:///n.db", "-n", "bob")
    assert result.stdout == "Imported 2 memories into bob\n"


def test_an_export_is_private_and_writes_over_nothing(run: Run, place: Path) -> None:
    planted(Record(text="I like tea"))
    assert run("recall", "export", "-o", "all.jsonl", *STORE).exit_code == 0
    assert stat.S_IMODE((place / "all.jsonl").stat().st_mode) == 0o600
    for args in (("-o", "all.jsonl"), ("-f", "md", "-o", "all.jsonl"), ("-f", "md", "-o", ".")):
        result = run("recall", "export", *args, *STORE)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert "is there already" in result.stderr
    assert run("recall", "export", "-o", "all.jsonl", "--force", *STORE).exit_code == 0
    assert run("recall", "export", "-f", "md", *STORE).exit_code == 2
    assert run("recall", "export", "-f", "md", "-o", "x", "--force", *STORE).exit_code == 2


def test_every_file_that_is_no_memory_is_named_and_nothing_is_imported(run: Run, place: Path) -> None:
    (place / "good.jsonl").write_text('{"text": "I like tea"}\n')
    (place / "bad.jsonl").write_text('{"text": "I like tea"}\n\n{"words": 1}\n')
    (place / "notes").mkdir()
    (place / "notes" / "a.md").write_text("---\nname: x\ntype: user\n---\n\nI like tea\n")
    (place / "notes" / "b.md").write_text("---\nname: x\ntype: mood\n---\n\nI like tea\n")
    (place / "notes" / "c.md").write_text(f"---\ntype: user\n---\n\nthe key is {KEY}\n")
    result = run("recall", "import", "good.jsonl", "bad.jsonl", "notes", "gone.jsonl", *STORE)
    assert (result.exit_code, result.stdout) == (1, "")
    told = result.stderr.splitlines()
    assert [line.partition(": ")[2].split(";")[0][:40] for line in told[:3]] == [
        "bad.jsonl: line 3: not a memory as JSON",
        "notes/b.md: line 3: type is none of feed",
        "notes/c.md: record field 'text' holds a "[:40],
    ]
    assert told[3].startswith("firsthand: gone.jsonl: No such file")
    assert told[4] == "firsthand: nothing was imported; correct or leave out what is named above"
    assert KEY not in result.output
    assert not (place / "m.db").exists()


@pytest.mark.parametrize("zone", ["UTC-9", "UTC+5"])
def test_the_first_and_the_last_day_there_are_can_be_asked_for_in_any_time_zone(
    zone: str, run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        first, last = "0001-01-01T00:00:00", "9999-12-31T23:59:59"
        (place / "far.jsonl").write_text(
            "".join(
                f'{{"id": "{id}", "text": "words", "title": "{id}", "created_at": "{at}+00:00",'
                f' "history": [{{"event": "added", "at": "{at}+00:00"}}]}}\n'
                for id, at in (("first", first), ("last", last))
            )
        )
        assert run("recall", "import", "far.jsonl", *STORE).exit_code == 0
        for words in (("history", "first"), ("history", "last"), ("list", "--after", first, "--before", last)):
            result = run("recall", *words, *STORE)
            assert (result.exit_code, result.stderr) == (0, "")
        (place / "a.md").write_text(f"---\nname: a\ntype: user\ncreated_at: {first}\n---\n\nold\n")
        result = run("recall", "import", "a.md", *STORE)
        assert "unexpected" not in result.stderr
    finally:
        monkeypatch.undo()
        time.tzset()


def test_every_line_that_is_no_memory_is_named_at_once(run: Run, place: Path) -> None:
    (place / "bad.jsonl").write_text(
        '{"text": "I like tea"}\n[]\n{"text": " "}\n' + f'{{"text": "{KEY}"}}\n' + '{"text": "I like coffee"}\n'
    )
    result = run("recall", "import", "bad.jsonl", *STORE)
    told = result.stderr.splitlines()
    assert (result.exit_code, [line.split(": ")[2] for line in told[:-1]]) == (1, ["line 2", "line 3", "line 4"])
    assert KEY not in result.output


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("gone", 1, "gone: no such file; check its name"), ("x.txt", 1, "x.txt: neither .jsonl nor .md; say what it is")],
)
def test_what_cannot_be_told_by_its_name_is_asked_about(name: str, code: int, said: str, run: Run, place: Path) -> None:
    (place / "x.txt").write_text("x")
    result = run("recall", "import", name, *STORE)
    assert (result.exit_code, result.stderr.startswith(f"firsthand: {said}")) == (code, True)


def test_an_empty_folder_is_nothing_to_import(run: Run, place: Path) -> None:
    (place / "notes").mkdir()
    result = run("recall", "import", "notes", *STORE)
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: there is no memory in what was named; nothing was imported\n",
    )


def test_a_file_without_an_end_is_named_and_not_read_to_it(run: Run) -> None:
    added = run("recall", "add", "--file", "/dev/zero", *STORE)
    assert (added.exit_code, added.stderr) == (
        1,
        "firsthand: /dev/zero is over 8 MiB, which is no memory; store a part of it\n",
    )
    result = run("recall", "import", "/dev/zero", "-f", "jsonl", *STORE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "firsthand: /dev/zero: line 1: over 64 MiB, which is no memory",
        "firsthand: nothing was imported; correct or leave out what is named above",
    ]


def test_a_link_out_of_the_folder_is_left_out_and_said(run: Run, place: Path) -> None:
    (place / "notes").mkdir()
    (place / "notes" / "a.md").write_text("---\ntype: user\n---\nI like tea\n")
    (place / "diary.md").write_text("---\ntype: user\n---\nmy diary\n")
    (place / "notes" / "diary.md").symlink_to("../diary.md")
    result = run("recall", "import", "notes", *STORE)
    assert (result.exit_code, result.stdout) == (0, "Imported 1 memory into ada\n")
    assert result.stderr == (
        "firsthand: notes/diary.md: a link out of notes, left out; import what it leads to by its own name\n"
    )
    assert "diary" not in run("recall", "list", *STORE).stdout


# --- reindex and vacuum


class Other(HashEmbedder):
    name = "other"
    id = "other/1"


def test_a_store_is_embedded_again(run: Run) -> None:
    with open_store("sqlite:///m.db", embedder=Other()) as store:
        store.upsert(namespace="ada", records=[Record(text="I like tea"), Record(text="argus has 64 GB")])
    broken = run("recall", "search", "tea", *STORE)
    assert broken.exit_code == 1
    result = run("recall", "reindex", "--embedder", "hash", *STORE[:2])
    assert (result.exit_code, result.stdout) == (0, "Embedded 2 memories again.\n")
    assert "I like tea" in run("recall", "search", "tea", *STORE).stdout


def test_an_embedder_that_is_not_known_is_one_line(run: Run) -> None:
    planted(Record(text="I like tea"))
    result = run("recall", "reindex", "--embedder", "nope", *STORE[:2])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_a_vacuum_removes_what_expired_and_says_what_it_freed(run: Run, place: Path) -> None:
    old = datetime.now(UTC) - timedelta(days=1)
    planted(*(Record(text=f"oolong {n} " + "x" * 500, expires_at=old) for n in range(500)), Record(text="sencha"))
    result = run("recall", "vacuum", *STORE[:2])
    assert result.exit_code == 0
    words = result.stdout.split()
    before, after = (int(words[at].replace(",", "")) for at in (1, 4))
    assert after < before
    files = [path for path in place.rglob("*") if path.is_file()]
    assert not any(b"oolong" in path.read_bytes() for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
