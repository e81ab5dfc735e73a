"""What an embedder is. A module in this folder has `create() -> Embedder`, which needs no network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(ABC):
    """Turns texts into vectors. Deterministic across processes, and safe to share between threads.

    `name` is the file's name. `id` is everything that vectors must share to be compared (name, revision, dimension);
    a store records it. `dimension` is in components. `weight` is the cosine's part in the score, against a lexical
    part of 0 to 1. `floor` is the cosine that is an answer without a common word, in a namespace of 1,000 memories;
    all the words of the query in common are worth 0.5 of it (see `ranking.is_answer`), and with less there is silence.
    """

    name: str
    id: str
    dimension: int
    weight: float
    floor: float

    def assume(self, dimension: int | None) -> None:  # noqa: B027 - most know their dimension
        """Take a store's word for the dimension of this `id`, so that nobody has to be asked for it; None: ask again.

        For an embedder that would have to ask. Any other knows better, and does nothing.
        """

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text: shape (len(texts), dimension), float32. Rows need no length of 1.

        Any text is valid; a text without anything to embed gives a zero row. A zero row is like nothing: cosine 0.
        """
