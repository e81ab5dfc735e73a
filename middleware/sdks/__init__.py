"""One file an SDK: tables and pure functions that read its requests and replies and write our parts into them.

`adapter_for(client)` imports the file of the client's SDK; nothing here imports an SDK.
"""

from __future__ import annotations

import importlib

from ..errors import UnsupportedClient
from .base import Adapter, AsksUsage, Collector, Endpoint, Placement, Seam
from .logs import eliding
from .reading import materialised
from .siblings import observed

__all__ = [
    "Adapter",
    "AsksUsage",
    "Collector",
    "Endpoint",
    "Placement",
    "Seam",
    "adapter_for",
    "eliding",
    "materialised",
    "observed",
]

_SDKS = ("openai", "anthropic", "google")


def adapter_for(client: object) -> Adapter:
    """Return the adapter of a client by the package that its class, or a base of it, comes from.

    Raises `UnsupportedClient` for anything else.
    """
    for base in type(client).__mro__:
        package = base.__module__.partition(".")[0]
        if package in _SDKS:
            adapter: Adapter = importlib.import_module(f"{__name__}.{package}").ADAPTER
            if adapter.accepts(client):
                return adapter
    raise UnsupportedClient(
        f"wrap() got {type(client).__module__}.{type(client).__qualname__}, which is no client of "
        f"{', '.join(_SDKS[:-1])} or {_SDKS[-1]}; pass an instance such as OpenAI() or AsyncAnthropic()"
    )
