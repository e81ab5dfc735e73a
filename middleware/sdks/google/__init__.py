"""Google GenAI SDK 3: `models.generate_content`, its stream, and chats, sync and async; the rest passes through.

The Live API, batches, interactions, embeddings, images and videos are not watched.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from ..base import Adapter, Endpoint, Seam
from .content import GenerateContent

__all__ = ["ADAPTER"]

_PATHS: Final = ("generate_content", "generate_content_stream")


class _Google:
    name = "google"
    quieted: tuple[str, ...] = ()

    def accepts(self, client: object) -> bool:
        models = client.__dict__.get("_models")
        return "_api_client" in client.__dict__ and hasattr(models, "_generate_content_with_continuation")

    def is_async(self, client: object) -> bool:
        return not hasattr(client, "aio")

    def endpoint(self, path: str) -> Endpoint | None:
        return GenerateContent() if path in _PATHS else None

    def destination(self, client: object) -> tuple[str, str | None, int | None]:
        known = client.__dict__.get("_firsthand_destination")
        if known is None:
            known = client.__dict__["_firsthand_destination"] = _destination(client)
        found: tuple[str, str | None, int | None] = known
        return found

    def sibling_options(self, client: object) -> dict[str, Any]:
        return {}

    def headers(self, client: object) -> dict[str, str]:
        return {}

    def sibling(self, client: Any, seam: Seam) -> Any:
        from .client import sibling

        return sibling(client, seam)


ADAPTER: Final[Adapter] = _Google()


def _destination(client: Any) -> tuple[str, str | None, int | None]:
    api = client._api_client
    url = urlsplit(str(api._http_options.base_url or ""))
    port = url.port or {"https": 443, "http": 80}.get(url.scheme)
    return "gcp.vertex_ai" if api.vertexai else "gcp.gemini", url.hostname, port
