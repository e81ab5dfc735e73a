"""The dashboards' JSON: what Grafana loads, with a line a value, so that a change of it can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from .hooks import hooks
from .provenance import provenance
from .recall import recall
from .turns import turns

__all__ = ["FOLDER", "built"]

FOLDER: Final = Path(__file__).parent / "json"

_PAGES: Final = {"turns": turns, "hooks": hooks, "recall": recall, "provenance": provenance}
_OF_INTERVALS: Final = ("auto", "auto_count", "auto_min")
"""What the SDK writes into every variable, and Grafana's schema knows of one for an interval only."""


def built() -> dict[str, str]:
    """The text of `json/<name>.json` for each name."""
    return {name: _text(page()) for name, page in _PAGES.items()}


def _text(page: Dashboard) -> str:
    made = json.loads(json.dumps(page.build(), cls=JSONEncoder))
    for variable in made["templating"]["list"]:
        for field in _OF_INTERVALS:
            variable.pop(field, None)
    return json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
