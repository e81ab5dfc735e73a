"""One LLM span a call, beside other instrumentors: their own switches, thrown around our client's methods.

The keys belong to their libraries. openinference and logfire know only the SDK's `suppress_instrumentation`, which
silences the HTTP client's spans too; it is thrown only when one of them is loaded.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context

from .guard import attempt

__all__ = ["outer_context", "outside", "suppressing"]

_OUTER = otel_context.create_key("firsthand-outer")
_TRACELOOP_KEY = "suppress_language_model_instrumentation"
_PLAIN_KEY = "suppress_instrumentation"
_TRACELOOP = "opentelemetry.semconv_ai"
_GENAI = "opentelemetry.util.genai.invocation"
_BLUNT = ("openinference.instrumentation", "logfire")


@contextmanager
def suppressing(coexist: bool) -> Iterator[None]:
    """Keep other instrumentors from making spans in the `with`; `coexist` true leaves them alone.

    Enter and leave it in one frame. A library that is not loaded costs a dictionary look-up.
    """
    context = None if coexist else _suppressed()
    if context is None:
        yield
        return
    token = otel_context.attach(otel_context.set_value(_OUTER, otel_context.get_current(), context))
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def outside() -> Iterator[None]:
    """Be as before `suppressing` in the `with`; nothing where nothing is suppressed."""
    current = otel_context.get_current()
    outer = otel_context.get_value(_OUTER, current)
    if not isinstance(outer, Context):
        yield
        return
    token = otel_context.attach(outer)
    try:
        yield
    finally:
        otel_context.detach(token)


def outer_context() -> Context:
    """The current context as it was before `suppressing`: what our own spans are made in.

    A processor may drop a span that is made where instrumentation is suppressed.
    """
    current = otel_context.get_current()
    outer = otel_context.get_value(_OUTER, current)
    return outer if isinstance(outer, Context) else current


def _suppressed() -> Context | None:
    """The current context with every loaded instrumentor's switch thrown; None when none is loaded."""
    loaded = sys.modules
    context: Context | None = None
    if _TRACELOOP in loaded:
        context = otel_context.set_value(_TRACELOOP_KEY, True, context)
    if _GENAI in loaded:
        before = context
        context = attempt("coexist", lambda: _without_genai(before), before)
    if any(name in loaded for name in _BLUNT):
        context = otel_context.set_value(_PLAIN_KEY, True, context)
        context = otel_context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True, context)
    return context


def _without_genai(context: Context | None) -> Context | None:
    """util-genai (1.3b0) takes a call for a nested one when its key holds its own data object."""
    genai = importlib.import_module(_GENAI)
    for key, kind in (
        ("CLIENT_INFERENCE_CONTEXT_KEY", "InferenceData"),
        ("CLIENT_EMBEDDING_CONTEXT_KEY", "EmbeddingData"),
    ):
        context = otel_context.set_value(getattr(genai, key), getattr(genai, kind)(), context)
    return context
