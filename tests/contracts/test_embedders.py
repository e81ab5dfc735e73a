"""What every file in `recall_store/embedders` promises. A new file is tested by existing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from recall_store import EmbedderError, UrlError, embedders
from recall_store.embedders import load
from recall_store.embedders.base import Embedder
from tests.recall_store.embedding_server import EmbeddingServer

NAMES = embedders.names()
ODD = ["", " ", "?!", "\x00", "\ud800", "名", "🎉", "a", "the", "word " * 5000, "x" * 100_000]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(params=NAMES)
def embedder(request: pytest.FixtureRequest, endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "any-word")
    try:
        return load(request.param)
    except EmbedderError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


def test_it_has_the_name_of_its_file_and_an_id_that_holds_it(embedder: Embedder) -> None:
    assert embedder.name in NAMES
    assert embedder.name in embedder.id


def test_it_gives_one_float32_row_a_text(embedder: Embedder) -> None:
    vectors = embedder.embed(["one", "two words", "three more words"])
    assert (vectors.shape, vectors.dtype) == ((3, embedder.dimension), np.float32)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_any_text_gives_finite_numbers(embedder: Embedder) -> None:
    assert np.isfinite(embedder.embed(ODD)).all()


def test_a_text_gives_the_same_row_alone_and_among_others(embedder: Embedder) -> None:
    alone, among = (
        embedder.embed(["the boat is green"])[0],
        embedder.embed(["x", "the boat is green", "longer " * 9])[1],
    )
    assert np.allclose(alone, among, atol=1e-5)


def test_another_process_gives_the_same_row(embedder: Embedder) -> None:
    script = (
        "from recall_store.embedders import load\n"
        f"print(load({embedder.name!r}).embed(['the boat is green, 船は緑'])[0].tobytes().hex())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert runs == {embedder.embed(["the boat is green, 船は緑"])[0].tobytes().hex()}


def test_a_text_is_nearer_to_its_paraphrase_than_to_another(embedder: Embedder) -> None:
    vectors = embedder.embed(["deployment of the server", "deploying servers", "a recipe for chocolate cake"])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_signs_of_components_are_balanced(embedder: Embedder) -> None:
    vectors = embedder.embed([f"sentence {i} about topic {i * 7} and place {i * 13}" for i in range(200)])
    assert 0.4 < float((vectors > 0).mean()) < 0.6


def test_weight_and_floor_are_cosine_sized(embedder: Embedder) -> None:
    assert 0 <= embedder.weight <= 3
    assert 0 < embedder.floor < 1


@pytest.mark.parametrize("name", ["", "base", "nothing", "../hash", "hash.py", "os.path", "__init__"])
def test_a_name_without_a_file_is_refused(name: str) -> None:
    with pytest.raises(UrlError):
        load(name)
