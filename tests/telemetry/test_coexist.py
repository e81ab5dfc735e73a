"""Other instrumentors' switches, thrown in the `with` and only for what is loaded."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

import pytest
from opentelemetry import context

from middleware.telemetry import suppressing


def test_with_nothing_loaded_the_context_is_untouched() -> None:
    before = context.get_current()
    with suppressing(False):
        assert context.get_current() is before


def test_traceloops_own_key_is_used_and_the_blunt_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.semconv_ai", types.ModuleType("opentelemetry.semconv_ai"))
    with suppressing(False):
        assert context.get_value("suppress_language_model_instrumentation") is True
        assert context.get_value("suppress_instrumentation") is None
    assert context.get_value("suppress_language_model_instrumentation") is None


def test_beside_openinference_the_blunt_key_is_thrown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openinference.instrumentation", types.ModuleType("openinference"))
    with suppressing(False):
        assert context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY) is True
    assert context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY) is None


def test_util_genai_finds_its_own_data_under_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class InferenceData:
        error_type: str | None = None

    class EmbeddingData(InferenceData): ...

    module = types.ModuleType("opentelemetry.util.genai.invocation")
    module.__dict__.update(
        InferenceData=InferenceData,
        EmbeddingData=EmbeddingData,
        CLIENT_INFERENCE_CONTEXT_KEY="inference",
        CLIENT_EMBEDDING_CONTEXT_KEY="embedding",
    )
    monkeypatch.setitem(sys.modules, "opentelemetry.util.genai.invocation", module)
    with suppressing(False):
        assert isinstance(context.get_value("inference"), InferenceData)


def test_coexist_leaves_them_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.semconv_ai", types.ModuleType("opentelemetry.semconv_ai"))
    with suppressing(True):
        assert context.get_value("suppress_language_model_instrumentation") is None
