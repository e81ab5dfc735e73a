"""A dashboard: its variables, its links to the other three, and its panels in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from .panels import PROMETHEUS, Made

__all__ = ["EVENT", "JOB", "MODEL", "TYPE", "Row", "Variable", "page"]

Row = tuple[str, Sequence[Made]]
"""A heading, and the panels under it from left to right."""

Variable = tuple[str, str, str, str, str]
"""Name, label, what it does, metric and label whose values it offers."""

JOB: Final[Variable] = (
    "job", "Job", "The job of the scrape, or the service.name of what came over OTLP.", "firsthand_turn_count_total",
    "job",
)  # fmt: skip
MODEL: Final[Variable] = (
    "model", "Model", "The model that was asked for; turns, hooks and recalls have none.",
    'gen_ai_client_operation_duration_seconds_count{job=~"$job"}', "gen_ai_request_model",
)  # fmt: skip
EVENT: Final[Variable] = (
    "event", "Hook event", "The event that a hook is called for.",
    'firsthand_hook_duration_seconds_count{job=~"$job"}', "event",
)  # fmt: skip
TYPE: Final[Variable] = (
    "type", "Hook type", "What runs the hook: command, http, function or prompt.",
    'firsthand_hook_duration_seconds_count{job=~"$job"}', "type",
)  # fmt: skip


def page(
    name: str, title: str, answers: str, variables: Sequence[Variable], rows: Sequence[Row]
) -> dashboard.Dashboard:
    """The dashboard `firsthand-<name>`, over the last hour unless the reader chooses another range."""
    made = (
        dashboard.Dashboard(f"Firsthand / {title}")
        .uid(f"firsthand-{name}")
        .description(answers)
        .tags(["firsthand", "gen_ai"])
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-1h", "now")
        .refresh("30s")
        .editable()
        .link(
            dashboard.DashboardLink("Firsthand")
            .type(DashboardLinkType.DASHBOARDS)
            .tags(["firsthand"])
            .tooltip("The other dashboards of Firsthand, with the same job and time range")
            .as_dropdown(False)
            .include_vars(True)
            .keep_time(True)
        )
        .with_variable(
            dashboard.DatasourceVariable("datasource")
            .label("Data source")
            .description("The Prometheus that has the metrics.")
            .type("prometheus")
        )
        .annotation(
            dashboard.AnnotationQuery()
            .name("Alerts")
            .datasource(PROMETHEUS)
            .enable(True)
            .icon_color("red")
            .expr('ALERTS{alertname=~"Firsthand.*", alertstate="firing", job=~"$job"}')
        )
    )
    for variable in variables:
        made = made.with_variable(_variable(*variable))
    number = 0
    for heading, panels in rows:
        number += 1
        made = made.with_row(dashboard.Row(heading).id(number))
        for panel in panels:
            number += 1
            made = made.with_panel(_numbered(panel, number))
    return made


def _variable(name: str, label: str, answers: str, metric: str, values_of: str) -> dashboard.QueryVariable:
    query = {"qryType": 1, "query": f"label_values({metric},{values_of})", "refId": f"Variable-{name}"}
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .description(answers)
        .datasource(PROMETHEUS)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _numbered(panel: Made, number: int) -> Any:
    """Every kind of panel has this method, and their common base has not."""
    return panel.id(number)  # type: ignore[attr-defined]
