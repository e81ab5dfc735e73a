"""Which store the commands of `firsthand recall` open, and with which embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from middleware import Middleware, Settings
from recall_store import open_store
from tests.recall_store.fakes import LetterEmbedder
from tests.recall_store.postgres import server
from tests.recall_store.using_postgres import sql

from .conftest import Run

STORE = ("--store", "sqlite:///m.db", "--namespace", "ada")
KEPT = (
    "firsthand: the store keeps its embedder hash: wordllama is set for new ones; to change it, "
    "run `firsthand recall reindex --embedder wordllama`\n"
)


def test_the_setting_embedder_is_of_new_stores_and_an_old_one_says_once_that_it_keeps_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("recall", "add", "I like tea", *STORE)
    monkeypatch.setenv("FIRSTHAND_EMBEDDER", "wordllama")
    for command in (("search", "tea"), ("list",), ("add", "brontes runs"), ("export",), ("vacuum",)):
        result = run("recall", *command, *(STORE[:2] if command == ("vacuum",) else STORE))
        assert (result.exit_code, result.stderr) == (0, KEPT)
    run("recall", "add", "I like tea", "--store", "sqlite:///new.db", "-n", "ada")
    with open_store("sqlite:///new.db") as store:
        assert store.embedder == "wordllama"


def test_a_setting_that_names_no_embedder_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("recall", "add", "I like tea", *STORE)
    monkeypatch.setenv("FIRSTHAND_EMBEDDER", "wordlama")
    result = run("recall", "list", *STORE)
    assert result.exit_code == 2
    assert result.stderr == (
        "firsthand: no embedder of that name; did you mean wordllama? "
        "There are hash, minilm, openai, wordllama, or pass an Embedder of your own\n"
    )


def test_an_import_names_the_embedder_of_a_new_store_and_an_export_says_which(run: Run, place: Path) -> None:
    (place / "in.jsonl").write_text('{"text": "I like tea"}\n')
    assert run("recall", "import", "in.jsonl", "--embedder", "wordllama", *STORE).exit_code == 0
    result = run("recall", "export", "-o", "out.jsonl", *STORE)
    assert result.stderr.splitlines()[0] == (
        "The store's embedder is wordllama: into a new store, import with --embedder wordllama"
    )
    result = run("recall", "import", "out.jsonl", "--embedder", "hash", *STORE)
    assert result.exit_code == 1
    assert "open it with that one, or run `firsthand recall reindex --embedder hash`" in result.stderr
    assert run("recall", "import", "out.jsonl", "--embedder", "wordllama", *STORE).exit_code == 0


def test_an_export_of_hash_and_of_an_embedder_of_ones_own_says_nothing(run: Run) -> None:
    for embedder in ("hash", LetterEmbedder()):
        with open_store(f"sqlite:///{getattr(embedder, 'name', embedder)}.db", embedder):
            pass
        result = run("recall", "export", "-n", "ada", "--store", f"sqlite:///{getattr(embedder, 'name', embedder)}.db")
        assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", [("search", "tea"), ("list",), ("history", "x"), ("export",), ("forget", "tea", "--yes")]
)
def test_a_mistyped_schema_makes_no_tables(command: tuple[str, ...], run: Run) -> None:
    url = server().empty("cli_places")
    result = run("recall", *command, "--store", url, "-n", "ada")
    assert (result.exit_code, result.stdout) == (1, "")
    assert ": no such store in the schema cli_places; check the database and ?schema=, or make it with" in result.stderr
    assert sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'cli_places'") == [(0,)]


def test_a_middleware_says_once_that_an_old_store_keeps_its_embedder(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store("sqlite:///m.db"):
        pass
    app = Middleware(Settings(store="sqlite:///m.db", embedder="wordllama"))
    assert [record.getMessage() for record in caplog.records] == [KEPT.rstrip("\n")]
    assert app.store is not None
    app.close()


def test_postgres_is_another_name_of_postgresql(run: Run) -> None:
    url = server().empty("cli_alias").replace("postgresql://", "postgres://")
    assert run("recall", "add", "I like tea", "--store", url, "-n", "ada").exit_code == 0
    assert "I like tea" in run("recall", "list", "--store", url, "-n", "ada").stdout
