"""The JSON Schemas: valid themselves, true of what we send and of what the reference sent, open to more."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from middleware import Middleware, Settings
from middleware.errors import SettingsError
from middleware.hooks.events import FIRED
from middleware.hooks.output import KNOWN_KEYS
from middleware.hooks.schema import schema
from middleware.testing import LocalModel
from middleware.turn import HookInput, Scene

ROOT = Path(__file__).parents[2]
PAYLOADS = json.loads((ROOT / "tests" / "data" / "golden" / "hook-stdin.json").read_text(encoding="utf-8"))
NOW = "2026-01-02T03:04:05.678Z"


def validate(event: str, value: object, direction: Any = "input") -> None:
    Draft202012Validator(schema(event, direction)).validate(value)


def given_to(event: str, **more: Any) -> dict[str, object]:
    details: dict[str, dict[str, object]] = {
        "UserPromptSubmit": {},
        "SessionStart": {"source": "startup", "model": "m"},
        "SubagentStart": {"agent_type": "general"},
    }
    agent = "a" if event == "SubagentStart" else None
    prompt = "p" if event == "UserPromptSubmit" else None
    given = HookInput(event=event, scene=Scene(session_id="s", agent_id=agent), prompt=prompt, details=details[event])
    return given.payload(NOW) | more


@pytest.mark.parametrize("event", FIRED)
@pytest.mark.parametrize("direction", ["input", "output"])
def test_every_event_has_a_schema_that_is_one(event: str, direction: Any) -> None:
    Draft202012Validator.check_schema(schema(event, direction))
    assert schema(event, direction)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_another_event_or_direction_is_an_error() -> None:
    with pytest.raises(SettingsError, match="'Stop' is no event that is fired here; ask for one of UserPromptSubmit, "):
        schema("Stop")
    with pytest.raises(ValueError, match="use input or output"):
        schema("UserPromptSubmit", "both")  # type: ignore[arg-type]


@pytest.mark.parametrize("event", FIRED)
def test_what_an_event_sends_validates_and_more_fields_do_too(event: str) -> None:
    validate(event, given_to(event))
    validate(event, given_to(event, prompt_id="x", agent_id="a", agent_type="t", tomorrow=[1]))


@pytest.mark.parametrize(
    ("event", "field"),
    [(event, field) for event in FIRED for field in ("session_id", "transcript_path", "cwd", "hook_event_name")]
    + [("UserPromptSubmit", "prompt"), ("SessionStart", "source"), ("SubagentStart", "agent_type")],
)
def test_what_a_hook_may_rely_on_is_required(event: str, field: str) -> None:
    payload = given_to(event)
    del payload[field]
    with pytest.raises(ValidationError, match=f"'{field}' is a required property"):
        validate(event, payload)


@pytest.mark.parametrize("value", [None, "", 3])
def test_a_submitted_prompt_is_absent_or_text(value: object) -> None:
    validate("UserPromptSubmit", given_to("UserPromptSubmit", submitted_prompt="as typed"))
    with pytest.raises(ValidationError):
        validate("UserPromptSubmit", given_to("UserPromptSubmit", submitted_prompt=value))


def test_an_event_is_not_another() -> None:
    with pytest.raises(ValidationError):
        validate("UserPromptSubmit", given_to("UserPromptSubmit", hook_event_name="SessionStart"))


@given(prompt=st.text(), submitted=st.none() | st.text(min_size=1), session=st.text(), folder=st.text())
def test_any_prompt_makes_a_valid_payload(prompt: str, submitted: str | None, session: str, folder: str) -> None:
    scene = Scene(session_id=session, cwd=folder, prompt_id="1")
    validate("UserPromptSubmit", HookInput(scene=scene, prompt=prompt, submitted_prompt=submitted).payload(NOW))


def test_what_a_wrapped_client_sends_validates(tmp_path: Path) -> None:
    seen: list[dict[str, object]] = []
    app = Middleware(Settings(transcripts=str(tmp_path / "t")))
    for event in FIRED:
        app.hook(event, seen.append)
    with LocalModel().openai() as client:
        wrapped = app.wrap(client)
        with app.session("main") as main:
            wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        with app.session("sub", parent=main):
            wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    app.close()
    assert {str(payload["hook_event_name"]) for payload in seen} == set(FIRED)
    for payload in seen:
        validate(str(payload["hook_event_name"]), json.loads(json.dumps(payload)))


REFERENCE = """
{"session_id":"a6685e56-79b4-457e-b9f3-0eb2a186f5bf","transcript_path":"/H/chats/a6685e56.jsonl","cwd":"/PROJ",\
"hook_event_name":"UserPromptSubmit","timestamp":"2026-11-30T15:21:20.890Z","permission_mode":"yolo",\
"prompt_id":"a6685e56-79b4-457e-b9f3-0eb2a186f5bf########0","prompt":""}
"""


def test_what_the_reference_sent_validates() -> None:
    validate("UserPromptSubmit", json.loads(REFERENCE.replace("\\\n", "")))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_recorded_payload_of_the_reference_validates(payload: object) -> None:
    validate("UserPromptSubmit", payload)


@pytest.mark.parametrize("event", FIRED)
def test_an_output_has_every_key_that_counts_and_may_have_others(event: str) -> None:
    assert set(schema(event, "output")["properties"]) == KNOWN_KEYS | {"additionalContext"}
    context = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "c", "artifacts": []}}
    for value in ({}, {"decision": "block", "reason": "no"}, {"continue": False, "x": 1}, context):
        validate(event, value, "output")
    for value in ([], {"decision": "maybe"}, {"continue": "no"}, {"hookSpecificOutput": {"additionalContext": 3}}):
        with pytest.raises(ValidationError):
            validate(event, value, "output")


def test_a_misplaced_context_is_marked_in_the_schema() -> None:
    misplaced = schema("UserPromptSubmit", "output")["properties"]["additionalContext"]
    assert misplaced == {"deprecated": True, "description": "Ignored here: put it into hookSpecificOutput."}


def test_the_package_that_is_built_has_them() -> None:
    [listed] = [
        pattern
        for pattern in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
            "middleware"
        ]
        if pattern.endswith(".json")
    ]
    found = sorted(path.name for path in (ROOT / "middleware").glob(listed))
    assert found == sorted(f"{event}.{direction}.json" for event in FIRED for direction in ("input", "output"))
