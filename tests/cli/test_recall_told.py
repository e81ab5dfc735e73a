"""What the commands of `firsthand recall` say when something is not as it was meant."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.recall_store.postgres import server

from .conftest import Run

STORE = ("--store", "sqlite:///m.db", "--namespace", "ada")


@pytest.mark.parametrize("form", ["jsonl", "md"])
def test_an_export_makes_no_folder_around_it(form: str, run: Run, place: Path) -> None:
    run("recall", "add", "I like tea", *STORE)
    result = run("recall", "export", "-f", form, "-o", "missing/out", *STORE)
    assert (result.exit_code, result.stderr) == (
        1,
        "firsthand: missing: no such folder; make it first, or name another with --out\n",
    )
    assert not (place / "missing").exists()


def test_an_import_tells_new_from_replaced_from_what_was_there(run: Run, place: Path) -> None:
    lines = [{"id": f"m{number}", "text": f"note {number}"} for number in range(6)]
    file = place / "in.jsonl"
    for changed, said in (
        ({}, "Imported 6 memories into ada\n"),
        ({}, "Imported 6 memories into ada: 0 new, 6 were there already\n"),
        ({"text": "another"}, "Imported 6 memories into ada: 0 new, 1 replaced, 5 were there already\n"),
        ({"id": "m9"}, "Imported 6 memories into ada: 1 new, 5 were there already\n"),
    ):
        file.write_text("\n".join(json.dumps(line) for line in [{**lines[0], **changed}, *lines[1:]]))
        assert run("recall", "import", "in.jsonl", *STORE).stdout == said
        lines[0] |= changed


def test_a_frontmatter_that_is_no_yaml_is_named_with_the_line(run: Run, place: Path) -> None:
    (place / "a.md").write_text("---\nname: x\nmetadata:\n  a: 1\n  b: [2\ntype: user\n---\nbody\n")
    (place / "b.md").write_text("---\nname: x\n: y\ntype: user\n---\nbody\n")
    no_key = "no YAML: no `key: value`; correct it, or close the frontmatter with --- before it"
    result = run("recall", "import", "a.md", "b.md", *STORE)
    assert (result.exit_code, result.stderr.splitlines()) == (
        1,
        [
            "firsthand: a.md: line 5: metadata is no YAML; correct it",
            f"firsthand: b.md: line 3: {no_key}",
            "firsthand: nothing was imported; correct or leave out what is named above",
        ],
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_that_is_not_of_this_machine_names_the_option(host: str, run: Run) -> None:
    result = run("recall", "serve", "--http", "--host", host, *STORE)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"firsthand: {host} is no address of this machine (")
    assert last.endswith("); name another with --host")
    assert "while attempting" not in last


@pytest.mark.parametrize(
    ("ttl", "delta"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("1.5min", timedelta(seconds=90)),
        ("12h", timedelta(hours=12)),
    ],
)
def test_a_time_to_live_may_be_seconds_and_minutes(ttl: str, delta: timedelta, run: Run) -> None:
    run("recall", "add", "the build is red", "--ttl", ttl, *STORE)
    [row] = json.loads(run("recall", "list", "--json", *STORE).stdout)
    kept = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert abs(kept - delta) < timedelta(seconds=60)


@pytest.mark.parametrize("ttl", ["0s", "0m", "s", "-5m", "5 x", "1e9s"])
def test_what_is_no_time_to_live_is_a_usage_error(ttl: str, run: Run) -> None:
    result = run("recall", "add", "the build is red", "--ttl", ttl, *STORE)
    assert result.exit_code == 2
    assert f"{ttl!r} is no time; write 90s, 15m, 12h, 30d, 8w or 1y" in result.stderr


def test_an_id_that_is_not_there_is_that_of_the_new_memory_and_the_help_says_so(run: Run) -> None:
    assert run("recall", "add", "I like tea", "--id", "m1", *STORE).stdout == "Added in ada: m1\n"
    assert "if there is none, a new one gets it" in " ".join(run("recall", "add", "--help").stdout.split())


@pytest.mark.parametrize(
    ("command", "near"), [(("recal",), "recall"), (("recall", "serch"), "search"), (("transkript",), "transcript")]
)
def test_a_command_that_is_not_there_names_the_nearest(command: tuple[str, ...], near: str, run: Run) -> None:
    result = run(*command)
    assert result.exit_code == 2
    assert f"No such command {command[-1]!r}. Did you mean {near!r}? (see `" in result.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("?scheam=x", "the store URL has the unknown parameter scheam; did you mean schema?"),
        ("?schema=x&sslmod=y", "the store URL has the unknown parameter sslmod; did you mean sslmode?"),
        ("?zzzz=y", "the store URL has the unknown parameter zzzz; known are schema and the parameters of libpq"),
    ],
)
def test_a_parameter_of_the_url_that_is_not_known_is_named(url: str, said: str, run: Run) -> None:
    result = run("recall", "list", "-n", "ada", "--store", f"postgresql://u:hunter2@localhost/d{url}")
    assert (result.exit_code, result.stderr) == (2, f"firsthand: {said}\n")


def test_a_question_mark_in_a_password_begins_no_parameters(run: Run) -> None:
    url = server().empty("cli_told").replace("hunter2", "hun?ter=2")
    assert "hun?ter=2@" in url
    assert run("recall", "add", "I like tea", "--store", url, "-n", "ada").exit_code == 0
    assert "I like tea" in run("recall", "list", "--store", url, "-n", "ada").stdout
    with server().connect("cli_told") as db:
        assert db.execute("SELECT count(*) FROM memories").fetchone() == (1,)
