"""embeddings: traced, and no turn of any conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...parts import Reply, Request, Usage
from ..base import Collector, Placement
from ..reading import get

__all__ = ["Embeddings"]


class Embeddings:
    """`/embeddings`."""

    operation = "embeddings"
    is_turn = False
    fields = ("input",)

    def read(self, body: Mapping[str, Any]) -> Request:
        options: dict[str, object] = {}
        if isinstance(body.get("dimensions"), int):
            options["dimension.count"] = body["dimensions"]
        if isinstance(body.get("encoding_format"), str):
            options["encoding_formats"] = (body["encoding_format"],)
        return Request(
            messages=(), current=None, tool_result=False, model=str(body.get("model") or ""), options=options
        )

    def write(self, body: Mapping[str, Any], request: Request, blocks: Mapping[int, Any], how: Placement) -> Any:
        return body

    def reply(self, value: object) -> Reply:
        usage = get(value, "usage")
        return Reply(model=get(value, "model"), usage=Usage(input_tokens=get(usage, "prompt_tokens")))

    def collector(self) -> Collector:
        raise TypeError("embeddings are not streamed")

    def question(self, model: str, text: str, max_tokens: int) -> dict[str, Any]:
        raise TypeError("embeddings cannot be asked")
