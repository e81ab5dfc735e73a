"""Engines, one file a URL scheme. The file's name is the scheme; a new file needs no list."""

from __future__ import annotations

import importlib
import pkgutil

from .. import embedders
from ..arguments import check_embedder
from ..base import Store
from ..embedders.base import Embedder
from ..errors import StoreError, UrlError

_EXAMPLES = (
    "sqlite:///relative.db, sqlite:////absolute/path.db or postgresql://user:password@host/database?schema=firsthand"
)

_ALIASES = {"postgres": "postgresql"}


def names() -> list[str]:
    """The URL schemes there are, sorted. One may need a package that is not installed."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__))


def connect(url: str, embedder: str | Embedder | None, if_new: str | None = None, *, make: bool = True) -> Store:
    """The store at `url`. Raises UrlError for a scheme without a file, and what that file's `connect` raises."""
    scheme, separator, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    scheme = _ALIASES.get(scheme, scheme)
    if not separator:
        raise UrlError(f"the store URL has no scheme; write {_EXAMPLES}")
    if scheme not in names():
        raise UrlError(f"the store URL has an unknown scheme; write {_EXAMPLES}")
    try:
        module = importlib.import_module(f"{__name__}.{scheme}")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        raise StoreError(
            f"the {scheme} engine needs the package {package}; run: pip install 'firsthand[{scheme}]'"
        ) from None
    if if_new is not None:
        # Also of an old store: a name that is nobody's is a mistake, whatever it is for.
        embedders.check_name(if_new)
    opened: Store = module.connect(url, check_embedder(embedder), if_new, make=make)
    return opened
