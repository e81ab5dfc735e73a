"""Recorded runs of the reference (headless), replayed: its hooks' stdout through our command executor.

`golden.json` holds, for each run, what its hooks printed and were asked and the request bodies that it sent (from
`golden/headless` of the reference 0.24.4, tool definitions left out); its transcripts are in `tests/data/golden`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import HookBlocked, Middleware, Settings, project
from middleware.testing import Answer, LocalModel, ToolCall

RUNS: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())
TRANSCRIPTS = Path(__file__).parent.parent / "data" / "golden"
OPEN, CLOSE = "<qwen:user-prompt-submit-context>\n", "\n</qwen:user-prompt-submit-context>"
READ = ToolCall(id="call_fake_1", name="read_file", arguments={"file_path": "/PROJ/notes.txt"})
SENT = sorted(name for name, run in RUNS.items() if run["requests"])
BY_DISPLAY_TEXT_OF_THEIR_OWN = {
    # S15: what the person typed is known to the terminal that expanded it, and a wrapped client has no terminal.
    "atfile": "HUMAN-PROMPT summarize @notes.txt please\n--- Content from referenced files ---"
    "\nContent from notes.txt:\nalpha notes\nsecond line of notes\n\n--- End of content ---",
    "slash": "Base directory for this skill: [ELIDED bundled skill text len=12456 sha256=799c87f765fe]",
}


def answers(name: str) -> list[Any]:
    """What the model said in a run."""
    return [Answer(calls=(READ,)) if part.get("functionCall") else part["text"] for part in said(name)]


def said(name: str) -> list[Any]:
    return [record["message"]["parts"][0] for record in recorded(name) if record["type"] == "assistant"]


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRANSCRIPTS / f"headless-{name}.jsonl").read_text().splitlines()]


def is_ours(text: str) -> bool:
    return text.startswith(OPEN) and text.endswith(CLOSE)


def unhooked(messages: list[Any]) -> list[Any]:
    """The messages before the hook's part was added: what a client of ours sends."""
    found = copy.deepcopy(messages)
    for message in found:
        if message["role"] == "user" and is_ours(message["content"][-1]["text"]):
            message["content"].pop()
    return [message for message in found if message["content"] != []]


@pytest.fixture
def wrapped(tmp_path: Path) -> Iterator[Callable[[str, LocalModel], Any]]:
    """Wraps a client in a middleware whose hooks are a recorded run's: scripts that print what its hooks printed."""
    made: list[Any] = []

    def make(name: str, model: LocalModel) -> Any:
        run = RUNS[name]
        hooks = []
        for place, label in enumerate(run["hooks"]):
            if name == "block2":
                script = "cat > %s; echo 'HOOK-BLOCK-REASON: forbidden <word>' >&2; exit 2"
            else:
                (tmp_path / f"stdout-{place}").write_text(run["stdout"][place], newline="")
                script = f"cat >> %s; echo >> %s; cat {tmp_path}/stdout-{place}"
            command = script.replace("%s", f"{tmp_path}/stdin-{place}")
            hooks.append({"type": "command", "name": label, "command": command, "timeout": 5})
        definition = {"sequential": run["sequential"], "hooks": hooks}
        (tmp_path / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [definition]}}))
        settings = Settings(hooks_file=str(tmp_path / "hooks.json"), transcripts=str(tmp_path / "transcripts"))
        app = Middleware(settings)
        client = model.openai()
        made.extend((client, app))
        return app.wrap(client, session=app.open("golden"))

    yield make
    for item in made:
        item.close()


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "transcripts" / "golden.jsonl").read_text().splitlines()]


def asked(folder: Path, place: int) -> list[Any]:
    return [json.loads(line) for line in (folder / f"stdin-{place}").read_text().splitlines()]


def send(client: Any, messages: list[Any], **fields: Any) -> None:
    for _ in client.chat.completions.create(**{"model": "fake-model", "stream": True, **fields, "messages": messages}):
        pass


# The third request of `continue` is of a second process, whose reminders are others: see the test after this one.
@pytest.mark.parametrize("name", SENT)
def test_the_request_bodies_are_the_recorded_ones(name: str, wrapped: Callable[..., Any]) -> None:
    bodies = RUNS[name]["requests"][:2]
    model = LocalModel(*answers(name))
    client = wrapped(name, model)
    for body in bodies:
        send(client, **{**body, "messages": unhooked(body["messages"])})
    assert model.requests == bodies
    injected = model.requests[0]["messages"][-1]["content"]
    assert [is_ours(part["text"]) for part in injected] == [False] * (len(injected) - 1) + [True]


@pytest.mark.parametrize("name", SENT)
def test_the_records_are_the_recorded_ones(name: str, wrapped: Callable[..., Any], tmp_path: Path) -> None:
    model = LocalModel(*answers(name))
    replay(name, wrapped(name, model))
    expected = [record for record in recorded(name) if record["type"] in ("user", "assistant", "tool_result")]
    found = written(tmp_path)
    assert [record["type"] for record in found] == [record["type"] for record in expected]
    for ours, theirs in zip(found, expected, strict=True):
        message, payload = copy.deepcopy(theirs["message"]), copy.deepcopy(theirs.get("systemPayload"))
        if theirs["type"] == "tool_result":
            # D8: what was injected after tool results stays in the record; the reference loses it.
            message["parts"].append({"text": f"{OPEN}HOOKCTX branch=main ticket=DEMO-1{CLOSE}"})
        if name in BY_DISPLAY_TEXT_OF_THEIR_OWN and payload is not None:
            payload["displayText"] = BY_DISPLAY_TEXT_OF_THEIR_OWN[name]
        assert (ours["message"], ours.get("systemPayload")) == (message, payload)
        assert ours["provenance"] == theirs["provenance"]
        assert ours.get("subtype") == theirs.get("subtype")
        if theirs["type"] == "user":
            shown = project(theirs).display_text
            assert project(ours).display_text == BY_DISPLAY_TEXT_OF_THEIR_OWN.get(name, shown)
    assert [record["parentUuid"] for record in found] == [None, *(record["uuid"] for record in found[:-1])]


def replay(name: str, client: Any) -> None:
    """Talk as the transcript says, without what the hooks added."""
    messages: list[Any] = []
    for record in recorded(name):
        parts = record.get("message", {}).get("parts", [])
        if record["type"] == "user":
            content = [{"type": "text", "text": part["text"]} for part in parts if not is_ours(part["text"])]
            messages.append({"role": "user", "content": content if len(content) > 1 else content[0]["text"]})
        elif record["type"] == "tool_result":
            response = parts[0]["functionResponse"]
            content = [{"type": "text", "text": response["response"]["output"]}]
            messages.append({"role": "tool", "tool_call_id": response["id"], "content": content})
        elif record["type"] == "assistant" and "functionCall" in parts[0]:
            function = {
                "name": "read_file",
                "arguments": json.dumps(parts[0]["functionCall"]["args"], separators=(",", ":")),
            }
            call = {"id": parts[0]["functionCall"]["id"], "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            continue
        elif record["type"] == "assistant":
            messages.append({"role": "assistant", "content": parts[0]["text"]})
            continue
        else:
            continue
        send(client, messages)


@pytest.mark.parametrize("name", SENT)
def test_the_hooks_are_asked_what_the_recorded_ones_were(
    name: str, wrapped: Callable[..., Any], tmp_path: Path
) -> None:
    replay(name, wrapped(name, LocalModel(*answers(name))))
    run = RUNS[name]
    count = len(run["hooks"])
    ours = [[payload["prompt"] for payload in asked(tmp_path, place)] for place in range(count)]
    theirs = [run["prompts"][place::count] for place in range(count)]
    assert ours == theirs
    first = asked(tmp_path, 0)[0]
    assert (first["session_id"], first["hook_event_name"]) == ("golden", "UserPromptSubmit")
    # S15: nobody vouches for what was typed, so nothing is said of it.
    assert "submitted_prompt" not in first


def test_continue_sends_its_third_request_with_what_stays_after_tool_results(wrapped: Callable[..., Any]) -> None:
    model = LocalModel(*answers("continue"))
    replay("continue", wrapped("continue", model))
    theirs = [message for message in RUNS["continue"]["requests"][2]["messages"] if message["role"] != "system"]
    expected = [{**message, "content": without_reminders(message["content"])} for message in theirs]
    block = {"type": "text", "text": f"{OPEN}HOOKCTX branch=main ticket=DEMO-1{CLOSE}"}
    expected.insert(3, {"role": "user", "content": [block]})  # D8, D16: the reference loses it on resume.
    assert model.requests[2]["messages"] == expected


def without_reminders(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [part for part in content if not part["text"].startswith("<system-reminder>")]


def test_block2_refuses_with_the_hooks_reason_and_sends_nothing(wrapped: Callable[..., Any], tmp_path: Path) -> None:
    model = LocalModel()
    client = wrapped("block2", model)
    (prompt,) = RUNS["block2"]["prompts"]
    for _ in range(2):
        with pytest.raises(HookBlocked) as caught:
            send(client, [{"role": "user", "content": prompt}])
        error = caught.value
        assert (error.hook, error.reason) == ("hook-block2", "HOOK-BLOCK-REASON: forbidden <word>")
        assert error.prompt == prompt == "HUMAN-PROMPT for block2: refactor <b>foo</b> & bar"
    assert model.requests == []
    records = written(tmp_path)
    assert [(record["type"], record["subtype"]) for record in records] == [("system", "prompt_blocked")] * 2
    assert "HUMAN-PROMPT" not in json.dumps(records)
