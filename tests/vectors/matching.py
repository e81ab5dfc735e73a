"""Area about matchers: which subjects a hook's `matcher` selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from middleware.hooks.matchers import matches, selects


def matcher(case: Mapping[str, Any]) -> bool:
    subject, aliases = case.get("subject"), case.get("aliases", ())
    if "event" in case:
        return selects(case["event"], case["matcher"], subject, aliases)
    return matches(case["matcher"], subject, aliases)


AREAS: Mapping[str, Callable[[Any], Any]] = {"matcher": matcher}
