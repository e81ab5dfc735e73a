"""The one projection of records: what is displayed, and what is replayed to a model.

Everything that remembers a user message (screen, title, search, export, list) asks here, so that none of them
takes injected text for the user's. Functions here take one branch, oldest record first, as `transcript.load` and
`transcript.walk` give it, and change nothing.
"""

from .history import replay, replay_wired
from .projection import Projection, first_prompt, project, replay_parts, strip, without_attachment_tokens
from .screen import Shown, ShownType, display, display_user, rows

__all__ = [
    "Projection",
    "Shown",
    "ShownType",
    "display",
    "display_user",
    "first_prompt",
    "project",
    "replay",
    "replay_parts",
    "replay_wired",
    "rows",
    "strip",
    "without_attachment_tokens",
]
