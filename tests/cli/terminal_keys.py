"""What a terminal sends for the keys that are no text, and around a paste."""

from __future__ import annotations

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
CTRL_C, CTRL_D, CTRL_J, CTRL_Q, UP = "\x03", "\x04", "\n", "\x11", "\x1b[A"
