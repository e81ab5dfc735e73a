"""The shape of each record, as the reference reads it."""

from __future__ import annotations

from middleware.injection import Memory, block_of
from middleware.parts import Message, Part, Usage
from middleware.provenance import Origin
from middleware.records import (
    Stamp,
    assistant_record,
    blocked_record,
    clean_tree,
    display_payload,
    record_parts,
    tool_result_record,
    usage_metadata,
    user_record,
)

STAMP = Stamp(
    uuid="u2",
    parent="u1",
    session_id="s1",
    timestamp="2026-08-01T10:00:00.000Z",
    cwd="/w",
    version="0.1.0",
    prompt_id="p1",
    trace_id="t1",
    span_id="sp1",
    git_branch="dev",
)
TAGGED = "<qwen:user-prompt-submit-context>\nTeam rule: be brief\n</qwen:user-prompt-submit-context>"


def said(text: str) -> Message:
    return Message(role="user", parts=(Part(kind="text", text=text),))


def test_a_user_record_has_the_references_keys_in_its_order_and_then_ours() -> None:
    block = block_of("Team rule: be brief")
    record = user_record(
        stamp=STAMP, parts=record_parts(said("hi <b>"), block), payload=display_payload("hi <b>", block)
    )
    assert list(record.items()) == [
        ("uuid", "u2"),
        ("parentUuid", "u1"),
        ("sessionId", "s1"),
        ("timestamp", "2026-08-01T10:00:00.000Z"),
        ("type", "user"),
        ("provenance", "real_user"),
        ("cwd", "/w"),
        ("version", "0.1.0"),
        ("gitBranch", "dev"),
        ("message", {"role": "user", "parts": [{"text": "hi <b>"}, {"text": TAGGED}]}),
        ("systemPayload", {"displayText": "hi <b>", "hookContext": "Team rule: be brief"}),
        ("promptId", "p1"),
        ("traceId", "t1"),
        ("spanId", "sp1"),
    ]


def test_the_origin_of_a_send_is_the_subtype_of_its_record() -> None:
    kinds = {origin: user_record(stamp=STAMP, parts=[], origin=origin) for origin in Origin}
    assert {origin.value: record.get("subtype") for origin, record in kinds.items()} == {
        "user_query": None,
        "tool_result": None,
        "retry": None,
        "hook": "hook_continuation",
        "steer": "mid_turn_user_message",
        "cron": "cron",
        "notification": "notification",
        "teammate": "notification",
        "goal": "goal_runtime",
    }
    assert kinds[Origin.CRON]["provenance"] == "system"
    assert kinds[Origin.STEER]["provenance"] == "real_user"


def test_nothing_injected_makes_no_payload() -> None:
    assert display_payload("hi", block_of(None)) is None
    assert "systemPayload" not in user_record(stamp=STAMP, parts=[{"text": "hi"}], payload=None)


def test_memories_alone_leave_the_hook_context_empty_and_are_listed() -> None:
    block = block_of(None, [Memory(id="m1", text="likes tea", score=0.5)])
    assert display_payload("hi", block) == {
        "displayText": "hi",
        "hookContext": "",
        "recall": [{"id": "m1", "score": 0.5}],
    }


def test_an_assistant_record_carries_model_before_message_and_usage_after_it() -> None:
    usage = Usage(input_tokens=1001, output_tokens=7, reasoning_tokens=0, cache_read_tokens=0)
    record = assistant_record(stamp=STAMP, parts=[{"text": "ok"}], model="m", usage=usage)
    assert list(record)[8:12] == ["gitBranch", "model", "message", "usageMetadata"]
    assert record["provenance"] == "assistant_output"
    assert record["usageMetadata"] == {
        "promptTokenCount": 1001,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 0,
        "totalTokenCount": 1008,
        "cachedContentTokenCount": 0,
    }


def test_unknown_token_counts_are_absent_not_zero() -> None:
    assert usage_metadata(Usage(output_tokens=7)) == {"candidatesTokenCount": 7}
    assert "usageMetadata" not in assistant_record(stamp=STAMP, parts=[], usage=Usage())


def test_a_tool_result_keeps_its_injected_context_and_has_no_payload() -> None:
    message = Message(role="tool", parts=(Part(kind="tool_response", text="42", id="c1", name="calc"),))
    record = tool_result_record(
        stamp=STAMP,
        parts=record_parts(message, block_of("Team rule: be brief")),
        tool_call_result={"callId": "c1", "status": "success"},
    )
    assert record["message"]["parts"] == [
        {"functionResponse": {"id": "c1", "name": "calc", "response": {"output": "42"}}},
        {"text": TAGGED},
    ]
    assert record["toolCallResult"] == {"callId": "c1", "status": "success"}
    assert "systemPayload" not in record


def test_a_blocked_prompt_is_recorded_without_its_text_unless_it_is_given() -> None:
    assert blocked_record(stamp=STAMP, hook="guard", reason="no")["systemPayload"] == {"hook": "guard", "reason": "no"}
    record = blocked_record(stamp=STAMP, hook="guard", reason="no", prompt="secret")
    assert (record["type"], record["subtype"], record["systemPayload"]["prompt"]) == (
        "system",
        "prompt_blocked",
        "secret",
    )


def test_calls_reasoning_and_arguments_that_are_no_object_are_written() -> None:
    parts = (
        Part(kind="reasoning", text="hm"),
        Part(kind="tool_call", id="c1", name="f", text='{"a": 1}'),
        Part(kind="tool_call", id="c2", name="g", text="{torn"),
        Part(kind="tool_call", id="c3", name="h"),
    )
    assert record_parts(Message(role="assistant", parts=parts), None) == [
        {"text": "hm", "thought": True},
        {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
        {"functionCall": {"id": "c2", "name": "g", "args": {"arguments": "{torn"}}},
        {"functionCall": {"id": "c3", "name": "h", "args": {}}},
    ]


def test_every_sdks_media_becomes_inline_or_file_data() -> None:
    raws: list[object] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://h.example/a.png"}},
        {"type": "input_image", "image_url": "data:image/gif;base64,BBBB"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "CCCC"}},
        {"type": "image", "source": {"type": "url", "url": "https://h.example/b.png"}},
        {"type": "input_audio", "input_audio": {"data": "DDDD", "format": "mp3"}},
        {"type": "file", "file": {"filename": "f.pdf", "file_data": "data:application/pdf;base64,EEEE"}},
        {"inline_data": {"mime_type": "image/png", "data": b"\x00\x01"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]
    message = Message(role="user", parts=tuple(Part(kind="media", raw=raw) for raw in raws))
    assert record_parts(message) == [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"fileData": {"fileUri": "https://h.example/a.png"}},
        {"inlineData": {"mimeType": "image/gif", "data": "BBBB"}},
        {"inlineData": {"mimeType": "image/jpeg", "data": "CCCC"}},
        {"fileData": {"fileUri": "https://h.example/b.png"}},
        {"inlineData": {"mimeType": "audio/mp3", "data": "DDDD"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "EEEE"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAE="}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]


def test_an_empty_text_part_is_written_only_where_a_tagged_one_would_be_alone() -> None:
    assert record_parts(said("")) == []
    assert record_parts(said(""), block_of("Team rule: be brief")) == [{"text": ""}, {"text": TAGGED}]


def test_a_tree_is_cleaned_at_any_depth_and_copied() -> None:
    deep: list[object] = ["x\ud800"]
    for _ in range(100_000):
        deep = [deep]
    original = {"k\ud800": ["a\x00", {"b": "\udfff"}, 1, None]}
    assert clean_tree(original) == {"k\ufffd": ["a\ufffd", {"b": "\ufffd"}, 1, None]}
    assert original == {"k\ud800": ["a\x00", {"b": "\udfff"}, 1, None]}
    cleaned = clean_tree(deep)
    while isinstance(cleaned[0], list):
        cleaned = cleaned[0]
    assert cleaned == ["x\ufffd"]
