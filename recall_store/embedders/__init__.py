"""Embedders, one file each. The file's name is the name in settings and in the store; a new file needs no list."""

from __future__ import annotations

import difflib
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
    check_name(name)
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise EmbedderError(f"embedder {name!r} needs the package {package}; run: pip install {package}") from None
    made: Embedder = module.create()
    return made


def check_name(name: str) -> None:
    """Raise UrlError for a name without a file."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, 1) if isinstance(name, str) else []
        hint = f"did you mean {near[0]}? There are" if near else "use one of"
        raise UrlError(f"no embedder of that name; {hint} {', '.join(known)}, or pass an Embedder of your own")


def how_to_change(name: str) -> str:
    """What makes a store be of the embedder `name`."""
    return f"run `firsthand recall reindex --embedder {name}`" if name in names() else "call reindex with it"


def kept(recorded: str, asked: str | None) -> str | None:
    """What to tell of an embedder that was asked for new stores where an old one keeps another; None where it does not.

    `recorded` is the store's.
    """
    if asked is None or asked == recorded:
        return None
    return f"the store keeps its embedder {recorded}: {asked} is set for new ones; to change it, {how_to_change(asked)}"
