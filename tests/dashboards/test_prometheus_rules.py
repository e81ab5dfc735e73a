"""Recording and alerting rules, as Prometheus's own tool finds them, and the stack's prometheus.yml."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import promql_parser
import pytest
import yaml

from .loaded import panels, series_of
from .programs import DASHBOARDS, program
from .test_grafana import exported

FOLDER = DASHBOARDS / "prometheus"


def promtool(*arguments: str) -> str:
    tool = program("promtool", "prometheus")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def rules(kind: str) -> list[dict[str, Any]]:
    """All rules of a kind, `record` or `alert`."""
    found: list[dict[str, Any]] = []
    for path in ("recording.yml", "alerts.yml"):
        for group in yaml.safe_load((FOLDER / path).read_text(encoding="utf-8"))["groups"]:
            found += [rule for rule in group["rules"] if kind in rule]
    return found


RECORDED = {rule["record"] for rule in rules("record")}


def test_promtool_finds_the_rules_and_the_configuration_correct() -> None:
    assert "SUCCESS: 10 rules found" in promtool("check", "rules", "recording.yml")
    assert "SUCCESS: 6 rules found" in promtool("check", "rules", "alerts.yml")
    assert "SUCCESS: 2 rule files found" in promtool("check", "config", "prometheus.yml")


def test_each_alert_fires_when_it_must_and_keeps_still_when_it_must_not() -> None:
    assert "SUCCESS" in promtool("test", "rules", "rules_test.yml")


def test_each_alert_begins_where_its_threshold_is_and_needs_enough_to_happen() -> None:
    assert "SUCCESS" in promtool("test", "rules", "thresholds_test.yml")


@pytest.mark.parametrize("alert", [rule["alert"] for rule in rules("alert")])
def test_the_rule_tests_have_both_sides_of_each_alert(alert: str) -> None:
    tests = yaml.safe_load((FOLDER / "rules_test.yml").read_text(encoding="utf-8"))["tests"]
    expected = [bool(case.get("exp_alerts")) for test in tests for case in test.get("alert_rule_test", ())
                if case["alertname"] == alert]  # fmt: skip
    assert True in expected
    assert False in expected


def test_the_rules_cover_what_can_go_wrong_unnoticed() -> None:
    assert [rule["alert"] for rule in rules("alert")] == [
        "FirsthandBlockedSpike",
        "FirsthandHookFailures",
        "FirsthandRecallTimeouts",
        "FirsthandRecallErrors",
        "FirsthandExporterLoss",
        "FirsthandInjectedShare",
    ]


@pytest.mark.parametrize(
    "rule", rules("record") + rules("alert"), ids=lambda rule: rule.get("record", rule.get("alert"))
)
def test_every_rule_parses_and_asks_for_what_is_exported_or_recorded(rule: dict[str, Any]) -> None:
    assert promql_parser.parse(rule["expr"])
    assert {series for series, _ in series_of(rule["expr"])} <= exported() | RECORDED


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_recorded_name_has_its_labels_its_metric_and_its_operation(name: str) -> None:
    assert re.fullmatch(r"job(_\w+)?:(firsthand|gen_ai)_\w+:(rate|increase|ratio_rate|p95_rate)5m", name)


@pytest.mark.parametrize("rule", rules("alert"), ids=lambda rule: rule["alert"])
def test_an_alert_says_where_what_and_where_to_look(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"]["summary"].startswith("{{ $labels.job }}: ")
    assert len(rule["annotations"]["description"]) > 100


def test_the_panels_that_alerts_send_their_reader_to_are_there() -> None:
    found = [
        place
        for rule in rules("alert")
        for place in re.findall(r'dashboard (\w+), panel "([^"]+)"', rule["annotations"]["description"])
    ]
    assert len(found) == 3
    for page, title in found:
        assert title in [panel["title"] for panel in panels(page.lower())]
