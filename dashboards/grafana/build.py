"""The dashboards' JSON: what Grafana loads, with a line a value, so that a change of it can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from .hooks import hooks
from .provenance import provenance
from .recall import recall
from .turns import turns

__all__ = ["FOLDER", "built"]

FOLDER: Final = Path(__file__).parent / "json"

_PAGES: Final = {"turns": turns, "hooks": hooks, "recall": recall, "provenance": provenance}


def built() -> dict[str, str]:
    """The text of `json/<name>.json` for each name."""
    return {
        name: json.dumps(page().build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for name, page in _PAGES.items()
    }
