"""The Grafana dashboards: their JSON is what the code makes, and each panel can be read without its author."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations, pairwise
from string import ascii_uppercase

import promql_parser
import pytest

from dashboards.grafana.build import built
from middleware.telemetry import names
from middleware.telemetry.metrics import DURATIONS

from .loaded import ALL, NAMES, Asked, board, filled, panels, queries, series_of
from .programs import DASHBOARDS, ROOT

HISTOGRAMS = {
    names.METRIC_DURATION: "s",
    names.METRIC_FIRST_CHUNK: "s",
    names.METRIC_TOKENS: "",
    names.METRIC_HOOK_DURATION: "s",
    names.METRIC_RECALL_DURATION: "s",
    names.METRIC_RECALL_MATCHES: "",
    names.METRIC_INJECTION_SIZE: "",
    names.METRIC_INPUT_SIZE: "",
}
COUNTERS = (names.METRIC_TURN_COUNT, names.METRIC_DROPPED)


def exported() -> set[str]:
    """What Prometheus calls the series of our metrics: dots are underscores, seconds and counters have a suffix."""
    found = {f"{name.replace('.', '_')}_total" for name in COUNTERS}
    for name, unit in HISTOGRAMS.items():
        stem = name.replace(".", "_") + ("_seconds" if unit == "s" else "")
        found |= {f"{stem}_bucket", f"{stem}_sum", f"{stem}_count"}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_json_beside_the_code_is_what_the_code_makes(name: str) -> None:
    there = (DASHBOARDS / "grafana" / "json" / f"{name}.json").read_text(encoding="utf-8")
    assert there == built()[name], "run python -m dashboards.grafana"


def test_there_is_no_json_that_no_code_makes() -> None:
    assert {path.stem for path in (DASHBOARDS / "grafana" / "json").iterdir()} == set(NAMES) == set(built())


def test_the_command_says_that_nothing_is_stale_and_refuses_other_arguments() -> None:
    def run(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "dashboards.grafana", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        return done.returncode, done.stdout + done.stderr

    assert run("--check") == (0, "nothing is stale\n")
    assert run("--chekc") == (2, "usage: python -m dashboards.grafana [--check]\n")


def test_without_its_library_the_command_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['grafana_foundation_sdk'] = None; import dashboards.grafana.__main__ as m; m.main([])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == "this needs the package grafana-foundation-sdk; run: pip install 'firsthand[grafana]'\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_says_what_it_answers_in_a_question_with_a_unit(name: str) -> None:
    for panel in panels(name):
        assert panel["title"], panel["id"]
        assert "?" in panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@pytest.mark.parametrize("name", NAMES)
def test_every_query_has_a_ref_id_of_its_own_and_the_chosen_datasource(name: str) -> None:
    for panel in panels(name):
        references = [target["refId"] for target in panel["targets"]]
        assert references == list(ascii_uppercase[: len(references)]), panel["title"]
        assert references, panel["title"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


@pytest.mark.parametrize("name", NAMES)
def test_panels_have_ids_of_their_own_and_lie_side_by_side_in_24_columns(name: str) -> None:
    everything = board(name)["panels"]
    assert [panel["id"] for panel in everything] == list(range(1, len(everything) + 1))
    places = [panel["gridPos"] for panel in everything]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def test_each_dashboard_has_an_address_of_its_own_and_links_to_the_others() -> None:
    loaded = [board(name) for name in NAMES]
    assert [each["uid"] for each in loaded] == [f"firsthand-{name}" for name in NAMES]
    for each in loaded:
        assert "firsthand" in each["tags"]
        assert each["description"]
        [link] = each["links"]
        assert (link["type"], link["tags"], link["includeVars"], link["keepTime"]) == (
            "dashboards",
            ["firsthand"],
            True,
            True,
        )


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("turns", ["datasource", "job", "model"]),
        ("hooks", ["datasource", "job", "event", "type"]),
        ("recall", ["datasource", "job"]),
        ("provenance", ["datasource", "job", "model"]),
    ],
)
def test_variables_are_offered_where_something_uses_them_and_all_means_all(name: str, variables: list[str]) -> None:
    declared = board(name)["templating"]["list"]
    assert [each["name"] for each in declared] == variables
    used = {found for asked in queries() if asked.dashboard == name for found in re.findall(r"\$(\w+)", asked.expr)}
    assert used - {"__rate_interval", "__range"} == set(variables) - {"datasource"}
    for each in declared[1:]:
        assert (each["includeAll"], each["allValue"], each["current"]["value"]) == (True, ".*", "$__all")
        assert each["description"]


@pytest.mark.parametrize("asked", queries(), ids=str)
def test_every_expression_is_promql_over_metrics_that_the_middleware_exports_in_the_chosen_job(asked: Asked) -> None:
    found = list(series_of(filled(asked.expr)))
    assert found
    for series, labels in found:
        assert series in exported()
        assert "job" in labels
        assert ("gen_ai_request_model" in labels) == series.startswith("gen_ai_")


@pytest.mark.parametrize("asked", queries(), ids=str)
def test_what_is_shown_over_time_asks_for_the_rate_interval_and_what_is_one_number_for_the_range(asked: Asked) -> None:
    over_time = asked.kind in ("timeseries", "heatmap")
    assert asked.instant is not over_time
    assert ("$__rate_interval" in asked.expr) is over_time
    assert ("$__range" in asked.expr) is not over_time


@pytest.mark.parametrize("name", NAMES)
def test_alerts_that_fire_are_marked_on_the_dashboards(name: str) -> None:
    [annotation] = board(name)["annotations"]["list"]
    assert list(series_of(filled(annotation["expr"]))) == [("ALERTS", {"alertname", "alertstate", "job"})]


def test_the_dashed_line_of_recall_is_the_default_deadline() -> None:
    from middleware import Settings

    [steps] = [
        panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        for panel in panels("recall")
        if panel["title"] == "Duration"
    ]
    assert steps[-1]["value"] == Settings().recall_timeout == 0.1


def test_a_latency_is_right_to_a_factor_of_two_as_its_panels_say() -> None:
    assert {later / earlier for earlier, later in pairwise(DURATIONS)} == {2}
    said = [panel["description"] for panel in panels("turns") if panel["title"] in ("Latency", "p95 of model calls")]
    assert ["a factor of 2" in each for each in said] == [True, True]


def test_a_variable_that_nobody_fills_is_an_error_of_these_tests() -> None:
    assert promql_parser.parse(filled('up{job=~"$job"}'))
    with pytest.raises(KeyError):
        filled('up{job=~"$jbo"}', ALL)


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_says_what_each_panel_answers(name: str) -> None:
    readme = " ".join((DASHBOARDS / "README.md").read_text(encoding="utf-8").split())
    missing = [
        panel["title"] for panel in panels(name) if f"| {panel['title']} | {panel['description']} |" not in readme
    ]
    assert missing == []
