"""Areas about the tags: wrap, escape, tag_detect, inject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware import injection
from middleware.provenance import Origin, submitted_prompt

ORIGINS = {"UserQuery": Origin.USER_QUERY, "ToolResult": Origin.TOOL_RESULT, "Hook": Origin.HOOK}


def wrap(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": injection.wrap_text(case["context"])}


def tag_detect(case: Mapping[str, Any]) -> bool:
    return injection.is_tagged(case["text"])


AREAS = {"wrap": wrap, "tag_detect": tag_detect}
__all__ = ["AREAS", "ORIGINS", "submitted_prompt"]
