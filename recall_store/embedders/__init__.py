"""Embedders, one file each. The file's name is the name in settings and in the store; a new file needs no list."""

from __future__ import annotations

import importlib
import importlib.util

from ..errors import EmbedderError, UrlError
from .base import Embedder

DEFAULT = "hash"


def load(name: str) -> Embedder:
    """The embedder of the file `name`. Raises UrlError for a name without a file, EmbedderError if it cannot start."""
    known = name.isidentifier() and name != "base" and importlib.util.find_spec(f"{__name__}.{name}") is not None
    if not known:
        raise UrlError("no embedder of that name in recall_store.embedders; use 'hash' or pass an Embedder")
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except ImportError as error:
        raise EmbedderError(f"embedder {name!r} needs the package {error.name!r}; install it") from None
    made: Embedder = module.create()
    return made
