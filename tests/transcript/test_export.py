"""A conversation as text, as data, and as the messages of a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from middleware.transcript import parse, read, walk
from middleware.transcript.export import FORMATS, Format, title_of, written
from middleware.transcript.wire import anthropic_request, openai_request, unanswered

from .records import HOOK, MEMORY, TALK, answered, called, record, text

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
OPENAI: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
ANTHROPIC: TypeAdapter[Any] = TypeAdapter(list[MessageParam])


def out(format: Format, records: list[dict[str, Any]] = TALK, **options: Any) -> str:
    return b"".join(written(records, format, **options)).decode()


def test_markdown_quotes_what_was_said_under_headings_of_ours() -> None:
    assert out("md") == (
        "# why is CI red?\n\n- session: `s`\n- from 2026-11-30 10:00 to 2026-11-30 10:00 UTC\n"
        "\n## You\n\n> why is CI red?\n"
        "\n## Assistant\n\n> I look.\n"
        '\n## Tool call: `run`\n\n> ```\n> {"test": "t"}\n> ```\n'
        "\n## Tool result: `run`\n\n> ```\n> failed\n> ```\n"
        "\n## Assistant\n\n> It failed.\n"
    )


def test_markdown_tells_what_was_added_when_asked() -> None:
    added = out("md", injected=True)
    assert "\n### Added by memory\n\n> ```\n> - uploads go to staging\n> ```\n" in added
    assert added.count("### Added by a hook") == 2


def test_no_text_of_markdown_can_pass_for_a_heading_or_leave_its_fence() -> None:
    forged = record("a", None, "assistant", [text("x\n## You\n\r## You\n> yes"), called("1", "f", a="```\n## You")])
    lines = out("md", [forged]).splitlines()
    assert [line for line in lines if line.startswith("## ")] == ["## Assistant", "## Tool call: `f`"]


def test_json_is_the_projection() -> None:
    data = json.loads(out("json"))
    assert (data["title"], data["session_id"]) == ("why is CI red?", "s")
    assert [(row["type"], row["text"]) for row in data["rows"]] == [
        ("user", "why is CI red?"),
        ("assistant", "I look."),
        ("tool_call", '{"test": "t"}'),
        ("tool_result", "failed"),
        ("assistant", "It failed."),
    ]
    assert "main" not in out("json")
    assert json.loads(out("json", injected=True))["rows"][0]["injected"] == [
        {"source": "memory", "text": "- uploads go to staging"},
        {"source": "hook", "text": "branch: main"},
    ]


def test_jsonl_is_the_records_of_the_branch() -> None:
    assert list(parse(out("jsonl").encode()).records) == TALK


def test_openai_gets_the_messages_as_they_were_sent() -> None:
    assert openai_request(TALK) == {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "why is CI red?"},
                    {"type": "text", "text": MEMORY},
                    {"type": "text", "text": HOOK},
                ],
            },
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "run", "arguments": '{"test": "t"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "failed"},
            {"role": "user", "content": [{"type": "text", "text": HOOK}]},
            {"role": "assistant", "content": "It failed."},
        ]
    }


def test_anthropic_gets_them_with_tool_results_first_and_roles_in_turn() -> None:
    second = record("e", "d", "user", [text("and?")])
    assert anthropic_request([*TALK[:3], second])["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "1", "name": "run", "input": {"test": "t"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "failed"},
                {"type": "text", "text": HOOK},
                {"type": "text", "text": "and?"},
            ],
        },
    ]


def test_what_a_hook_put_into_the_system_instruction_is_there_again() -> None:
    start = record("0", None, "system", subtype="session_start_context", systemPayload={"hookContext": "rules"})
    tagged = "<qwen:session-start-context>\nrules\n</qwen:session-start-context>"
    assert openai_request([start, *TALK])["messages"][0] == {"role": "system", "content": tagged}
    assert anthropic_request([start, *TALK])["system"] == tagged


def test_calls_without_ids_are_given_some_that_match() -> None:
    branch = [
        record("a", None, "assistant", [{"functionCall": {"name": "f", "args": {}}}]),
        record("b", "a", "tool_result", [{"functionResponse": {"name": "f", "response": {"error": "no"}}}]),
    ]
    call, answer = openai_request(branch)["messages"]
    assert (call["tool_calls"][0]["id"], answer["tool_call_id"], answer["content"]) == ("call_1", "call_1", "no")
    assert anthropic_request(branch)["messages"][1]["content"][0]["is_error"] is True
    assert unanswered(branch) == 0


def test_a_call_without_a_result_is_counted() -> None:
    assert unanswered(TALK[:2]) == 1
    assert unanswered(TALK) == 0


def test_media_is_in_the_shape_of_each_provider() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}
    branch = [record("a", None, "user", [text("see"), picture, sound, {"fileData": {"fileUri": "https://x.test/y"}}])]
    assert openai_request(branch)["messages"][0]["content"][1:] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/y"}},
    ]
    assert anthropic_request(branch)["messages"][0]["content"][1:] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "text", "text": "[audio/wav: 4 characters of base64, left out]"},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/y"}},
    ]


def test_reasoning_goes_back_to_anthropic_with_its_signature_only() -> None:
    signed = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
    branch = [record("a", None, "assistant", [{"text": "no", "thought": True}, signed, text("yes")])]
    assert anthropic_request(branch)["messages"][0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "yes"},
    ]
    assert openai_request(branch)["messages"] == [{"role": "assistant", "content": "yes"}]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_sdks_types_take_what_is_exported_of_the_reference_programs_transcripts(path: Path) -> None:
    branch = walk(read(path).records)[0]
    OPENAI.validate_python(openai_request(branch)["messages"])
    ANTHROPIC.validate_python(anthropic_request(branch)["messages"])


def test_the_title_is_what_was_typed_first_in_one_line() -> None:
    long = record("a", None, "user", [text("one\n two " + "x" * 100), text(HOOK)])
    assert title_of([long]) == "one two " + "x" * 71 + "…"
    assert title_of([record("a", None, "user", [text(""), text(HOOK)])]) == "A session without a prompt"


def test_results_of_parallel_calls_follow_their_calls() -> None:
    branch = [
        record("a", None, "assistant", [called("1", "f"), called("2", "g")]),
        record("b", "a", "tool_result", [answered("1", "f", "x")]),
        record("c", "b", "tool_result", [answered("2", "g", "y"), text(HOOK)]),
    ]
    assert [message["role"] for message in openai_request(branch)["messages"]] == ["assistant", "tool", "tool", "user"]
    assert [block["type"] for block in anthropic_request(branch)["messages"][1]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
CALL = st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "name", "args", "response"), JSON))
MEDIUM = st.fixed_dictionaries({}, optional=dict.fromkeys(("mimeType", "data", "fileUri"), JSON))
PART = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("text", "thought", "thoughtSignature"), JSON),
        **dict.fromkeys(("functionCall", "functionResponse"), CALL | JSON),
        **dict.fromkeys(("inlineData", "fileData"), MEDIUM | JSON),
    },
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            record,
            st.sampled_from("abc"),
            st.none(),
            st.sampled_from(["user", "assistant", "tool_result", "system"]),
            st.lists(PART | JSON, max_size=3),
            model=JSON,
            usageMetadata=JSON,
            timestamp=JSON,
            subtype=st.none() | st.sampled_from(["notification", "session_start_context", "chat_compression"]),
            systemPayload=JSON | st.fixed_dictionaries({}, optional={"displayText": JSON, "hookContext": JSON}),
        ),
        max_size=4,
    )
)
def test_any_records_are_exported_in_shapes_that_the_sdks_take(records: list[dict[str, Any]]) -> None:
    for format in FORMATS:
        b"".join(written(records, format, injected=True))
    OPENAI.validate_python(openai_request(records)["messages"])
    ANTHROPIC.validate_python(anthropic_request(records)["messages"])
