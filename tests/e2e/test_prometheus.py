"""Our metrics in a real Prometheus: a p95 of known durations is true to one bucket."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, start_http_server

from middleware import Middleware
from middleware.testing import LocalModel

from .test_otlp import free_port

SECONDS = [0.1] * 60 + [0.3] * 48 + [1.5] * 12
"""The p95 of these is 1.5 s; the SDK's default buckets would show 4.75 s."""


@contextlib.contextmanager
def prometheus(folder: Path, target: str, rules: Sequence[Path] = ()) -> Iterator[str]:
    """A running server that scrapes `target` and evaluates `rules` every second; its URL."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.fail("prometheus is missing: Debian has it (apt-get install prometheus)")
    job = {"job_name": "firsthand", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
    config = {
        "global": {"evaluation_interval": "1s"},
        "rule_files": [str(path) for path in rules],
        "scrape_configs": [job],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    address = f"127.0.0.1:{free_port()}"
    options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *options, f"--web.listen-address={address}"], stdout=log, stderr=log)
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(60)


def query(url: str, expression: str) -> float | None:
    """The value of an instant query, None while there is none."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/v1/query?" + urllib.parse.urlencode({"query": expression}), timeout=60) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return float(result[0]["value"][1]) if result else None


def until(url: str, expression: str, value: float) -> None:
    deadline = time.monotonic() + 60
    while query(url, expression) != value:
        assert time.monotonic() < deadline, f"{expression} is {query(url, expression)} and not {value}"
        time.sleep(0.2)


def calls(meters: MeterProvider) -> None:
    """One call of each duration, many at a time."""
    left = list(SECONDS)

    def answer(body: Any) -> str:
        time.sleep(left.pop())
        return "fine"

    app = Middleware.from_settings(hooks=[lambda payload: "branch=main"], meter_provider=meters)
    with app, LocalModel(default=answer).openai() as plain, ThreadPoolExecutor(40) as pool:
        client = app.wrap(plain)
        messages: Any = [{"role": "user", "content": "hi"}]
        list(pool.map(lambda n: client.chat.completions.create(model="m", messages=messages), range(len(SECONDS))))


@pytest.mark.usefixtures("clean_environment")
def test_the_p95_of_known_durations_is_within_a_bucket_of_the_truth(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    reader = PrometheusMetricReader(registry=registry)
    meters = MeterProvider([reader], shutdown_on_exit=False)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    try:
        calls(meters)
        with prometheus(tmp_path, f"127.0.0.1:{server.server_port}") as url:
            until(url, "sum(gen_ai_client_operation_duration_seconds_count)", 120)
            p95 = query(url, "histogram_quantile(0.95, sum by (le) (gen_ai_client_operation_duration_seconds_bucket))")
            until(url, 'sum(firsthand_turn_count_total{origin="user_query",outcome="sent"})', 120)
            until(url, 'sum(firsthand_hook_duration_seconds_count{type="function",outcome="success"})', 120)
            until(url, 'sum(gen_ai_client_token_usage_sum{gen_ai_token_type="input"})', 120 * 12)
            until(url, 'sum(firsthand_injection_size_count{source="hook"})', 120)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        meters.shutdown()
    print(f"p95 {p95}, truth 1.5")
    assert p95 is not None and 1.28 < p95 <= 2.56
