"""The dashboards as Grafana reads them from their files, and what their expressions ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser

from .programs import DASHBOARDS

NAMES = ("turns", "hooks", "recall", "provenance")

ALL = {"job": ".*", "model": ".*", "event": ".*", "type": ".*", "__rate_interval": "1m", "__range": "5m"}
"""What Grafana puts in for the variables when "All" is chosen."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of a panel."""

    dashboard: str
    panel: str
    kind: str
    ref: str
    expr: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.dashboard}/{self.panel}/{self.ref}"


def board(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DASHBOARDS / "grafana" / "json" / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def panels(name: str) -> list[dict[str, Any]]:
    """Without the rows."""
    return [panel for panel in board(name)["panels"] if panel["type"] != "row"]


def queries() -> list[Asked]:
    return [
        Asked(name, panel["title"], panel["type"], target["refId"], target["expr"], target.get("instant", False))
        for name in NAMES
        for panel in panels(name)
        for target in panel["targets"]
    ]


def filled(expr: str, values: Mapping[str, str] = ALL) -> str:
    """The expression as Grafana sends it; KeyError for a variable that is in nobody's hands."""
    return re.sub(r"\$(\w+)", lambda found: values[found[1]], expr)


def series_of(expr: str) -> Iterator[tuple[str, set[str]]]:
    """The metrics that an expression asks for, and the labels that it picks them by."""

    def walk(node: Any) -> Iterator[tuple[str, set[str]]]:
        if isinstance(node, promql_parser.VectorSelector):
            yield node.name, {matcher.name for matcher in node.matchers.matchers}
        for part in ("lhs", "rhs", "expr", "param", "vector_selector", "vs"):
            child = getattr(node, part, None)
            if child is not None:
                yield from walk(child)
        for child in getattr(node, "args", None) or ():
            yield from walk(child)

    yield from walk(promql_parser.parse(expr))
