"""JSON Schemas (2020-12) of what a hook is given and may answer, shipped as `schemas/<event>.<direction>.json`.

They are open: another program, or a later version of this one, may send more fields. Source: hooks-and-transcripts
1.1 to 1.3.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal

from ..errors import SettingsError
from .events import FIRED

__all__ = ["schema"]


def schema(event: str, direction: Literal["input", "output"] = "input") -> dict[str, Any]:
    """The schema of an event's payload (`input`) or of a hook's answer (`output`), as a value of your own.

    Raises `SettingsError` for an event that is not fired, `ValueError` for another direction.
    """
    if event not in FIRED:
        raise SettingsError(f"{event!r} is no event that is fired here; ask for one of {', '.join(FIRED)}")
    if direction not in ("input", "output"):
        raise ValueError(f"direction is {direction!r}; use input or output")
    text = files(__package__).joinpath("schemas", f"{event}.{direction}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
