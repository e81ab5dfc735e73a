"""The areas of HTTP hooks, and the timeouts of all hooks that are no command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from middleware.hooks import FunctionHook
from middleware.hooks.exchange import Answer
from middleware.hooks.guard import Refused, Security, admitted
from middleware.hooks.http import HttpHook
from middleware.hooks.interpolation import interpolated
from middleware.hooks.prompt import PromptHook
from middleware.hooks.reply import read

ABSENT = "__absent__"
CONFIGURED: dict[str, tuple[Any, dict[str, object]]] = {
    "http": (HttpHook, {"url": "http://localhost/"}),
    "prompt": (PromptHook, {"prompt": "p"}),
}


def http_parse(case: Mapping[str, Any]) -> Mapping[str, object] | None:
    answer = Answer(status=case["status"], content_type=case["content_type"].lower(), body=case["body"].encode())
    return read(case["event"], answer).output


def http_status(case: Mapping[str, Any]) -> dict[str, Any]:
    result = read("UserPromptSubmit", Answer(status=case["status"], body=b'{"decision": "block"}'))
    return {"success": result.success, "outcome": result.outcome, "output": result.output}


def env_interp(case: Mapping[str, Any]) -> str:
    return interpolated(case["value"], case["allowedEnvVars"], case["env"])


def url_rule(case: Mapping[str, Any]) -> bool:
    security = Security.configured(
        {key: case[key] for key in ("allowPrivateNetworkHooks", "allowedHttpHookUrls") if key in case}, where="vector"
    )
    try:
        admitted(case["url"], security)
    except Refused:
        return False
    return True


def timeout_other(case: Mapping[str, Any]) -> int:
    entry = {key: case[key] for key in ("timeout",) if case.get(key, ABSENT) != ABSENT}
    if case["type"] == "function":
        return FunctionHook(lambda given: None, **({"timeout_ms": entry["timeout"]} if entry else {})).timeout_ms
    executor, needed = CONFIGURED[case["type"]]
    hook, _ = executor.configured({**needed, **entry}, event="UserPromptSubmit", sequential=False, where="vector")
    timeout: int = hook.timeout_ms
    return timeout


AREAS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "http_parse": http_parse,
    "http_status": http_status,
    "env_interp": env_interp,
    "url_rule": url_rule,
    "timeout_other": timeout_other,
}
