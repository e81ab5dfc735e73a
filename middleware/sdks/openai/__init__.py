"""OpenAI SDK 3, Azure's client too: chat completions, responses and embeddings; other paths pass through.

Realtime, batches and `responses.connect` have seams of their own in the SDK and are not watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..base import Adapter, Endpoint, Seam
from ..logs import elide_texts_of
from ..siblings import destination, posting_sibling
from .chat import Chat
from .embeddings import Embeddings
from .responses import Responses

__all__ = ["ADAPTER"]

_AZURE: Final = (".openai.azure.com", ".openai.azure.us", ".openai.azure.cn", ".services.ai.azure.com")


class _OpenAI:
    name = "openai"
    quieted: tuple[str, ...] = (
        "chat.completions.create",
        "chat.completions.parse",
        "chat.completions.stream",
        "responses.create",
        "responses.parse",
        "responses.stream",
        "embeddings.create",
        "beta.chat.completions.create",
        "beta.chat.completions.parse",
        "beta.chat.completions.stream",
        "beta.responses.create",
        "beta.responses.stream",
    )
    _endpoints: Final[Mapping[str, Endpoint]] = {
        "/chat/completions": Chat(),
        "/responses": Responses(),
        "/embeddings": Embeddings(),
    }

    def accepts(self, client: object) -> bool:
        # The class is asked, not the client: a look at its resource would leave it in the caller's object.
        return callable(getattr(client, "post", None)) and hasattr(type(client), "chat")

    def is_async(self, client: object) -> bool:
        return any(base.__name__ == "AsyncAPIClient" for base in type(client).__mro__)

    def endpoint(self, path: str) -> Endpoint | None:
        # The beta ones are told from the others by a query alone.
        return self._endpoints.get(path.partition("?")[0])

    def destination(self, client: object) -> tuple[str, str | None, int | None]:
        return destination(client, _provider)

    def sibling_options(self, client: object) -> dict[str, Any]:
        return {}

    def headers(self, client: object) -> dict[str, str]:
        return {}

    def sibling(self, client: Any, seam: Seam) -> Any:
        elide_texts_of("openai._base_client")
        return posting_sibling(self, client, seam)


ADAPTER: Final[Adapter] = _OpenAI()


def _provider(classes: list[str], host: str) -> str:
    if any("Bedrock" in name for name in classes):
        return "aws.bedrock"
    # Azure's `/openai/v1` takes OpenAI's own client.
    return "azure.ai.openai" if any("Azure" in name for name in classes) or host.endswith(_AZURE) else "openai"
