"""What hooks say and are told is in no exported byte and in no log line, whichever executor and ending."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import HookBlocked, Middleware
from middleware.telemetry.providers import providers
from middleware.testing import LocalModel
from tests.hooks.http_server import Server, answer, serving

CANARY = "CANARY-7f3a"
PROMPT = f"{CANARY}-prompt"
WHOLE = logging.Formatter("%(name)s %(levelname)s %(message)s")


def context(text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}})


@pytest.fixture
def endpoint() -> Iterator[Server]:
    with serving(lambda connection: connection.send(answer(context(f"{CANARY}-http").encode()))) as server:
        yield server


@pytest.fixture
def sink() -> Iterator[Server]:
    with serving(lambda connection: connection.send(answer(b"", kind="application/x-protobuf"))) as server:
        yield server


def entries(endpoint: Server) -> dict[str, dict[str, Any]]:
    say = context(f"{CANARY}-out")
    return {
        "context": {"type": "command", "command": f"echo '{say}'; echo {CANARY}-err >&2"},
        "crash": {"type": "command", "command": f"echo {CANARY}-out; echo {CANARY}-err >&2; exit 3"},
        "rubbish": {"type": "command", "command": f"printf '{{{CANARY}'"},
        "block": {"type": "command", "command": f"echo {CANARY}-reason >&2; exit 2"},
        "timeout": {"type": "command", "command": f"echo {CANARY}; sleep 9", "timeout": 0.2},
        "http": {
            "type": "http",
            "url": endpoint.url(f"/hook?token={CANARY}-query"),
            "headers": {"Authorization": f"Bearer {CANARY}-header"},
        },
        "http-refused": {"type": "http", "url": f"http://127.0.0.1:1/x?token={CANARY}-query"},
        "prompt": {"type": "prompt", "prompt": f"{CANARY}-template $ARGUMENTS"},
    }


def raises(payload: Any) -> None:
    raise RuntimeError(f"{CANARY}-exception {payload['prompt']}")


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "name",
    [
        "context",
        "crash",
        "rubbish",
        "block",
        "timeout",
        "http",
        "http-refused",
        "prompt",
        "function",
        "function-raises",
    ],
)
def test_no_canary_leaves(
    name: str,
    sdk: str,
    endpoint: Server,
    sink: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    clean_environment: None,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url(""))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    functions = {"function": [lambda payload: f"{CANARY}-function"], "function-raises": [raises]}
    file = tmp_path / "hooks.json"
    listed = [entries(endpoint)[name]] if name not in functions else []
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": listed}]}}))
    ours = providers(service_name="canary")
    model = LocalModel('{"ok": true, "additionalContext": "CANARY-7f3a-answer"}')
    with (
        caplog.at_level(logging.DEBUG),
        Middleware.from_settings(
            hooks=functions.get(name, []),
            hooks_file=file,
            tracer_provider=ours.traces,
            meter_provider=ours.metrics,
            logger_provider=ours.logs,
        ) as app,
        getattr(model, sdk)() as plain,
    ):
        client = app.wrap(plain)
        messages: Any = [{"role": "user", "content": PROMPT}]
        try:
            if sdk == "openai":
                client.chat.completions.create(model="m", messages=messages)
            else:
                client.messages.create(model="m", max_tokens=9, messages=messages)
        except HookBlocked as blocked:
            assert name == "block" and blocked.prompt == PROMPT
        ours.shutdown()
    exported = b"".join(request.body for request in sink.requests)
    assert b"firsthand.turn" in exported and b"firsthand.hook_call" in exported
    assert CANARY.encode() not in exported
    assert CANARY not in "\n".join(map(WHOLE.format, caplog.records))
