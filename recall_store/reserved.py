"""The tag names that mark injected text, and the check that keeps such text out of a store.

The names live here, in the package with the fewest imports, because the store must refuse them and
the middleware must write them. Source: QwenLM/qwen-code (the three `qwen:` names) and this project.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "HOOK_CONTEXT",
    "RECALLED_MEMORY",
    "RESERVED_TAGS",
    "SESSION_START_CONTEXT",
    "SUBAGENT_START_CONTEXT",
    "reserved_tag",
]

HOOK_CONTEXT: Final = "qwen:user-prompt-submit-context"
RECALLED_MEMORY: Final = "firsthand:recalled-memory"
SESSION_START_CONTEXT: Final = "qwen:session-start-context"
SUBAGENT_START_CONTEXT: Final = "qwen:subagent-start-context"

RESERVED_TAGS: Final = (HOOK_CONTEXT, RECALLED_MEMORY, SESSION_START_CONTEXT, SUBAGENT_START_CONTEXT)


def reserved_tag(text: str) -> str | None:
    """Return the name of the first reserved tag that `text` holds, opened or closed, or None."""
    for name in RESERVED_TAGS:
        if f"<{name}>" in text or f"</{name}>" in text:
            return name
    return None
