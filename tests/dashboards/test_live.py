"""Panels and rules against a real Prometheus that scrapes the real middleware: no panel is empty, every rule works."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from ..e2e.aimock import Aimock
from ..e2e.test_prometheus import prometheus, query, until
from .loaded import ALL, NAMES, Asked, board, filled, queries
from .programs import DASHBOARDS, ROOT, program
from .test_prometheus_rules import RECORDED, rules
from .traffic import FIXTURES, TURNS

pytestmark = pytest.mark.timeout(300)

RULES = [DASHBOARDS / "prometheus" / name for name in ("recording.yml", "alerts.yml")]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that has seen two rounds of turns: what a counter was born with grows by nothing."""
    program("prometheus", "prometheus")
    folder = tmp_path_factory.mktemp("live")
    with Aimock(folder, FIXTURES) as server, (folder / "traffic.log").open("wb") as log:
        command = [sys.executable, "-m", "tests.dashboards.traffic", str(folder), server.url]
        traffic = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
        )
        try:
            assert traffic.stdin is not None
            assert traffic.stdout is not None
            port = traffic.stdout.readline().strip()
            assert port.isdecimal(), (folder / "traffic.log").read_text()
            with prometheus(folder, f"127.0.0.1:{port}", RULES) as address:
                for number in (1, 2):
                    traffic.stdin.write("\n")
                    traffic.stdin.flush()
                    assert traffic.stdout.readline() == "done\n", (folder / "traffic.log").read_text()[-2000:]
                    until(address, "sum(firsthand_turn_count_total)", TURNS * number)
                    for signal in ("traces", "logs"):
                        wait_for(address, f'sum(firsthand_export_dropped_total{{signal="{signal}"}})', number)
                wait_for(address, "count(ALERTS)", 1)
                yield address
        finally:
            traffic.kill()  # To end by itself it would wait for the server that is not there.
            traffic.communicate()


def wait_for(url: str, expression: str, least: float) -> None:
    deadline = time.monotonic() + 60
    while (query(url, expression) or 0) < least:
        assert time.monotonic() < deadline, f"{expression} is {query(url, expression)}"
        time.sleep(0.2)


def ask(url: str, path: str, **parameters: Any) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/api/v1/{path}?" + urllib.parse.urlencode(parameters, doseq=True), timeout=30) as answer:
        return json.load(answer)["data"]


def answers(url: str, asked: Asked, **values: str) -> list[float]:
    """The numbers that a panel would show, as its kind of query gives them."""
    expr = filled(asked.expr, {**ALL, **values})
    if asked.instant:
        series = [[each["value"]] for each in ask(url, "query", query=expr)["result"]]
    else:
        now = time.time()
        result = ask(url, "query_range", query=expr, start=now - 120, end=now, step=1)["result"]
        series = [each["values"] for each in result]
    return [number for each in series for _, text in each if math.isfinite(number := float(text))]


@pytest.mark.parametrize("asked", queries(), ids=str)
def test_no_panel_is_empty(url: str, asked: Asked) -> None:
    assert any(number > 0 for number in answers(url, asked))


@pytest.mark.parametrize("asked", queries(), ids=str)
def test_a_panel_of_shares_shows_shares(url: str, asked: Asked) -> None:
    [panel] = [
        panel
        for panel in board(asked.dashboard)["panels"]
        if (panel["title"], panel["type"]) == (asked.panel, asked.kind)
    ]
    if panel["fieldConfig"]["defaults"]["unit"] == "percentunit" and asked.kind != "table":
        assert all(0 <= number <= 1 for number in answers(url, asked))
    assert all(number >= 0 for number in answers(url, asked))


@pytest.mark.parametrize("asked", queries(), ids=str)
def test_a_job_that_does_not_exist_has_no_turns(url: str, asked: Asked) -> None:
    assert not any(answers(url, asked, job="nobody"))


@pytest.mark.parametrize("title", ["p95 of model calls", "Latency"])
def test_a_p95_panel_is_within_a_bucket_of_the_truth(url: str, title: str) -> None:
    [asked] = [each for each in queries() if each.panel == title and "quantile(0.95" in each.expr]
    shown = answers(url, asked, model="timed")
    print(f"{title}: {shown[-1]}, truth 1.5")
    assert 1.28 < shown[-1] <= 2.56


def test_the_model_variable_leaves_the_other_models_out(url: str) -> None:
    [asked] = [each for each in queries() if each.panel == "Calls by provider"]
    everything = answers(url, asked)
    assert 0 < max(answers(url, asked, model="claude-sonnet-4-5")) < max(everything)
    assert answers(url, asked, model="gpt-5|claude-sonnet-4-5") != everything


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("job", ["firsthand"]),
        ("model", ["claude-sonnet-4-5", "gpt-5", "gpt-5-mini", "timed"]),
        ("event", ["UserPromptSubmit"]),
        ("type", ["command", "function"]),
    ],
)
def test_a_variable_offers_what_there_is(url: str, name: str, values: list[str]) -> None:
    found = [each for board_name in NAMES for each in board(board_name)["templating"]["list"] if each["name"] == name]
    assert found
    for variable in found:
        metric, label = variable["query"]["query"].removeprefix("label_values(").removesuffix(")").rsplit(",", 1)
        assert ask(url, f"label/{label}/values", **{"match[]": filled(metric)}) == values


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_recorded_series_has_data(url: str, name: str) -> None:
    wait_for(url, f"count({name})", 1)


@pytest.mark.parametrize("alert", [rule["alert"] for rule in rules("alert")])
def test_the_alert_sees_what_went_wrong_in_the_turns(url: str, alert: str) -> None:
    wait_for(url, f'count(ALERTS{{alertname="{alert}", job="firsthand"}})', 1)


def test_no_rule_fails_when_it_is_evaluated(url: str) -> None:
    found = [rule for group in ask(url, "rules")["groups"] for rule in group["rules"]]
    assert len(found) == 16
    assert [(rule["name"], rule.get("lastError")) for rule in found if rule["health"] != "ok"] == []
