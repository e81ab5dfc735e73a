"""Areas about telemetry: hook_name_sanitize, telemetry_hook_call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from middleware.provenance import Origin
from middleware.telemetry import Options, hook_label
from tests.telemetry.taps import Tap, settle

_PREFIX = "firsthand.hook."


def hook_name_sanitize(case: Mapping[str, Any]) -> str:
    return hook_label(case.get("name"), case.get("command"))


def telemetry_hook_call(case: Mapping[str, Any]) -> dict[str, Any]:
    """What is exported about a failed hook call, whichever of span and event has it."""
    tap = Tap(Options(capture="SPAN_AND_EVENT" if case["capture_content"] else "NO_CONTENT"))
    trace = tap.signals.start_turn(conversation_id=None, origin=Origin.USER_QUERY)
    hook = trace.start_hook(event=case["event"], type="command", label="check.sh")
    hook.finish(
        outcome="error",
        success=False,
        duration_ms=1.5,
        exit_code=1,
        output_chars=len(case.get("stdout", "")),
        error=case.get("error"),
    )
    settle(trace, None)
    (found,) = [attributes for name, attributes in tap.events if name == "firsthand.hook_call"]
    span = next(span.attributes or {} for span in tap.spans if span.name == "firsthand.hook check.sh")
    assert dict(span) == dict(found)
    order = ("event", "type", "name", "outcome", "duration_ms", "success", "exit_code", "output_chars", "error")
    suffixes = {name.removeprefix(_PREFIX) for name in found}
    return {"exported": [name for name in order if name in suffixes] + sorted(suffixes.difference(order))}


AREAS = {"hook_name_sanitize": hook_name_sanitize, "telemetry_hook_call": telemetry_hook_call}
