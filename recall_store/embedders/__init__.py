"""Embedders, one file each. The file's name is the name in settings and in the store; a new file needs no list."""

from __future__ import annotations

import importlib
import pkgutil

from ..errors import EmbedderError, UrlError
from .base import Embedder

DEFAULT = "hash"


def names() -> list[str]:
    """The names of the embedders there are, sorted. One may need a package that is not installed."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if info.name != "base")


def load(name: str) -> Embedder:
    """The embedder of the file `name`. Raises UrlError for a name without a file, EmbedderError if it cannot start."""
    if name not in names():
        raise UrlError(f"no embedder of that name; use one of {', '.join(names())}, or pass an Embedder of your own")
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise EmbedderError(f"embedder {name!r} needs the package {package}; run: pip install {package}") from None
    made: Embedder = module.create()
    return made
