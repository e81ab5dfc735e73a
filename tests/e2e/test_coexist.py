"""Beside other instrumentors, the real packages: exactly one LLM span a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.environments import environment, run

KINDS = ("create", "stream", "helper", "parse", "raw", "copy", "async")
ANTHROPIC_KINDS = (
    "create",
    "stream",
    "helper",
    "beta helper",
    "raw",
    "copy",
    "async",
    "async helper",
    "async beta helper",
)


@pytest.fixture(scope="module")
def python() -> Path:
    return environment(
        "beside",
        "opentelemetry-instrumentation-genai-openai==1.3b0",
        "openinference-instrumentation-openai==0.1.66",
        "opentelemetry-instrumentation-openai==0.62.4",
        "openinference-instrumentation-anthropic==3.1.0",
        "opentelemetry-instrumentation-anthropic==0.62.4",
        "logfire==6.0.0b8",
        extras=("openai", "anthropic"),
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
@pytest.mark.parametrize(
    ("other", "own"), [("openinference-anthropic", ["messages.create"]), ("traceloop-anthropic", ["anthropic.chat"])]
)
def test_a_call_of_anthropics_client_and_its_stream_managers_has_one_span(
    python: Path, other: str, own: list[str]
) -> None:
    found = json.loads(run(python, "tests.e2e.beside", other).splitlines()[-1])
    assert found == {**{kind: ["chat m"] for kind in ANTHROPIC_KINDS}, "unwrapped": own}


@pytest.mark.timeout(400)
def test_with_coexist_the_other_span_is_there_too(python: Path) -> None:
    found = json.loads(run(python, "tests.e2e.beside", "traceloop", "coexist").splitlines()[-1])
    assert found["create"] == ["chat m", "openai.chat"]
