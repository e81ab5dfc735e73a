"""What may be exported, as a value, and how a setting or an environment variable says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ..errors import SettingsError

__all__ = ["CaptureMode", "Options", "Redaction", "capture_mode"]

CaptureMode: TypeAlias = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]

Redaction: TypeAlias = str | Callable[[str], str]
"""A regular expression whose matches are replaced, or a function from text to text."""

_OFF = frozenset({"", "false", "0", "no", "off", "none", "no_content"})
_ON = frozenset({"true", "1", "yes", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may leave the process.

    `capture` says where message content goes; `capture_injected` exports the injected texts too, in an attribute
    of their own. `max_attribute_chars` is the most that a part of a message keeps, and all parts of one attribute
    together, in code points. `redact` adds to the built-in rules; one that raises drops the content (fail closed).
    """

    capture: CaptureMode = "NO_CONTENT"
    capture_injected: bool = False
    max_attribute_chars: int = 65_536
    redact: tuple[Redaction, ...] = ()

    def __post_init__(self) -> None:
        if self.capture not in get_args(CaptureMode):
            raise SettingsError(f"Options: capture {self.capture!r} is none of {', '.join(get_args(CaptureMode))}")
        if self.max_attribute_chars < 1:
            raise SettingsError(f"Options: max_attribute_chars is {self.max_attribute_chars}; give a positive number")

    @property
    def on_span(self) -> bool:
        """Content goes on spans."""
        return self.capture in ("SPAN_ONLY", "SPAN_AND_EVENT")

    @property
    def on_event(self) -> bool:
        """Content goes on log events."""
        return self.capture in ("EVENT_ONLY", "SPAN_AND_EVENT")


def capture_mode(value: object) -> CaptureMode:
    """Read `capture_content` or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT.

    None, False, "False", "0", "no" and "" are off; a true value is SPAN_ONLY; the four names are themselves, in any
    case. Anything else raises `SettingsError`: a typing error must not switch content on, nor pass for off.

    >>> capture_mode("False"), capture_mode("span_and_event")
    ('NO_CONTENT', 'SPAN_AND_EVENT')
    """
    text = "" if value is None else str(value).strip().lower()
    if text in _OFF:
        return "NO_CONTENT"
    if text in _ON:
        return "SPAN_ONLY"
    for mode in get_args(CaptureMode):
        if text == mode.lower():
            found: CaptureMode = mode
            return found
    raise SettingsError(
        f"capture_content: {str(value)[:40]!r} is none of {', '.join(get_args(CaptureMode))}, true or false"
    )
