"""Area prompt_hook: what a model's answer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware.hooks import Answer, context_of
from middleware.hooks.prompt import answer_of


def prompt_hook(case: Mapping[str, Any]) -> dict[str, Any]:
    result = answer_of("UserPromptSubmit", Answer(text=case["llm_text"], whole=not case.get("truncated", False)))
    seen: dict[str, Any] = dict(result.output or {})
    context = context_of(result.output)
    if context is not None:
        seen["additionalContext"] = context
    return {**seen, "success": result.success, "outcome": result.outcome}


AREAS = {"prompt_hook": prompt_hook}
