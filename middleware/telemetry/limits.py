"""The lengths at which OpenTelemetry's SDK cuts attributes, which would cut JSON in two."""

from __future__ import annotations

from opentelemetry._logs import Logger
from opentelemetry.trace import Span

__all__ = ["length_limit"]


def length_limit(span: Span, logger: Logger | None) -> int | None:
    """The least length at which an attribute of `span`, or of an event of `logger`, is cut; None for no such length.

    The SDK keeps it, from its environment variables or from who made the provider, where only it should look.
    """
    found = getattr(getattr(span, "_limits", None), "max_span_attribute_length", None)
    if logger is not None:
        # What the API gives out before a provider is set.
        own = getattr(logger, "_real_logger", None) or logger
        other = getattr(getattr(own, "_log_record_limits", None), "max_log_record_attribute_length", None)
        known = [length for length in (found, other) if isinstance(length, int)]
        return min(known, default=None)
    return found if isinstance(found, int) else None
