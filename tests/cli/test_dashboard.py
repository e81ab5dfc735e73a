"""`firsthand dashboard` on the command line: what it refuses, in one line; `tests/e2e/test_dashboard.py` runs it."""

import sqlite3
import sys

import pytest
from click.testing import CliRunner

from middleware.cli import firsthand

LONG_AGO = 1_500_000_000


def run(*arguments, env=None):
    return CliRunner().invoke(firsthand, ["dashboard", *arguments], env=env)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--keep", "3x"], 2, "'3x' is no time to keep for; write it as 12h, 30d, 8w or 1y"),
        (["--keep", "0d"], 2, "'0d' is no time to keep for; write it as 12h, 30d, 8w or 1y"),
        (["--port", "70000"], 2, "70000 is not in the range 0<=x<=65535"),
        (
            ["--port", "0", "--transcripts", "text.db"],
            1,
            "transcripts text.db is no folder; name one with --transcripts",
        ),
        (
            ["--port", "0", "--transcripts", "none/t"],
            1,
            "transcripts none/t: there is no folder none; make it, or name another folder",
        ),
        (["--port", "0", "--prices", "none.toml"], 1, "prices none.toml: No such file or directory; name a TOML file"),
        (["--port", "0", "--db", "none/x.db"], 1, "none/x.db: No such file or directory; name another with --db"),
        (["--vacuum", "--db", "none.db"], 1, "none.db: there is no such file; name one with --db"),
        (["--vacuum", "--db", "text.db"], 1, "text.db is no SQLite file, or damaged; name another with --db"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path, arguments, code, line):
    (tmp_path / "text.db").write_text("no database " * 1000)
    done = run(*arguments, "--db", "board.db") if "--db" not in arguments else run(*arguments)
    assert done.exit_code == code
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    for name in [name for name in sys.modules if name.startswith("dashboards.local.server")]:
        monkeypatch.delitem(sys.modules, name)
    done = run("--db", "board.db", "--port", "0")
    assert (done.exit_code, done.stderr) == (
        1, "firsthand: the dashboard needs the package starlette; run: pip install 'firsthand[dashboard]'\n",
    )  # fmt: skip


def test_vacuum_forgets_and_says_how_much(tmp_path):
    from dashboards.local.ingest import Ingest

    from ..dashboards.local.sending import Trace

    ingest = Ingest(tmp_path / "board.db")
    ingest.receive("traces", Trace().turn(1, at=LONG_AGO).body)[1].result(60)
    ingest.close()
    done = run("--vacuum", "--db", "board.db")
    assert (done.exit_code, done.stdout) == (0, "board.db: 0 rows forgotten, 0 bytes given back\n")
    done = run("--vacuum", "--db", "board.db", "--keep", "1h")
    assert done.exit_code == 0
    with sqlite3.connect(tmp_path / "board.db") as made:
        assert made.execute("SELECT count(*) FROM spans").fetchone() == (0,)
    made.close()


def test_vacuum_leaves_the_file_of_a_running_dashboard_as_it_is(tmp_path):
    from dashboards.local.ingest import Ingest

    from ..dashboards.local.sending import Trace

    ingest = Ingest(tmp_path / "board.db")
    ingest.receive("traces", Trace().turn(1, at=LONG_AGO).body)[1].result(60)
    done = run("--vacuum", "--db", "board.db", "--keep", "1h")
    assert done.exit_code == 1
    assert done.stderr == (
        "firsthand: board.db is a running dashboard's; end that one first, or start it with --keep: it then forgets by "
        "itself\n"
    )
    ingest.close()
    with sqlite3.connect(tmp_path / "board.db") as made:
        assert made.execute("SELECT count(*) FROM spans").fetchone() == (1,)
    made.close()
    done = run("--vacuum", "--db", "board.db", "--keep", "1h")
    assert (done.exit_code, done.stdout[:10]) == (0, "board.db: ")


def test_the_usual_place_is_private(tmp_path):
    done = run("--port", "0", "--transcripts", "none/t", env={"XDG_DATA_HOME": str(tmp_path / "data")})
    assert done.exit_code == 1
    folder = tmp_path / "data" / "firsthand"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_help_names_every_option():
    said = run("--help").stdout
    for name in ("--port", "--transcripts", "--db", "--keep", "--prices", "--open", "--vacuum", "--json"):
        assert name in said
