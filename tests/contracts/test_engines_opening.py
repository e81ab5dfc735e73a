"""What every engine promises of opening: an embedder for new stores changes no old one, and a reader makes no store."""

from __future__ import annotations

import pytest

from recall_store import EmbedderMismatchError, OpenError, UrlError, open_store
from tests.contracts.every_engine import add, found
from tests.recall_store.fakes import LetterEmbedder


def test_an_embedder_for_new_stores_is_recorded_in_a_new_one(url: str) -> None:
    with open_store(url, embedder_if_new="wordllama") as store:
        assert store.embedder == "wordllama"
        add(store, "probe alpha")
    with open_store(url, embedder="wordllama") as store:
        assert found(store, "probe") == ["probe alpha"]


def test_an_embedder_for_new_stores_changes_no_old_one(url: str) -> None:
    with open_store(url) as store:
        assert store.embedder == "hash"
        add(store, "probe alpha")
    for asked in ("wordllama", "minilm"):
        with open_store(url, embedder_if_new=asked) as store:
            assert store.embedder == "hash"
            assert found(store, "probe") == ["probe alpha"]


def test_an_embedder_that_is_asked_for_goes_before_one_for_new_stores(url: str) -> None:
    with open_store(url, "hash", embedder_if_new="wordllama") as store:
        assert store.embedder == "hash"


def test_another_embedder_than_the_store_has_is_an_error_that_names_the_command(url: str) -> None:
    with open_store(url, LetterEmbedder()):
        pass
    with pytest.raises(EmbedderMismatchError) as raised:
        open_store(url, "hash")
    assert "; open it with that one, or run `firsthand recall reindex --embedder hash`" in str(raised.value)
    with open_store(url) as store:
        store.reindex(embedder="hash")
        assert store.embedder == "hash"


@pytest.mark.parametrize("way", ["embedder", "embedder_if_new"])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("wordlama", "did you mean wordllama? There are hash, minilm, openai, wordllama"),
        ("zzz", "use one of hash, minilm, openai, wordllama"),
    ],
)
def test_an_embedder_that_is_nobodys_is_an_error_of_a_new_and_of_an_old_store(
    url: str, way: str, name: str, hint: str
) -> None:
    for _ in range(2):
        with pytest.raises(UrlError) as raised:
            open_store(url, **{way: name})  # type: ignore[arg-type]
        assert str(raised.value) == f"no embedder of that name; {hint}, or pass an Embedder of your own"
        with open_store(url):
            pass


def test_who_only_reads_makes_no_store(url: str) -> None:
    # A store that was emptied for a test has its tables: one that was never made is somewhere else.
    nowhere = url.replace("schema=contract", "schema=never_made").replace("memories.db", "never_made.db")
    for _ in range(2):
        with pytest.raises(OpenError, match=r"no such store.* or make it with `firsthand recall add`"):
            open_store(nowhere, make=False)
    with open_store(url):
        pass
    with open_store(url, make=False) as store:
        assert store.list(namespace="alice") == []
