"""What the reference sent is what its transcripts replay: read, replay, and compare with the recorded requests.

`data/golden/requests.json` holds the messages of each request beside a golden transcript, without the system prompt
and the leading `<system-reminder>` parts, which no record holds. The last message of `resume-variants` was typed
after it had been resumed, and is left out; so are the requests of `tui` between its first cancelled prompt, which the
reference forgets until it resumes, and its resuming.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from middleware import resume, transcript
from middleware.injection import is_tagged
from middleware.session import Session

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
REQUESTS: dict[str, list[list[dict[str, Any]]]] = json.loads((GOLDEN / "requests.json").read_text(encoding="utf-8"))


def as_sent(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history as chat.completions messages; user entries that follow one another are one message on the wire."""
    sent: list[dict[str, Any]] = []
    for entry in history:
        parts = entry["parts"]
        texts = [
            part.get("text", "[image: image/png]")
            for part in parts
            if not {"functionCall", "functionResponse"} & {*part}
        ]
        for part in parts:
            if answer := part.get("functionResponse"):
                output = answer["response"]["output"]
                sent.append({"role": "tool", "content": [output], "tool_call_id": answer["id"]})
        if entry["role"] == "model":
            sent.append({"role": "assistant", "content": "".join(texts) or None, **calls_in(parts)})
        elif texts and sent and sent[-1]["role"] == "user":
            sent[-1]["content"] += texts
        elif texts:
            sent.append({"role": "user", "content": texts})
    return sent


def calls_in(parts: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"], separators=(",", ":"))},
        }
        for part in parts
        if (call := part.get("functionCall"))
    ]
    return {"tool_calls": calls} if calls else {}


def replayed(branch: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The history, without the prompt that a hook blocked and the reference's ACP path recorded all the same (D9)."""
    blocked = {"role": "user", "parts": [{"text": "ACP-4 MODE:block2 blocked"}]}
    assert (blocked in branch) == (name == "acp")
    return as_sent([entry for entry in branch if entry != blocked])


def without_what_the_reference_does_not_record(name: str, request: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Context after tool results is lost there (D8), on its ACP path all context, and what it puts between prompts."""
    kept: list[dict[str, Any]] = []
    for message in request:
        content = message["content"]
        if message["role"] == "user":
            if kept and kept[-1]["role"] == "tool" and len(content) == 1 and is_tagged(content[0]):
                continue
            if name == "acp" and content[0] == "\n--- Content from referenced files ---":
                # Recorded there as it was typed, without the files.
                break
            lost = [text for text in content if text == "\n\n" or (name == "acp" and is_tagged(text))]
            content = [text for text in content if text not in lost]
        kept.append({**message, "content": content})
    return kept


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_every_request_is_the_beginning_of_what_its_transcript_replays(name: str) -> None:
    history = replayed(resume.replay(transcript.load(GOLDEN / f"{name}.jsonl").conversation()), name)
    for request in REQUESTS[name]:
        recorded = without_what_the_reference_does_not_record(name, request)
        assert history[: len(recorded)] == recorded


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_a_session_of_the_reference_is_resumed_with_the_history_that_was_sent(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes((GOLDEN / path.name).read_bytes())
    session = Session.resume(path)
    last = without_what_the_reference_does_not_record(name, REQUESTS[name][-1])
    assert replayed(session.history(), name)[: len(last)] == last
    assert session.shown() == resume.display(transcript.walk(transcript.read(path).records)[0])
    assert session.transcript_error is None


def test_only_what_is_named_differs() -> None:
    differing = {
        name
        for name, requests in REQUESTS.items()
        if any(without_what_the_reference_does_not_record(name, request) != request for request in requests)
    }
    assert differing == {"acp", "headless-continue", "headless-tool", "tui"}
