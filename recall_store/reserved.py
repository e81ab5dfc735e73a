"""The tags that mark injected text, and the question whether a text holds one.

The names live here because the store refuses them; `middleware.injection` writes and strips them.
"""

from __future__ import annotations

import re

from .text import as_seen

HOOK_CONTEXT = "qwen:user-prompt-submit-context"
RECALLED_MEMORY = "firsthand:recalled-memory"
SESSION_START_CONTEXT = "qwen:session-start-context"
SUBAGENT_START_CONTEXT = "qwen:subagent-start-context"

RESERVED_TAGS = (HOOK_CONTEXT, RECALLED_MEMORY, SESSION_START_CONTEXT, SUBAGENT_START_CONTEXT)

# A tag with attributes or blanks reads as the tag to a model, so it counts; a longer name (`…-context2`) does not.
_TAG = re.compile(r"<\s*/?\s*(" + "|".join(map(re.escape, RESERVED_TAGS)) + r")(?=[\s/>]|$)", re.IGNORECASE)


def reserved_tag(text: str) -> str | None:
    """The first reserved tag that `text` opens or closes, by name, or None.

    `&lt;…&gt;` (an escaped tag) and the bare name in prose are not tags; a tag in fullwidth letters, or with characters
    in it that nobody sees, reads as one.
    """
    found = _TAG.search(text)
    if found is None and (plain := as_seen(text)) is not text:
        found = _TAG.search(plain)
    return found.group(1).lower() if found else None
