"""Tools and steering in `firsthand chat`: what the model is sent, what hooks are told, what a cancel leaves."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from middleware.chat import tools
from middleware.chat.terminal.talk import MOST_ROUNDS

from .chatting import Chatting, chatting
from .streaming import StreamingModel, text_of

CTRL_C, CTRL_Q, ESC = "\x03", "\x11", "\x1b"
TAG = "<qwen:user-prompt-submit-context>\nbranch &lt;main&gt;\n</qwen:user-prompt-submit-context>"


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


class Gate:
    """A tool that waits until it is let go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, toolbox: tools.Toolbox, given: Mapping[str, Any]) -> str:
        self.entered.set()
        assert self.open.wait(60)
        return "late result"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setitem(tools._TOOLS, "search", gate)
    yield gate
    gate.open.set()


async def entered(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.entered.wait, 60)


def records_of(place: Path, session: str = "s1") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / "transcripts" / f"{session}.jsonl").read_text().splitlines()]


def kinds_of(place: Path) -> list[str]:
    return [record.get("subtype") or record["type"] for record in records_of(place)]


def shape(messages: list[dict[str, Any]]) -> list[str]:
    """Roles of a request, calls and our own messages told apart."""
    shown = []
    for message in messages:
        if message.get("tool_calls"):
            shown.append("calls")
        elif message["role"] == "user" and text_of(message) == TAG:
            shown.append("hook")
        else:
            shown.append(message["role"])
    return shown


async def cancelled(chat: Chatting) -> None:
    await chat.until(lambda: "cancelled" in chat.printed and chat.terminal._turn is None)


def test_a_tool_reads_a_file_and_its_answer_goes_back_with_what_the_hook_says_then(
    model: StreamingModel, place: Path
) -> None:
    (place / "notes.txt").write_text("\n".join(f"line {number}" for number in range(1, 10)))
    model.calls = [[("read_file", {"path": "notes.txt"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("what do the notes say?")
            await chat.until(lambda: "echo: " in chat.printed)
            assert "→ read_file path=notes.txt" in chat.printed
            assert "  line 4\n  … 5 more lines" in chat.printed
            assert chat.terminal.screen.facts[1] == "14 in, 10 out"
            await chat.turn("thanks")

    asyncio.run(play())
    first, second, third = (body["messages"] for body in model.bodies)
    assert [tool["function"]["name"] for tool in model.bodies[0]["tools"]] == ["read_file", "list_files", "search"]
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert shape(second) == ["user", "calls", "tool", "hook"]
    assert second[1]["content"] == "let me see"
    assert second[2]["content"].startswith("line 1\nline 2\n")
    assert kinds_of(place) == ["user", "assistant", "tool_result", "assistant", "user", "assistant"]


def test_the_hook_is_told_of_a_tools_result_without_a_submitted_prompt(model: StreamingModel, place: Path) -> None:
    model.calls = [[("list_files", {})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("what is here?")
            await chat.done(2)
            assert chat.values == ["what is here?", "absent"]
            assert [payload["prompt"] for payload in chat.payloads] == ["what is here?", ""]

    asyncio.run(play())


def test_without_tools_none_are_offered(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model, tools=False) as chat:
            await chat.turn("hello")

    asyncio.run(play())
    assert "tools" not in model.bodies[0]


def test_a_tool_that_does_not_exist_is_an_answer_for_the_model(model: StreamingModel, place: Path) -> None:
    model.calls = [[("delete_everything", {"sure": True}), ("read_file", {"path": "../x"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("go on")
            await chat.done(2)
            assert "→ delete_everything sure=true" in chat.printed

    asyncio.run(play())
    assert [message["content"] for message in model.bodies[1]["messages"] if message["role"] == "tool"] == [
        "there is no tool delete_everything; there are read_file, list_files, search",
        "../x is outside of the working folder",
    ]


def test_what_is_typed_while_a_tool_runs_steers_the_turn(model: StreamingModel, place: Path, gate: Gate) -> None:
    model.calls = [[("search", {"text": "x"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("look for x\r")
            await entered(gate)
            chat.keys(f"later{CTRL_Q}only in tests\rand be quick\r")
            await chat.until(lambda: len(chat.terminal.chat.queue) == 3)
            gate.open.set()
            await chat.done(2)
            # Steering fires no hook; what was queued with Ctrl+Q is a turn of its own.
            assert chat.values == ["look for x", "later"]
            assert "> only in tests (to the running turn)" in chat.printed
            assert [entry.text for entry in chat.terminal.chat.history.entries] == ["look for x", "later"]

    asyncio.run(play())
    assert shape(model.bodies[1]["messages"]) == ["user", "calls", "tool", "user"]
    assert model.bodies[1]["messages"][-1]["content"] == [{"type": "text", "text": "only in tests\n\nand be quick"}]
    assert kinds_of(place) == [
        *("user", "assistant", "tool_result", "mid_turn_user_message", "assistant", "user", "assistant")
    ]
    steered = records_of(place)[3]
    assert steered["message"]["parts"] == [{"text": "only in tests\n\nand be quick"}]
    assert steered["systemPayload"] == {"displayText": "only in tests\n\nand be quick"}


def test_a_steered_conversation_goes_out_with_the_same_bytes_when_it_is_resumed(
    model: StreamingModel, place: Path, gate: Gate
) -> None:
    model.calls = [[("search", {"text": "x"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("look for x\r")
            await entered(gate)
            chat.keys("only in tests\r")
            await chat.until(lambda: len(chat.terminal.chat.queue) == 1)
            gate.open.set()
            await chat.done(1)
        async with chatting(place, model, resumed=True) as chat:
            await chat.turn("and now?")

    asyncio.run(play())
    before, after = (body["messages"] for body in model.bodies[1:])
    assert after[: len(before)] == before


def test_a_cancel_while_a_tool_runs_leaves_no_call_without_an_answer(
    model: StreamingModel, place: Path, gate: Gate
) -> None:
    model.calls = [[("list_files", {}), ("search", {"text": "x"}), ("list_files", {})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("look for x\r")
            await entered(gate)
            chat.keys(ESC)
            await cancelled(chat)
            # A tool was running: nothing is given back (2.6 step 4).
            assert chat.text == ""
            gate.open.set()
            await chat.turn("never mind")
            assert chat.values == ["look for x", "never mind"]

    asyncio.run(play())
    sent = model.bodies[1]["messages"]
    assert shape(sent) == ["user", "calls", "tool", "tool", "tool", "user"]
    nothing = "[no answer: it was cancelled]"
    assert [message["content"] for message in sent[3:5]] == [nothing, nothing]
    assert [message["tool_call_id"] for message in sent[2:5]] == [call["id"] for call in sent[1]["tool_calls"]]
    assert kinds_of(place) == ["user", "assistant", *["tool_result"] * 3, "user", "assistant"]


def test_a_call_that_a_transcript_has_no_answer_to_gets_one_when_the_session_is_resumed(
    model: StreamingModel, place: Path, gate: Gate
) -> None:
    model.calls = [[("search", {"text": "x"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("look for x\r")
            await entered(gate)
            chat.keys(CTRL_C)
            await cancelled(chat)
            gate.open.set()
        assert kinds_of(place) == ["user", "assistant"]
        async with chatting(place, model, resumed=True) as chat:
            await chat.turn("never mind")

    asyncio.run(play())
    assert shape(model.bodies[1]["messages"]) == ["user", "calls", "tool", "user"]


def test_steering_that_was_not_answered_comes_back_without_a_value(
    model: StreamingModel, place: Path, gate: Gate
) -> None:
    model.calls = [[("search", {"text": "x"})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("look for x\r")
            await entered(gate)
            chat.keys("silent steering\r")
            await chat.until(lambda: len(chat.terminal.chat.queue) == 1)
            gate.open.set()
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(ESC)
            await cancelled(chat)
            assert chat.text == "silent steering"
            model.gate.set()
            await chat.turn("")
            assert chat.values == ["look for x", "absent"]

    asyncio.run(play())
    assert shape(model.bodies[2]["messages"]) == ["user", "calls", "tool", "user"]


def test_a_model_that_never_stops_calling_is_told_to_answer(model: StreamingModel, place: Path) -> None:
    model.calls = [[("list_files", {})] for _ in range(MOST_ROUNDS)]

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("look around")
            await chat.done(MOST_ROUNDS + 1)

    asyncio.run(play())
    assert len(model.bodies) == MOST_ROUNDS + 1
    assert [body.get("tool_choice") for body in model.bodies] == [*[None] * MOST_ROUNDS, "none"]


def test_what_a_tool_said_is_not_sent_later_when_a_hook_has_refused_it(model: StreamingModel, place: Path) -> None:
    model.calls = [[("list_files", {})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            (place / "refuse_results").touch()
            chat.keys("what is here?\r")
            await chat.until(lambda: "blocked: no results (what the tools said was not sent)" in chat.printed)
            await chat.until(lambda: chat.terminal._turn is None)
            assert chat.text == ""
            (place / "refuse_results").unlink()
            await chat.turn("and now?")

    asyncio.run(play())
    sent = model.bodies[1]["messages"]
    assert shape(sent) == ["user", "calls", "tool", "user"]
    assert sent[2]["content"] == "[not sent: a hook refused it]"


def test_context_shows_what_was_added_to_any_send_of_the_turn(model: StreamingModel, place: Path) -> None:
    model.calls = [[("list_files", {})]]

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("what is here?")
            await chat.done(2)
            assert [added.text for added in chat.terminal.added] == ["branch <main>"]

    asyncio.run(play())


def test_a_side_question_has_no_tools(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("/btw what is argus?\r")
            await chat.until(lambda: "echo: what is argus?" in chat.printed)

    asyncio.run(play())
    assert "tools" not in model.bodies[0]
