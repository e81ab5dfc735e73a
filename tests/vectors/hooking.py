"""Areas, kinds and scenarios about hooks: exit codes, aggregation, chaining, real commands, what is injected."""

from __future__ import annotations

import base64
import json
import os
import resource
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from middleware.errors import HookBlocked
from middleware.hooks import CallHooks, CommandHook, FunctionHook, Hook, HookResult, HookSet, aggregate, blocks, chain
from middleware.hooks.aggregate import NO_REASON, context_of, escape_expansion
from middleware.hooks.base import label_of
from middleware.hooks.command import timeout_of
from middleware.hooks.output import interpret
from middleware.injection import HOOK_TAG, Block, block_of, escape, is_tagged
from middleware.parts import Message, Part, Request, is_blank
from middleware.provenance import Origin, submitted_prompt
from middleware.turn import HookInput, HookOutcome, RunHooks, Scene, Turn
from tests.pace import open_descriptors, settled_descriptors

ORIGINS = {"".join(word.title() for word in origin.split("_")): origin for origin in Origin}
OPEN, CLOSE = f"<{HOOK_TAG}>", f"</{HOOK_TAG}>"
NOW = "2026-01-02T03:04:05.678Z"


@dataclass
class Canned:
    """A hook that gives a fixed result and keeps what it was given."""

    result: HookResult
    sequential: bool = True
    name: str = "canned"
    type: str = "canned"
    event: str = "UserPromptSubmit"
    timeout_ms: int = 1000
    is_async: bool = False
    seen: list[Mapping[str, object]] = field(default_factory=list)

    @property
    def label(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        return f"canned:{id(self)}"

    def call(self, payload: Mapping[str, object]) -> HookResult:
        self.seen.append(payload)
        return self.result

    async def call_async(self, payload: Mapping[str, object]) -> HookResult:
        return self.call(payload)


def run_hooks(hook_set: HookSet, hook_input: HookInput) -> tuple[HookOutcome, list[HookResult]]:
    """Drive a set's steps by hand, one hook after another."""
    results: list[HookResult] = []
    steps = hook_set.steps(hook_input, now=lambda: NOW)
    try:
        step: CallHooks = next(steps)
        while True:
            answers = [hook.call(payload) for hook, payload in step.calls]
            results += answers
            step = steps.send(answers)
    except StopIteration as end:
        return end.value, results


@dataclass(frozen=True)
class Sent:
    """What became of one turn."""

    sent: bool
    blocked: HookBlocked | None
    fired: tuple[HookInput, ...]
    context: str | None
    block: Block
    results: list[HookResult]


def run_turn(
    hooks: Sequence[Hook], text: str, *, origin: Origin = Origin.USER_QUERY, value: object = None, cwd: str = ""
) -> Sent:
    """Drive the real pipeline of one turn."""
    tool = origin is Origin.TOOL_RESULT
    message = Message(role="tool" if tool else "user", parts=(Part(kind="text", text=text),))
    turn = Turn(
        request=Request(messages=(message,), current=0, tool_result=tool),
        scene=Scene(session_id="s", cwd=cwd),
        origin=origin,
        submitted_prompt=submitted_prompt(origin, value),
        fires=bool(hooks),
    )
    fired: list[HookInput] = []
    results: list[HookResult] = []
    said = HookOutcome()
    steps = turn.prepare()
    try:
        step = next(steps)
        while True:
            assert isinstance(step, RunHooks)
            fired.append(step.input)
            said, results = run_hooks(HookSet(hooks=tuple(hooks)), step.input)
            step = steps.send(said)
    except StopIteration as end:
        block = end.value.block
        return Sent(True, None, tuple(fired), said.additional_context, block, results)
    except HookBlocked as error:
        return Sent(False, error, tuple(fired), said.additional_context, Block(), results)


def result_of(case: Mapping[str, Any]) -> HookResult:
    success = case.get("success", True)
    outcome = case.get("outcome", "success" if success else "non_blocking_error")
    return HookResult(success=success, outcome=outcome, output=case.get("output"), error=case.get("error"))


def exit_code(case: Mapping[str, Any]) -> dict[str, Any]:
    exit_status = case["exit"]
    result = interpret(
        case["event"],
        exit_code=-9 if isinstance(exit_status, str) or exit_status is None else exit_status,
        stdout=case["stdout"].encode("utf-8", "surrogatepass"),
        stderr=case["stderr"].encode("utf-8", "surrogatepass"),
        fail_closed=case.get("failMode") == "closed",
        name=case.get("name", "hook"),
    )
    reason = (result.output or {}).get("reason")
    name = case.get("name", "")
    return {
        "success": result.success,
        "outcome": result.outcome,
        "output": result.output,
        "error": result.error,
        "exit_code": result.exit_code,
        "reason_contains": name if isinstance(reason, str) and name in reason else reason,
    }


def aggregated(case: Mapping[str, Any]) -> dict[str, Any]:
    results = [result_of(result) for result in case["results"]]
    final = aggregate(case["event"], results)
    errors = [result.error for result in results if not result.success and result.error]
    said: dict[str, Any] = {"decision": None, "reason": None, **(final or {})}
    specific = said.get("hookSpecificOutput")
    said["additionalContext"] = context_of(final)
    said |= {f"hookSpecific_{key}": value for key, value in (specific or {}).items()}
    return said | {"final": final, "success": not errors, "errors": errors}


def chained(case: Mapping[str, Any]) -> dict[str, Any]:
    event, prompt = case["event"], case["prompt"]
    for output in case["outputs"]:
        prompt = chain(event, prompt, result_of(output))
    hooks = [Canned(result_of(output)) for output in case["outputs"]]
    last = Canned(HookResult(success=True, outcome="success"))
    hook_input = HookInput(
        scene=Scene(session_id="s"), prompt=case["prompt"], submitted_prompt=case.get("submitted_prompt")
    )
    run_hooks(HookSet(hooks=(*hooks, last)), hook_input)
    answer = {"next_prompt": prompt, "next_hook_runs": len(last.seen) == 1}
    if "submitted_prompt" in last.seen[0]:
        answer["next_submitted_prompt"] = last.seen[0]["submitted_prompt"]
    return answer


def block(case: Mapping[str, Any]) -> dict[str, Any]:
    blocked, reason = blocks(case["event"], case["final"])
    return {"blocked": blocked, "reason": reason}


def timeout_command(case: Mapping[str, Any]) -> int:
    return timeout_of(case.get("timeout"))[0]


def hook_input(case: Mapping[str, Any]) -> dict[str, object]:
    origin = ORIGINS[case.get("type", case.get("send_type", "UserQuery"))]
    value = submitted_prompt(origin, case.get("submittedPrompt"))
    prompt = case.get("prompt", "p")
    return HookInput(scene=Scene(session_id="s"), prompt=prompt, submitted_prompt=value).payload(NOW)


def escaped(case: Mapping[str, Any]) -> str:
    expansion = case.get("event") == "UserPromptExpansion"
    return (escape_expansion if expansion else escape)(case["additionalContext"])


def send_type(case: Mapping[str, Any]) -> dict[str, Any]:
    hooks = [Canned(HookResult(success=True, outcome="success"))] if case["hook_registered"] else []
    run_turn(hooks, "p", origin=ORIGINS[case["type"]], value=case.get("submittedPrompt"))
    seen = hooks[0].seen if hooks else []
    return {"hook_fires": bool(seen), "submitted_prompt_sent": any("submitted_prompt" in payload for payload in seen)}


def inject(case: Mapping[str, Any]) -> dict[str, Any]:
    final = aggregate("UserPromptSubmit", [HookResult(success=True, outcome="success", output=case["output"])])
    injected = block_of(context_of(final))
    parts = [*case["parts"], *({"text": text} for text in injected.texts)]
    payload = None
    if injected and case["send_type"] == "UserQuery":
        text = "".join(part["text"] for part in case["parts"] if isinstance(part.get("text"), str))
        payload = display_payload(text, case.get("submitted_prompt"), injected)
    return {"parts": parts, "payload": payload}


def display_payload(text: str, value: object, injected: Block) -> dict[str, str]:
    shown = value if isinstance(value, str) and not is_blank(value) else text
    return {"displayText": shown, "hookContext": injected.hook}


def function_hook(case: Mapping[str, Any]) -> dict[str, Any]:
    def fn(payload: Mapping[str, object]) -> object:
        if "throws" in case:
            raise RuntimeError(case["throws"])
        return case.get("returns")

    result = FunctionHook(fn).call({})
    return {"success": result.success, "outcome": result.outcome, "output": result.output, "error": result.error}


def hook_name_sanitize(case: Mapping[str, Any]) -> str:
    return label_of("", case["name"])


def command_hook(case: Mapping[str, Any]) -> dict[str, Any]:
    """Run a real command for a real turn."""
    prompt = case.get("prompt", "hello")
    hook = CommandHook(
        command=case["command"] if "command" in case else shlex.join(case["argv"]),
        name=case.get("name", ""),
        timeout_ms=timeout_of(case.get("timeout_s"))[0],
        env=case.get("env", {}),
        fail_closed=case.get("failMode") == "closed",
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    descriptors, children = len(settled_descriptors()), _children()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as cwd:
        turn = run_turn([hook], prompt, value=case.get("submitted_prompt"), cwd=cwd)
    wall = time.perf_counter() - started
    (result,) = turn.results
    left = {pid: state for pid, state in _children().items() if pid not in children}
    return {
        **_observed(turn, prompt, result),
        "finishes_before_s!limit": wall,
        "wall_max_s!limit": wall,
        "no_zombie": "Z" not in left.values(),
        "child_dead": not left,
        "no_fd_leak": len(open_descriptors()) <= descriptors,
        "peak_rss_growth_max_mb!limit": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }


def hook_stdout(case: Mapping[str, Any]) -> dict[str, Any]:
    """Interpret bytes that a hook printed, in a real turn with a second hook that sees what is passed on."""
    result = interpret(
        case.get("event", "UserPromptSubmit"),
        exit_code=case.get("exit_code", 0),
        stdout=base64.b64decode(case.get("stdout_b64", "")),
        stderr=base64.b64decode(case.get("stderr_b64", "")),
        fail_closed=case.get("failMode") == "closed",
    )
    prompt, value = "hello", "what was typed"
    after = Canned(HookResult(success=True, outcome="success"))
    turn = run_turn([Canned(result), after], prompt, value=value)
    return {
        **_observed(turn, prompt, result),
        "submitted_prompt_unchanged": after.seen[0].get("submitted_prompt") == value,
        "systemPayload_absent": not turn.block,
    }


def _observed(turn: Sent, prompt: str, result: HookResult) -> dict[str, Any]:
    blocked = turn.blocked
    reason = blocked.reason if blocked else None
    failed = "timeout" if result.outcome == "timeout" else "ok" if result.success else "error"
    return {
        "no_crash": True,
        "additionalContext": turn.context,
        "status": "blocked" if blocked else failed,
        "prompt_still_sent": turn.sent,
        "prompt_not_sent": not turn.sent,
        "reason": reason or "",
        "default_reason_supplied": reason == NO_REASON,
        "prompt_text_recoverable": blocked is not None and blocked.prompt == prompt,
        "diagnostic_emitted": bool(result.warnings or result.error),
        "exit_code": result.exit_code,
        "success": result.success,
        "outcome": result.outcome,
        "error": result.error,
        "output": result.output,
    }


def escape_injection(case: Mapping[str, Any]) -> dict[str, Any]:
    texts = [part.get("text") for part in case["user_parts"]]
    injected = block_of(case["additionalContext"])
    parts = [*texts, *injected.texts]
    last = parts[-1]
    line = _encoded({"parts": [{"text": text} for text in parts], "hookContext": injected.hook})
    closed = not injected or is_tagged(last)
    whole = line is not None and not any(0xD800 <= ord(character) <= 0xDFFF for character in last)
    return {
        "no_crash": True,
        "parts_count": len(parts),
        "first_part": parts[0],
        "last_part": last,
        "last_part_starts_with": OPEN if last.startswith(OPEN) else last[:40],
        "last_part_ends_with": CLOSE if last.endswith(CLOSE) else last[-40:],
        "literal_tag_count_in_last_part": last.count(OPEN),
        "written_line_is_valid_utf8": line is not None,
        "model_request_encodable": line is not None,
        "valid_utf8": line is not None,
        "reload_ok": line is not None and [part["text"] for part in json.loads(line)["parts"]] == parts,
        "no_empty_text_part": all(text is None or not is_blank(text) for text in parts),
        "if_truncated": {
            "marker_visible_to_model": not injected.truncated or "characters kept]" in last,
            "diagnostic_emitted": injected.truncated or len(case["additionalContext"]) < len(last),
            "tag_still_closed": closed,
            "no_split_surrogate": whole,
            "valid_utf8": line is not None,
        },
    }


def hook_chain(scenario: Mapping[str, Any]) -> list[str]:
    """Two hooks in sequence see what the scenario says; or one hook's context is recorded as it says."""
    given = scenario["input"]
    value = given.get("submitted_prompt")
    output = scenario.get("first_hook_output")
    if output is None:
        output = {"hookSpecificOutput": {"additionalContext": scenario["hook_context"]}}
    printed = interpret("UserPromptSubmit", exit_code=0, stdout=json.dumps(output).encode(), stderr=b"")
    second = Canned(HookResult(success=True, outcome="success"))
    turn = run_turn([Canned(printed), second], given["prompt"], value=value)
    failures: list[str] = []
    seen = second.seen[0]
    expected = dict(scenario.get("second_hook_input", {}))
    if expected.pop("submitted_prompt_absent", False) and "submitted_prompt" in seen:
        failures.append(f"submitted_prompt is {seen['submitted_prompt']!r}, expected absent")
    failures += [
        f"second hook's {key} is {seen.get(key)!r}, expected {wanted!r}"
        for key, wanted in expected.items()
        if seen.get(key) != wanted
    ]
    if "recorded_payload" in scenario:
        payload = display_payload(given["prompt"], value, turn.block) if turn.block else None
        if payload != scenario["recorded_payload"]:
            failures.append(f"payload is {payload!r}, expected {scenario['recorded_payload']!r}")
    return failures


def _encoded(value: object) -> bytes | None:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None


def _children() -> dict[int, str]:
    """Process ids of this process's children, with their state letters."""
    states = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == os.getpid():
            states[int(path.parent.name)] = after_name[0]
    return states


AREAS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "exit_code": exit_code,
    "aggregate": aggregated,
    "chain": chained,
    "block": block,
    "timeout_command": timeout_command,
    "hook_input": hook_input,
    "inject": inject,
    "escape": escaped,
    "escape_expansion": escaped,
    "send_type": send_type,
    "function_hook": function_hook,
    "hook_name_sanitize": hook_name_sanitize,
}
KINDS = {"command_hook": command_hook, "hook_stdout": hook_stdout, "escape_injection": escape_injection}
SCENARIOS = {"hook_chain": hook_chain}
