"""What several results say together, and what the next hook of a sequence is told.

Pure. Source: hooks-and-transcripts 1.3 (blocking tests), 1.7 (chaining), 1.8 (aggregation), D10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .base import HookResult

__all__ = [
    "NO_REASON",
    "aggregate",
    "blocks",
    "chain",
    "context_of",
    "effective_reason",
    "escape_expansion",
    "is_blocking",
]

NO_REASON = "No reason provided"
BLOCKING_ERROR = "Hook exited with a blocking error"

_EXPANSION_UNITS = 10_000
_STOP_IS_ENOUGH = frozenset({"Stop", "SubagentStop", "PostToolBatch", "PreToolUse"})
_LAST_WINS = ("systemMessage", "suppressOutput")


def aggregate(event: str, results: Sequence[HookResult]) -> dict[str, object] | None:
    """Merge the outputs of one event, failed hooks included, in the order given; None when nobody said anything.

    One output passes as it is. Of several: block beats allow, `approve` and `ask` vanish, contexts are joined by one
    newline; the reasons are those of the hooks that blocked, if any did (D10). An outcome `blocking` is a deny
    whatever the payload says.
    """
    outputs = [result.output for result in results if result.output is not None]
    reasons = _reasons(results)
    final = dict(outputs[0]) if len(outputs) == 1 else _merged(outputs, reasons) if outputs else None
    blocking = any(result.outcome == "blocking" for result in results)
    exempt = event in _STOP_IS_ENOUGH and final is not None and final.get("continue") is False
    if blocking and not exempt and (final is None or not _refuses(final)):
        final = {**(final or {}), "decision": "deny", "reason": "\n".join(reasons) or BLOCKING_ERROR}
    return final


def blocks(event: str, final: Mapping[str, object] | None) -> tuple[bool, str | None]:
    """Whether a merged output blocks `event`, and then the effective reason."""
    if final is None or not (_refuses(final) or final.get("continue") is False):
        return False, None
    return True, effective_reason(final)


def effective_reason(output: Mapping[str, object]) -> str:
    """The first non-empty string of `stopReason` and `reason`, else `NO_REASON`."""
    for key in ("stopReason", "reason"):
        value = output.get(key)
        if isinstance(value, str) and value:
            return value
    return NO_REASON


def chain(event: str, prompt: str, result: HookResult) -> str:
    """The `prompt` of the next hook in a sequence: a blank line and the raw context are added (1.7)."""
    context = context_of(result.output) if result.success else None
    if not context:
        return prompt
    if event == "UserPromptExpansion":
        context = escape_expansion(context)
    return f"{prompt}\n\n{context}" if event in ("UserPromptSubmit", "UserPromptExpansion") else prompt


def context_of(output: Mapping[str, object] | None) -> str | None:
    """`hookSpecificOutput.additionalContext` if it is a string, as the hook gave it."""
    specific = output.get("hookSpecificOutput") if output is not None else None
    context = specific.get("additionalContext") if isinstance(specific, Mapping) else None
    return context if isinstance(context, str) else None


def is_blocking(result: HookResult) -> bool:
    """Whether this hook is one that blocked: by its exit, its decision or a stop."""
    output = result.output
    stops = output is not None and (_refuses(output) or output.get("continue") is False)
    return result.outcome == "blocking" or stops


def escape_expansion(text: str) -> str:
    """Escape a UserPromptExpansion context: `&` first, then the brackets; at most 10,000 UTF-16 units (2.2).

    A cut leaves neither half a character nor a piece of an entity.
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    units = escaped.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * _EXPANSION_UNITS:
        return escaped
    cut = units[: 2 * _EXPANSION_UNITS].decode("utf-16-le", "ignore")
    ampersand = cut.rfind("&")
    return cut[:ampersand] if ampersand >= 0 and ";" not in cut[ampersand:] else cut


def _refuses(output: Mapping[str, object]) -> bool:
    return output.get("decision") in ("block", "deny")


def _reasons(results: Sequence[HookResult]) -> list[str]:
    """The reasons that count: the blockers' when anything blocks, else everyone's."""
    blockers = [result for result in results if is_blocking(result)]
    said = [result.output.get("reason") for result in blockers or results if result.output is not None]
    return [reason for reason in said if isinstance(reason, str) and reason]


def _merged(outputs: Sequence[Mapping[str, object]], reasons: Sequence[str]) -> dict[str, object]:
    merged: dict[str, object] = {}
    if any(_refuses(output) for output in outputs):
        merged["decision"] = "block"
    elif any(output.get("decision") == "allow" for output in outputs):
        merged["decision"] = "allow"
    if reasons:
        merged["reason"] = "\n".join(reasons)
    for output in outputs:
        if output.get("continue") is False:
            merged["continue"] = False
            if output.get("stopReason"):
                merged["stopReason"] = output["stopReason"]
        merged |= {key: output[key] for key in _LAST_WINS if output.get(key) is not None}
    sequences = [output.get("terminalSequence") for output in outputs]
    terminal = "".join(sequence for sequence in sequences if isinstance(sequence, str))
    if terminal:
        merged["terminalSequence"] = terminal
    specific = _specific(outputs)
    if specific:
        merged["hookSpecificOutput"] = specific
    return merged


def _specific(outputs: Sequence[Mapping[str, object]]) -> dict[str, object]:
    merged: dict[str, object] = {}
    artifacts: list[object] = []
    for output in outputs:
        specific = output.get("hookSpecificOutput")
        if isinstance(specific, Mapping):
            merged |= {key: value for key, value in specific.items() if key not in ("additionalContext", "artifacts")}
            listed = specific.get("artifacts")
            artifacts += listed if isinstance(listed, list) else []
    contexts = [context for output in outputs if (context := context_of(output)) is not None]
    if contexts:
        merged["additionalContext"] = "\n".join(contexts)
    if artifacts:
        merged["artifacts"] = artifacts
    return merged
