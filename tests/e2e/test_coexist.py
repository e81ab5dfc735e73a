"""Beside other instrumentors, the real packages: exactly one LLM span a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.environments import environment, run

KINDS = ("create", "stream", "parse", "raw", "copy", "async")


@pytest.fixture(scope="module")
def python() -> Path:
    return environment(
        "beside",
        "opentelemetry-instrumentation-genai-openai==1.3b0",
        "openinference-instrumentation-openai==0.1.66",
        "opentelemetry-instrumentation-openai==0.62.4",
        "logfire==6.0.0b8",
    )


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("other", "own"),
    [
        ("none", []),
        ("genai", ["chat m"]),
        ("openinference", ["ChatCompletion"]),
        ("traceloop", ["openai.chat"]),
        ("logfire", ["Chat Completion with {request_data[model]!r}"]),
    ],
)
def test_a_call_has_one_span_and_an_unwrapped_client_keeps_the_others(python: Path, other: str, own: list[str]) -> None:
    found = json.loads(run(python, "tests.e2e.beside", other).splitlines()[-1])
    assert found == {**{kind: ["chat m"] for kind in KINDS}, "unwrapped": own}


@pytest.mark.timeout(400)
def test_with_coexist_the_other_span_is_there_too(python: Path) -> None:
    found = json.loads(run(python, "tests.e2e.beside", "traceloop", "coexist").splitlines()[-1])
    assert found["create"] == ["chat m", "openai.chat"]
