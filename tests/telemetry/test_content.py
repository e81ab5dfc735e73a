"""Content: off by default, before injection, cut before it is serialised, valid."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.injection import Memory, block_of
from middleware.parts import Message, Part, Reply
from middleware.telemetry import Options
from middleware.telemetry.content import Writer

from .taps import Tap, call, reply, request, text

ON = Options(capture="SPAN_ONLY")
CHAT = "chat gpt-5"


def test_by_default_no_attribute_and_no_metric_holds_the_prompt_or_the_answer() -> None:
    tap = Tap()
    call(tap, request(text("user", "CANARY-7f3a")), answer=reply("CANARY-7f3b"), submitted_prompt="CANARY-7f3a")
    assert "CANARY" not in tap.everything()


def test_messages_are_roles_and_parts() -> None:
    tap = Tap(ON)
    asked = request(
        text("system", "be brief"),
        text("user", "why is CI red?"),
        Message(role="assistant", parts=(Part(kind="tool_call", id="t1", name="logs", text='{"n":1}'),)),
        Message(role="tool", parts=(Part(kind="tool_response", id="t1", text="all red"),)),
    )
    call(tap, asked)
    assert tap.content(CHAT, "gen_ai.input.messages") == [
        {"role": "user", "parts": [{"type": "text", "content": "why is CI red?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "t1", "name": "logs", "arguments": '{"n":1}'}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "t1", "response": "all red"}]},
    ]
    assert tap.content(CHAT, "gen_ai.system_instructions") == [{"type": "text", "content": "be brief"}]
    assert tap.content(CHAT, "gen_ai.output.messages") == [
        {"role": "assistant", "parts": [{"type": "text", "content": "hi there"}], "finish_reason": "stop"}
    ]


def test_a_reply_that_was_cut_off_says_no_reason() -> None:
    tap = Tap(ON)
    said = Reply(messages=(text("assistant", "half"),), finish_reasons=("",))
    call(tap, answer=said, outcome="cancelled", ended_early=True)
    assert tap.content(CHAT, "gen_ai.output.messages") == [
        {"role": "assistant", "parts": [{"type": "text", "content": "half"}]}
    ]


def test_a_submitted_prompt_is_its_own_attribute_under_the_same_switch() -> None:
    tap = Tap(ON)
    call(tap, submitted_prompt="what I typed")
    assert tap.attributes(CHAT)["firsthand.submitted_prompt"] == "what I typed"


def test_tool_definitions_are_names_only() -> None:
    tap = Tap(ON)
    tools = ["logs", {"type": "function", "function": {"name": "search", "description": "CANARY-7f3a"}}]
    call(tap, request(options={"tool.definitions": tools}))
    assert tap.content(CHAT, "gen_ai.tool.definitions") == [
        {"type": "function", "name": "logs"},
        {"type": "function", "name": "search"},
    ]


def test_injected_text_is_nowhere_and_a_message_that_is_only_ours_is_left_out() -> None:
    tap = Tap(Options(capture="SPAN_AND_EVENT"))
    ours = Message(role="user", parts=(Part(kind="text", text="CANARY-7f3a-ctx"),), injection=True)
    echoed = Message(
        role="user", parts=(Part(kind="text", text="hello"),), echoed=(Part(kind="text", text="CANARY-7f3a-ctx"),)
    )
    block = block_of("CANARY-7f3a-ctx", (Memory(id="m", text="CANARY-7f3a-ctx", score=1.0),))
    call(tap, request(ours, echoed), block=block, blocks={1: block})
    assert "CANARY" not in tap.everything()
    assert tap.content(CHAT, "gen_ai.input.messages") == [
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
    ]


def test_capture_injected_puts_it_into_an_attribute_of_its_own_only() -> None:
    tap = Tap(Options(capture="SPAN_ONLY", capture_injected=True))
    block = block_of("CANARY-7f3a-ctx")
    call(tap, block=block)
    assert "CANARY" not in tap.attributes(CHAT)["gen_ai.input.messages"]
    (entry,) = tap.content(CHAT, "firsthand.injection.messages")
    assert (entry["message"], entry["sources"]) == (0, ["hook"])
    assert entry["parts"] == [{"type": "text", "content": block.texts[0]}]


def test_capture_injected_alone_exports_no_message() -> None:
    tap = Tap(Options(capture_injected=True))
    call(tap, block=block_of("ctx"))
    assert "gen_ai.input.messages" not in tap.attributes(CHAT)
    assert "firsthand.injection.messages" in tap.attributes(CHAT)


@pytest.mark.parametrize(
    ("mode", "on_span", "on_event"),
    [("SPAN_ONLY", True, False), ("EVENT_ONLY", False, True), ("SPAN_AND_EVENT", True, True)],
)
def test_the_mode_says_where_content_goes(mode: str, on_span: bool, on_event: bool) -> None:
    tap = Tap(Options(capture=mode))  # type: ignore[arg-type]
    call(tap)
    assert ("gen_ai.input.messages" in tap.attributes(CHAT)) is on_span
    events = [found for name, found in tap.events if name == "gen_ai.client.inference.operation.details"]
    assert len(events) == (1 if on_event else 0)
    for found in events:
        assert json.loads(str(found["gen_ai.input.messages"]))[0]["parts"][0]["content"] == "hello"
        assert found["gen_ai.usage.input_tokens"] == 25


def test_a_part_over_the_limit_is_cut_visibly_and_the_json_parses() -> None:
    tap = Tap(ON)
    call(tap, request(text("user", '"\\' * 5_000_000)))
    (message,) = tap.content(CHAT, "gen_ai.input.messages")
    said = message["parts"][0]["content"]
    assert said.endswith(" [cut: 65536 of 10000000 characters kept]")
    assert len(said) == 65_536 + len(" [cut: 65536 of 10000000 characters kept]")


def test_a_long_history_stays_bounded_newest_first_and_the_tokens_stay() -> None:
    tap = Tap(ON)
    turns = [text("user" if place % 2 == 0 else "assistant", f"{place:02d}" + "x" * 50_000) for place in range(21)]
    call(tap, request(*turns))
    found = str(tap.attributes(CHAT)["gen_ai.input.messages"])
    assert len(found) < 70_000
    messages = json.loads(found)
    assert messages[-1]["parts"][0]["content"].startswith("20xxx")
    assert messages[0]["parts"] == [{"type": "text", "content": "[cut: 19 earlier messages left out]"}]
    assert tap.attributes(CHAT)["gen_ai.usage.input_tokens"] == 25


def test_ten_thousand_small_messages_stay_bounded() -> None:
    tap = Tap(ON)
    call(tap, request(*[text("user", "")] * 10_000))
    assert len(str(tap.attributes(CHAT)["gen_ai.input.messages"])) < 100_000


def test_an_image_is_its_type_size_and_hash_and_the_text_beside_it_is_kept() -> None:
    tap = Tap(ON)
    data = bytes(range(256)) * 4096
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    image = Part(kind="media", raw={"type": "image_url", "image_url": {"url": url}})
    call(tap, request(Message(role="user", parts=(Part(kind="text", text="what is it?"), image))))
    found = tap.attributes(CHAT)["gen_ai.input.messages"]
    assert len(found) < 500
    assert json.loads(found)[0]["parts"] == [
        {"type": "text", "content": "what is it?"},
        {"type": "blob", "size": 1_048_576, "sha256": hashlib.sha256(data).hexdigest(), "mime_type": "image/png"},
    ]


def blob(mime: str) -> dict[str, object]:
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    return {"type": "blob", "size": 3, "sha256": digest, "mime_type": mime}


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}},
            blob("image/png"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}},
            blob("wav"),
        ),
        ({"type": "file", "file": {"file_data": "data:x/y;base64,YWJj"}}, blob("x/y")),
        ({"type": "file", "file": {"file_id": "file-1"}}, {"type": "file", "file_id": "file-1"}),
        ({"type": "input_image", "image_url": "data:image/gif;base64,YWJj"}, blob("image/gif")),
        ({"inline_data": {"mime_type": "image/png", "data": b"abc"}}, blob("image/png")),
        ({"file_data": {"file_uri": "gs://b/o"}}, {"type": "uri", "uri": "gs://b/o"}),
        (
            {"type": "image", "source": {"type": "url", "url": "https://u:p@x.test/i.png?sig=CANARY"}},
            {"type": "uri", "uri": "https://x.test/i.png"},
        ),
        ({"type": "search_result"}, {"type": "generic", "kind": "search_result"}),
        (None, {"type": "generic", "kind": "unknown"}),
    ],
)
def test_media_is_described_whatever_sdk_wrote_it(raw: object, part: dict[str, object]) -> None:
    tap = Tap(ON)
    call(tap, request(Message(role="user", parts=(Part(kind="media", raw=raw),))))
    assert tap.content(CHAT, "gen_ai.input.messages")[0]["parts"] == [part]


def test_invalid_unicode_is_replaced_and_nothing_else_is_lost() -> None:
    tap = Tap(ON)
    call(tap, request(text("user", "a\ud800b\u0000c"), model="gpt-5\ud800"), answer=reply("x\ud83ey"))
    found = tap.attributes("chat gpt-5\ufffd")
    assert json.loads(found["gen_ai.input.messages"])[0]["parts"][0]["content"] == "a\ufffdb\ufffdc"
    assert json.loads(found["gen_ai.output.messages"])[0]["parts"][0]["content"] == "x\ufffdy"
    tap.everything().encode()


def test_the_sdks_own_length_limit_does_not_cut_the_json_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1000")
    tap = Tap(ON)
    call(tap, request(text("user", '"' * 5000)), submitted_prompt="x" * 5000)
    found = tap.attributes(CHAT)
    assert len(found["gen_ai.input.messages"]) <= 1000 and json.loads(found["gen_ai.input.messages"])
    assert found["firsthand.submitted_prompt"].endswith("of 5000 characters kept]")


def test_nothing_is_serialised_for_a_span_that_is_not_recording() -> None:
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    def refuse(text: str) -> str:
        raise AssertionError("it was read")

    tap = Tap(Options(capture="SPAN_ONLY", redact=(refuse,)), sampler=ALWAYS_OFF)
    call(tap)
    assert tap.spans == ()


@given(
    st.lists(
        st.lists(st.text(st.characters(codec=None, categories=("L", "N", "P", "S", "Z", "C", "Cs"))), max_size=4),
        max_size=6,
    ),
    st.integers(1, 200),
)
def test_content_always_parses_and_stays_within_its_limits(texts: list[list[str]], limit: int) -> None:
    writer = Writer(limit=limit, redact=str)
    asked = request(*[text("user", *said) for said in texts], text("system", *texts[0]) if texts else text("user"))
    found = writer.of_call(asked, Reply(messages=asked.messages), "".join(texts[0]) if texts else "")
    for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
        if name in found:
            kept = [part["content"] for message in json.loads(str(found[name])) for part in message["parts"]]
            assert sum(len(re.split(r" ?\[cut:", said)[0]) for said in kept) <= limit
    for value in found.values():
        str(value).encode()


def test_recalled_memories_are_named_with_their_scores_and_never_their_text() -> None:
    found = [
        Memory(id="a", text="SECRET", score=1.5, lexical=1.0, cosine=0.5),
        Memory(id="b", text="SECRET", score=0.2),
    ]
    assert json.loads(Writer(limit=1000, redact=lambda text: text).of_matches(found)) == [
        {"id": "a", "score": 1.5, "lexical": 1.0, "cosine": 0.5},
        {"id": "b", "score": 0.2},
    ]
