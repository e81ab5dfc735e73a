"""One LLM span a call, beside other instrumentors: their own switches, thrown around our client's methods.

The keys belong to their libraries. openinference and logfire know only the SDK's `suppress_instrumentation`, which
silences the HTTP client's spans too; it is thrown only when one of them is loaded.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager, nullcontext
from contextvars import Token

from opentelemetry import context as otel_context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context

from .guard import attempt

__all__ = ["outer_context", "outside", "suppressing"]

_OUTER = otel_context.create_key("firsthand-outer")
_TRACELOOP_KEY = "suppress_language_model_instrumentation"
_PLAIN_KEY = "suppress_instrumentation"
_TRACELOOP = "opentelemetry.semconv_ai"
_GENAI = "opentelemetry.util.genai.invocation"
_OPENINFERENCE, _LOGFIRE = "openinference.instrumentation", "logfire"
_AS_IT_IS: AbstractContextManager[None] = nullcontext()


class _Attached:
    """Makes a context the current one within a `with`, in one frame."""

    __slots__ = ("_context", "_token")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._token: Token[Context] | None = None

    def __enter__(self) -> None:
        self._token = otel_context.attach(self._context)

    def __exit__(self, *raised: object) -> None:
        if self._token is not None:
            otel_context.detach(self._token)


def suppressing(coexist: bool) -> AbstractContextManager[None]:
    """Keep other instrumentors from making spans in the `with`; `coexist` true leaves them alone.

    Enter it at once, and leave it in the same frame. A library that is not loaded costs a dictionary look-up.
    """
    context = None if coexist else _suppressed()
    if context is None:
        return _AS_IT_IS
    return _Attached(otel_context.set_value(_OUTER, otel_context.get_current(), context))


def outside() -> AbstractContextManager[None] | None:
    """What is as before `suppressing` in its `with`; None where nothing is suppressed."""
    outer = otel_context.get_current().get(_OUTER)
    return _Attached(outer) if isinstance(outer, Context) else None


def outer_context() -> Context:
    """The current context as it was before `suppressing`: what our own spans are made in.

    A processor may drop a span that is made where instrumentation is suppressed.
    """
    current = otel_context.get_current()
    outer = current.get(_OUTER)
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
    if _OPENINFERENCE in loaded or _LOGFIRE in loaded:
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
