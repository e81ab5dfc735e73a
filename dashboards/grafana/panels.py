"""The pieces that the dashboards are made of: a query, and panels that each have a unit and say what they answer.

A panel of a range (`timeseries`, `heatmap`) asks for rates over `$__rate_interval`; a panel of one number (`stat`,
`bars`, `table`) asks once, for the whole time range that is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final, TypeAlias

from grafana_foundation_sdk.builders import bargauge, common, dashboard, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import heatmap as heat
from grafana_foundation_sdk.models.dashboard import (
    DashboardFieldConfigSourceOverrides,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    MatcherConfig,
    Panel,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

__all__ = [
    "CHARS",
    "COUNT",
    "PROMETHEUS",
    "SECONDS",
    "SHARE",
    "Column",
    "Made",
    "Query",
    "bars",
    "heat_of",
    "lines",
    "number",
    "rows",
]

Made: TypeAlias = Builder[Panel]

PROMETHEUS: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
SECONDS: Final = "s"
SHARE: Final = "percentunit"
COUNT: Final = "short"
CHARS: Final = "suffix:chars"

_DECIMALS: Final = {SHARE: 1, SECONDS: 2}
"""Digits after the point of one number; counts have none."""

_COLOURS: Final = {
    "{{outcome}}": {
        "sent": "green",
        "success": "green",
        "ok": "green",
        "blocked": "orange",
        "blocking": "orange",
        "timeout": "yellow",
        "cancelled": "text",
        "error": "red",
        "non_blocking_error": "red",
    },
    "{{source}}": {"hook": "purple", "memory": "blue"},
    "typed": {"typed": "green"},
}
"""By legend, what its series are called and their colours: one meaning, one colour, on every page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A PromQL expression, and what its series are called: a text with `{{label}}` in it."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its heading, its unit and the expression that fills it."""

    title: str
    unit: str
    expr: str


def lines(
    title: str,
    answers: str,
    unit: str,
    *queries: Query,
    stacked: bool = False,
    top: float | None = None,
    limit: float | None = None,
    width: int = 12,
) -> Made:
    """Series over time; `top` ends the axis, `limit` draws a dashed red line."""
    made = (
        timeseries.Panel()
        .title(title)
        .description(answers)
        .datasource(PROMETHEUS)
        .unit(unit)
        .min(0)
        .height(8)
        .span(width)
        .line_width(1)
        .fill_opacity(40 if stacked else 10)
        .show_points(kinds.VisibilityMode.AUTO)
        .span_nulls(False)
        .overrides(_colours(queries))
        .legend(
            common.VizLegendOptions()
            .display_mode(kinds.LegendDisplayMode.TABLE)
            .placement(kinds.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["mean", "max", "lastNotNull"])
        )
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
    )
    if stacked:
        made = made.stacking(common.StackingConfig().mode(kinds.StackingMode.NORMAL).group("A"))
    if top is not None:
        made = made.max(top)
    if limit is not None:
        made = made.thresholds(_thresholds((limit, "red"))).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED)
        )
    for name, query in zip(ascii_uppercase, queries, strict=False):
        made = made.with_target(_target(name, query).range().exemplar(unit == SECONDS))
    return made


def heat_of(title: str, answers: str, unit: str, expr: str, *, width: int = 12) -> Made:
    """How a histogram's buckets fill over time; `expr` keeps the label `le`."""
    target = _target("A", Query(expr=expr, legend="{{le}}")).range().format(PromQueryFormat.HEATMAP)
    return (
        heatmap.Panel()
        .title(title)
        .description(answers)
        .datasource(PROMETHEUS)
        .unit(unit)
        .height(8)
        .span(width)
        .calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(heat.HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .cell_values(heatmap.CellValues().unit(COUNT))
        .show_legend()
        .with_target(target)
    )


def number(
    title: str,
    answers: str,
    unit: str,
    expr: str,
    *,
    steps: Sequence[tuple[float, str]] = (),
    empty: str = "no turns yet",
    width: int = 4,
) -> Made:
    """One number for the whole range; from each of `steps` on it has that colour, `empty` stands for no answer."""
    return (
        stat.Panel()
        .title(title)
        .description(answers)
        .datasource(PROMETHEUS)
        .unit(unit)
        .no_value(empty)
        .height(4)
        .span(width)
        .decimals(_DECIMALS.get(unit, 0))
        .graph_mode(kinds.BigValueGraphMode.NONE)
        .color_mode(kinds.BigValueColorMode.VALUE)
        .thresholds(_thresholds(*steps))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_target("A", Query(expr=expr)).instant())
    )


def bars(title: str, answers: str, unit: str, *queries: Query, width: int = 12) -> Made:
    """A bar a series, for the whole range."""
    made = (
        bargauge.Panel()
        .title(title)
        .description(answers)
        .datasource(PROMETHEUS)
        .unit(unit)
        .min(0)
        .height(8)
        .span(width)
        .decimals(_DECIMALS.get(unit, 0))
        .color_scheme(dashboard.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC))
        .orientation(kinds.VizOrientation.HORIZONTAL)
        .display_mode(kinds.BarGaugeDisplayMode.BASIC)
        .overrides(_colours(queries))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )
    for name, query in zip(ascii_uppercase, queries, strict=False):
        made = made.with_target(_target(name, query).instant())
    return made


def rows(title: str, answers: str, key: dict[str, str], *columns: Column) -> Made:
    """A table with a row for each value of the labels in `key` (label -> heading), for the whole range."""
    made = (
        table.Panel()
        .title(title)
        .description(answers)
        .datasource(PROMETHEUS)
        .unit(COUNT)
        .height(8)
        .span(24)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            DataTransformerConfig(
                id_val="organize",
                options={
                    "excludeByName": {"Time": True},
                    "indexByName": {},
                    "renameByName": {
                        **key,
                        **{
                            f"Value #{name}": column.title
                            for name, column in zip(ascii_uppercase, columns, strict=False)
                        },
                    },
                },
            )
        )
    )
    for name, column in zip(ascii_uppercase, columns, strict=False):
        made = made.with_target(_target(name, Query(expr=column.expr)).instant().format(PromQueryFormat.TABLE))
        made = made.override_by_name(column.title, [DynamicConfigValue(id_val="unit", value=column.unit)])
    return made


def _target(name: str, query: Query) -> prometheus.Dataquery:
    made = prometheus.Dataquery().ref_id(name).expr(query.expr).datasource(PROMETHEUS)
    return made.legend_format(query.legend) if query.legend else made


def _thresholds(*steps: tuple[float, str]) -> dashboard.ThresholdsConfig:
    start = Threshold(value=None, color="green" if steps else "text")
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([start, *(Threshold(value=value, color=colour) for value, colour in steps)])
    )


class _Override(Builder[DashboardFieldConfigSourceOverrides]):
    def __init__(self, name: str, colour: str) -> None:
        self._made = DashboardFieldConfigSourceOverrides(
            matcher=MatcherConfig(id_val="byName", options=name),
            properties=[DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})],
        )

    def build(self) -> DashboardFieldConfigSourceOverrides:
        return self._made


def _colours(queries: Sequence[Query]) -> list[Builder[DashboardFieldConfigSourceOverrides]]:
    return [_Override(name, colour) for query in queries for name, colour in _COLOURS.get(query.legend, {}).items()]
