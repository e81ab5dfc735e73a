"""Any OpenAI-compatible embeddings endpoint: the hosted one, or a server of your own.

OPENAI_API_KEY, OPENAI_BASE_URL (or the SDK's other `OPENAI_*`) say where; FIRSTHAND_EMBEDDING_MODEL says which model.
A memory's text leaves the machine. The endpoint is first asked when a vector is first needed, or the dimension for a
store that is new: one that is not says it itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import EmbedderError
from ..text import clean
from .base import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from openai import OpenAI

DEFAULT_MODEL = "text-embedding-3-small"
INSTALL = "pip install 'firsthand[openai]'"
_BATCH = 128
_BATCH_CHARACTERS = 200_000
"""Both under the hosted endpoint's limits: 2,048 texts and 300,000 tokens a request."""
_MAX_CHARACTERS = 8000
"""Of one text: 8,191 tokens are the hosted models' limit, and a token is a character at least."""
_RETRIES, _SECONDS = 4, 30.0


class OpenAIEmbedder(Embedder):
    """As many dimensions as the model has. Reads the first 8,000 characters of a text.

    Retries what may pass (429, 5xx, a lost connection) with growing pauses. Raises EmbedderError, without the key, the
    texts or the server's own words, for what does not.
    """

    name = "openai"
    weight = 1.0
    floor = 0.66

    def __init__(self, model: str, client: OpenAI) -> None:
        self.model = model
        self.id = f"openai/{model}"
        self._client = client
        self._known: int | None = None
        self._mutex = threading.Lock()

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Of the model, as the store or its first answer says."""
        with self._mutex:
            if self._known is None:
                self._known = len(self._ask(["dimension"])[0])
            return self._known

    def assume(self, dimension: int | None) -> None:
        """See `Embedder.assume`."""
        with self._mutex:
            if dimension is None or self._known is None:
                self._known = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`. A blank text is a zero row, and is not sent."""
        width = self.dimension
        out = np.zeros((len(texts), width), np.float32)
        cut = [(row, clean(text[:_MAX_CHARACTERS])) for row, text in enumerate(texts) if text.strip()]
        start = 0
        while start < len(cut):
            end, size = start + 1, len(cut[start][1])
            while end < len(cut) and end - start < _BATCH and size + len(cut[end][1]) <= _BATCH_CHARACTERS:
                size += len(cut[end][1])
                end += 1
            vectors = self._ask([text for _, text in cut[start:end]])
            if any(len(vector) != width for vector in vectors):
                raise EmbedderError(f"the model {self.model} changed its number of dimensions; call reindex")
            out[[row for row, _ in cut[start:end]]] = vectors
            start = end
        return out

    def _ask(self, texts: list[str]) -> list[list[float]]:
        import openai

        try:
            answer = self._client.embeddings.create(model=self.model, input=texts, encoding_format="float")
            items: list[Any] = sorted(answer.data, key=lambda item: item.index)
            vectors = [list(map(float, item.embedding)) for item in items]
        except openai.AuthenticationError:
            raise EmbedderError("the embeddings endpoint refused the key; check OPENAI_API_KEY") from None
        except openai.NotFoundError:
            raise EmbedderError(
                f"the embeddings endpoint has no model {self.model}; set FIRSTHAND_EMBEDDING_MODEL or OPENAI_BASE_URL"
            ) from None
        except openai.APIStatusError as error:
            raise EmbedderError(
                f"the embeddings endpoint answered with status {error.status_code} for {self.model}; try again later, "
                "or set FIRSTHAND_EMBEDDING_MODEL"
            ) from None
        except openai.APITimeoutError:
            raise EmbedderError(
                f"the embeddings endpoint did not answer in {_SECONDS:.0f} s; try again later"
            ) from None
        except openai.APIConnectionError:
            raise EmbedderError("the embeddings endpoint cannot be reached; check OPENAI_BASE_URL") from None
        except (openai.OpenAIError, TypeError, ValueError, AttributeError):
            raise EmbedderError("the embeddings endpoint answered with something else than embeddings") from None
        if len(vectors) != len(texts) or not vectors[0]:
            raise EmbedderError(f"the embeddings endpoint answered with {len(vectors)} vectors for {len(texts)} texts")
        return vectors


def create() -> Embedder:
    """A new `OpenAIEmbedder` from the environment. Raises EmbedderError without the SDK or a key."""
    try:
        import openai
    except ImportError:
        raise EmbedderError(f"this embedder needs the package openai; run: {INSTALL}") from None
    model = os.environ.get("FIRSTHAND_EMBEDDING_MODEL", "").strip() or DEFAULT_MODEL
    try:
        client = openai.OpenAI(max_retries=_RETRIES, timeout=_SECONDS)
    except openai.OpenAIError:
        raise EmbedderError(
            "the openai embedder has no key; set OPENAI_API_KEY (any word, if yours needs none)"
        ) from None
    return OpenAIEmbedder(model, client)
