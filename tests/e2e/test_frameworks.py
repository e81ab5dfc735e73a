"""Frameworks that take a client, the real packages, against aimock: they lose nothing, and one chain tells it all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.aimock import Aimock
from tests.e2e.environments import environment, run

PYDANTIC_AI = "pydantic-ai-slim[openai]==2.68.0"
OPENAI_AGENTS = "openai-agents==0.24.0"
LANGCHAIN = "langchain-openai==1.7.4"
INSTRUCTOR = ("instructor==1.17.0", "openai==3.3.0")  # It pins a jiter that newer openai packages refuse.

CONVERSATIONS = {
    "pydantic_agent": ("chat_sync", "chat", "chat_stream", "responses", "responses_stream"),
    "openai_agents": ("chat_sync", "chat", "chat_stream", "responses", "responses_stream"),
    "langchain_chat": (
        *("chat", "chat_later", "chat_stream", "chat_astream"),
        *("responses", "responses_later", "responses_stream", "responses_astream"),
    ),
}
RETRIES = {"pydantic_agent": ("retry",), "instructor_models": ("tools", "tools_later", "words", "words_later")}
QUESTIONS = {"langchain_chat": ("parse", "parse_later"), "instructor_models": ("partial", "partial_later")}

CANARY = "CANARY-7f3a"
PERSON = "please find it"
pytestmark = pytest.mark.timeout(400)


def tag(number: int) -> str:
    return f"<qwen:user-prompt-submit-context>\n{CANARY}-{number}\n</qwen:user-prompt-submit-context>"


def every(*tables: dict[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    pairs = [(program, scene) for table in tables for program, scenes in table.items() for scene in scenes]
    return pytest.mark.parametrize(("program", "scene"), pairs)


wrapped_twice = pytest.mark.parametrize("variant", ["wrapped", "named"])


@pytest.fixture(scope="module")
def played(aimock: Aimock) -> Any:
    """What a program found, played once; with what aimock received, by scene and variant."""
    done: dict[str, Any] = {}

    def play(program: str) -> Any:
        if program not in done:
            output = run(python_of(program), f"tests.e2e.frameworks.{program}", aimock.url)
            done[program] = json.loads(output.splitlines()[-1])
            for entry in aimock.journal():
                scene, _, variant = entry["headers"].get("x-test-id", "").partition("/")
                if scene.startswith(f"{program}:"):
                    found = done[program][scene.removeprefix(f"{program}:")][variant]
                    found.setdefault("received", []).append(entry["body"])
        return done[program]

    return play


def python_of(program: str) -> Path:
    if program == "instructor_models":
        return environment("instructor", *INSTRUCTOR, extras=(), pre=False)
    return environment("agents", PYDANTIC_AI, OPENAI_AGENTS, LANGCHAIN, pre=False)


def messages_of(body: Any) -> list[Any]:
    found = body["messages"] if "messages" in body else body["input"]
    return [{"role": "user", "content": found}] if isinstance(found, str) else found


def texts(message: Any) -> list[str]:
    """The texts of a message that was sent, of a tool's result too."""
    content = message["output"] if "output" in message else message.get("content")
    return [content] if isinstance(content, str) else [part["text"] for part in content or () if "text" in part]


def of_people(body: Any) -> list[list[str]]:
    """The texts of the messages whose role is user, in order."""
    return [texts(message) for message in messages_of(body) if message.get("role") == "user"]


def bare(body: Any) -> Any:
    """A body without tagged parts, and without the ids that aimock makes anew for every answer."""
    messages = []
    for message in messages_of(body):
        kept = {name: value for name, value in message.items() if name != "id"}
        content = message.get("content")
        if isinstance(content, list):
            parts = [part for part in content if CANARY not in part.get("text", "")]
            if not parts:
                continue
            is_plain = message["role"] == "user" and len(parts) == 1
            kept["content"] = parts[0]["text"] if is_plain else parts
        messages.append(kept)
    return {**body, "input" if "input" in body else "messages": messages}


@every(CONVERSATIONS, RETRIES, QUESTIONS)
@wrapped_twice
def test_the_application_gets_what_it_gets_unwrapped(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene]
    assert found[variant]["result"] == found["plain"]["result"]
    assert found[variant]["accepted"] is True
    assert found[variant]["warnings"] == []
    assert CANARY not in json.dumps(found[variant]["result"])


@every(CONVERSATIONS, RETRIES, QUESTIONS)
@wrapped_twice
def test_the_requests_differ_by_the_tagged_parts_alone(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene]
    assert [bare(body) for body in found[variant]["sent"]] == [bare(body) for body in found["plain"]["sent"]]


@every(CONVERSATIONS, RETRIES, QUESTIONS)
@wrapped_twice
def test_aimock_received_what_was_sent(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene][variant]
    if scene.startswith("responses"):
        # The journal flattens what the Responses API takes into chat messages of one string each.
        joined = [["".join(said) for said in of_people(body)] for body in found["sent"]]
        assert [["".join(said) for said in of_people(body)] for body in found["received"]] == joined
    else:
        # It adds fields of its own, which begin with an underscore.
        received = [{name: body[name] for name in body if name[0] != "_"} for body in found["received"]]
        assert received == found["sent"]


@every(CONVERSATIONS)
@wrapped_twice
def test_each_message_is_tagged_once_and_keeps_its_bytes(played: Any, program: str, scene: str, variant: str) -> None:
    first, second, third = played(program)[scene][variant]["sent"]
    asked, looked, thanked = [PERSON, tag(1)], [tag(2)], ["thanks", tag(3)]
    assert of_people(first) == [asked]
    assert of_people(second) == [asked, looked]
    assert of_people(third) == [asked, looked, thanked]
    assert [texts(message) for message in messages_of(second)][-2:] == [["seen 1"], looked]
    one, two, three = (json.dumps(messages_of(body))[:-1] for body in (first, second, third))
    assert two.startswith(one) and three.startswith(two)


@every(CONVERSATIONS)
@wrapped_twice
def test_a_model_call_has_one_span_with_the_words_from_before(
    played: Any, program: str, scene: str, variant: str
) -> None:
    found = played(program)[scene][variant]
    spans = found["spans"]
    assert [(span["name"], span["status"]) for span in spans] == [("chat searcher", "UNSET")] * 3
    said = [[heard(message) for message in span["input"] if message["role"] == "user"] for span in spans]
    assert said == [[PERSON], [PERSON], [PERSON, "thanks"]]
    assert [heard(span["output"][0]) for span in spans] == ["", "I looked.", "You are welcome."]
    assert spans[0]["output"][0]["parts"][0]["name"] == "look"
    assert [span["stream"] for span in spans] == [bool(body.get("stream")) for body in found["sent"]]
    assert {span["conversation"] for span in spans} == {"conversation-1" if variant == "named" else None}


@every(CONVERSATIONS, RETRIES, QUESTIONS)
@wrapped_twice
def test_no_injected_text_is_exported(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene][variant]
    assert found["leaked"] is False
    assert len(found["spans"]) == len(found["sent"]) == len(found["prompts"])
    assert found["others"] == ["firsthand.hook <lambda>", "firsthand.turn"]


@every(CONVERSATIONS)
@wrapped_twice
def test_the_transcript_is_one_chain(played: Any, program: str, scene: str, variant: str) -> None:
    (records,) = played(program)[scene][variant]["transcripts"]
    kinds = ["user", "assistant", "tool_result", "assistant", "user", "assistant"]
    assert [record["type"] for record in records] == kinds
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]
    shown = [record["systemPayload"]["displayText"] for record in records if record["type"] == "user"]
    assert shown == [PERSON, "thanks"]
    result, context = records[2]["message"]["parts"]
    assert result["functionResponse"] == {"id": "call_1", "name": "look", "response": {"output": "seen 1"}}
    assert context == {"text": tag(2)}


@every(RETRIES)
@wrapped_twice
def test_what_a_framework_asks_again_is_nobodys_submission(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene][variant]
    first, second = found["sent"]
    assert [span["submitted"] for span in found["spans"]] == ["how many?", None]
    assert found["vouched"] == ["how many?", None]
    assert of_people(first) == [["how many?", tag(1)]]
    asked, again = of_people(second)
    assert asked == ["how many?", tag(1)]
    assert again[-1] == tag(2) and len(again) == (1 if scene.startswith("tools") else 2)
    (records,) = found["transcripts"]
    again_is = "tool_result" if scene.startswith("tools") else "user"
    assert [record["type"] for record in records] == ["user", "assistant", again_is, "assistant"]
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]


@every(QUESTIONS)
@wrapped_twice
def test_a_question_with_a_model_as_its_answer_is_one_turn(played: Any, program: str, scene: str, variant: str) -> None:
    found = played(program)[scene][variant]
    assert [of_people(body) for body in found["sent"]] == [[["how many?", tag(1)]]]
    (span,) = found["spans"]
    assert [heard(message) for message in span["input"] if message["role"] == "user"] == ["how many?"]
    assert heard(span["output"][0]) == '{"value": 7}'
    (records,) = found["transcripts"]
    assert [record["type"] for record in records] == ["user", "assistant"]


def heard(message: Any) -> str:
    """The text of a message on a span."""
    return "".join(part["content"] for part in message["parts"] if part["type"] == "text")
