"""Sessions of Claude Code, taken over: what hooks added stays apart from what was typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middleware.errors import TranscriptError
from middleware.resume import display, first_prompt, replay
from middleware.transcript import read, walk
from middleware.transcript.claude import Imported, import_claude
from middleware.transcript.foreign import recognise
from middleware.transcript.importing import import_file
from middleware.transcript.unfolded import unfold

from .records import TALK, write

Line = dict[str, Any]
USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 7}


def line(kind: str, uuid: str, parent: str | None, **more: Any) -> Line:
    made = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s-1", "timestamp": "2026-09-02T10:00:00Z"}
    return {**made, "cwd": "/shop", "version": "2.1.240", "gitBranch": "main", "isSidechain": False, **more}


def said(uuid: str, parent: str | None, content: Any, **more: Any) -> Line:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **more)


def reply(uuid: str, parent: str | None, *blocks: Line, id: str = "m", **more: Any) -> Line:
    message = {"id": id, "role": "assistant", "model": "claude-x", "content": list(blocks), "usage": USAGE}
    return line("assistant", uuid, parent, message=message, **more)


def added(uuid: str, parent: str, event: str, *texts: str, tool: str = "t0", kind: str = "additional_context") -> Line:
    held = {"type": f"hook_{kind}", "hookEvent": event, "hookName": event, "toolUseID": tool, "content": list(texts)}
    return line("attachment", uuid, parent, attachment=held)


def words(text: str) -> Line:
    return {"type": "text", "text": text}


def use(identity: str, name: str = "Bash") -> Line:
    return {"type": "tool_use", "id": identity, "name": name, "input": {"command": "ls"}}


def result(identity: str, content: Any = "ok", **more: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def rows(imported: Imported) -> list[tuple[str, str]]:
    return [(row.type, row.text) for row in display(walk(imported.records)[0])]


def injected(imported: Imported) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (item.shown.text if item.shown else "", [(part.source, part.text) for part in item.injected])
        for item in unfold(walk(imported.records)[0])
        if item.injected
    ]


def test_hook_context_is_behind_the_prompt_that_it_came_with() -> None:
    imported = import_claude(
        [said("u", None, "why is CI red?"), added("h", "u", "UserPromptSubmit", "branch: main", "a <b> & c")]
    )
    assert rows(imported) == [("user", "why is CI red?")]
    assert injected(imported) == [("why is CI red?", [("hook", "branch: main\na &lt;b&gt; & c")])]
    [record] = imported.records
    assert record["systemPayload"] == {
        "displayText": "why is CI red?",
        "hookContext": "branch: main\na &lt;b&gt; & c",
    }
    assert (record["uuid"], record["sessionId"], record["cwd"], record["version"], record["gitBranch"]) == (
        "u",
        "s-1",
        "/shop",
        "claude-code 2.1.240",
        "main",
    )


def test_context_of_a_tools_hooks_is_behind_its_result_wherever_it_was_written() -> None:
    imported = import_claude(
        [
            said("u", None, "go"),
            reply("a", "u", use("t1")),
            added("h1", "a", "PreToolUse", "watched", tool="t1"),
            said("r", "h1", [result("t1")]),
            added("h2", "r", "PostToolUse", "lint: clean", tool="t1"),
        ]
    )
    assert injected(imported) == [("ok", [("hook", "watched\nlint: clean")])]


def test_context_of_a_sessions_start_stands_before_everything() -> None:
    imported = import_claude([added("h", "x", "SessionStart", "rules", kind="success"), said("u", "h", "hi")])
    assert injected(imported) == [("", [("session hook", "rules")])]


def test_context_of_another_event_is_a_continuation_that_nobody_typed() -> None:
    imported = import_claude([said("u", None, "hi"), added("h", "u", "Stop", "keep going")])
    assert rows(imported) == [("user", "hi")]
    assert injected(imported) == [("", [("hook", "keep going")])]


def test_what_the_program_added_is_a_notification_whose_text_is_not_shown() -> None:
    imported = import_claude([said("u", None, "a skill's long text", isMeta=True), said("v", "u", "hi")])
    assert rows(imported) == [("notification", "[added by Claude Code: 19 characters]"), ("user", "hi")]
    assert replay(imported.records)[0]["parts"] == [{"text": "a skill's long text"}]


@pytest.mark.parametrize(
    ("content", "more", "row"),
    [
        ("<command-name>/x</command-name>\n<command-args>a b</command-args>", {}, ("user", "/x a b")),
        ("<bash-input>ls</bash-input>", {}, ("user", "! ls")),
        ("<local-command-stdout>\x1b[1mdone\x1b[0m</local-command-stdout>", {}, ("notification", "done")),
        ("[Request interrupted by user]", {}, ("notification", "[Request interrupted by user]")),
        (
            "<task-notification>x</task-notification>",
            {},
            ("notification", "[added by Claude Code: 40 characters]"),
        ),
        ("hello", {"origin": {"kind": "peer"}}, ("notification", "[added by Claude Code: 5 characters]")),
        ("hello", {"promptSource": "system"}, ("notification", "[added by Claude Code: 5 characters]")),
        ("<command-name> is what?", {"origin": {"kind": "human"}}, ("user", "<command-name> is what?")),
        ([words("<system-reminder>x</system-reminder>"), words("and now?")], {}, ("user", "and now?")),
        ([words("why?\n\n<system-reminder>\nx\n</system-reminder>\n")], {}, ("user", "why?")),
        ([words("<ide_selection>x</ide_selection>\n<system-reminder>y</system-reminder>why?")], {}, ("user", "why?")),
        (
            [words("what is <system-reminder>x</system-reminder> for?")],
            {},
            ("user", "what is <system-reminder>x</system-reminder> for?"),
        ),
    ],
)
def test_what_a_person_typed_is_told_from_what_the_program_wrote(content: Any, more: Line, row: Any) -> None:
    assert rows(import_claude([said("u", None, content, **more)])) == [row]


def test_a_command_of_the_program_is_no_prompt_and_no_title() -> None:
    imported = import_claude(
        [
            said("c", None, "<command-name>/clear</command-name>\n<command-args></command-args>"),
            said("o", "c", "<local-command-stdout></local-command-stdout>"),
            said("u", "o", "why?"),
        ]
    )
    assert rows(imported) == [("notification", "/clear"), ("notification", "[no output]"), ("user", "why?")]
    assert first_prompt(imported.records) == "why?"


def test_the_lines_of_one_reply_count_its_tokens_once() -> None:
    imported = import_claude(
        [
            said("u", None, "hi"),
            reply("a", "u", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
            reply("b", "a", words("yes")),
        ]
    )
    assert [record.get("usageMetadata") for record in imported.records] == [
        None,
        None,
        {
            "promptTokenCount": 1110,
            "candidatesTokenCount": 7,
            "totalTokenCount": 1117,
            "cachedContentTokenCount": 1000,
        },
    ]
    assert imported.records[1]["message"]["parts"] == [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}]


def test_results_of_calls_that_ran_at_once_are_all_kept() -> None:
    imported = import_claude(
        [
            said("u", None, "go"),
            reply("a", "u", use("t1")),
            reply("b", "a", use("t2", "Read")),
            said("r1", "a", [result("t1", [words("one")])]),
            said("r2", "b", [result("t2", "two", is_error=True)]),
            reply("c", "r2", words("done"), id="m2"),
        ]
    )
    assert rows(imported)[3:] == [("tool_result", "one"), ("tool_result", "two"), ("assistant", "done")]
    answers = [record["message"]["parts"][0]["functionResponse"] for record in imported.records[3:5]]
    assert answers == [
        {"id": "t1", "name": "Bash", "response": {"output": "one"}},
        {"id": "t2", "name": "Read", "response": {"error": "two"}},
    ]


def test_a_prompt_that_was_edited_and_a_reply_that_was_asked_for_again_are_left_out() -> None:
    imported = import_claude(
        [
            said("u", None, "why?"),
            reply("a", "u", words("old"), id="m1"),
            said("x", "a", "dropped"),
            said("v", "a", "kept"),
            reply("y", "v", words("first try"), id="m2"),
            reply("b", "v", words("second try"), id="m3"),
        ]
    )
    assert [text for _, text in rows(imported)] == ["why?", "old", "kept", "second try"]
    assert imported.left_out["records of abandoned branches"] == 2


def test_compaction_is_a_compressed_conversation_and_what_was_before_is_still_shown() -> None:
    imported = import_claude(
        [
            said("u", None, "before"),
            line("system", "b", None, subtype="compact_boundary", logicalParentUuid="u"),
            said("s", "b", "a summary", isCompactSummary=True),
            said("v", "s", "after"),
        ]
    )
    assert [text for _, text in rows(imported)] == ["before", "the conversation up to here was compressed", "after"]
    assert [entry["parts"] for entry in replay(imported.records)] == [[{"text": "a summary"}], [{"text": "after"}]]


def test_subagents_are_left_out_of_a_session_and_are_one_of_their_own_in_their_own_file() -> None:
    aside = said("x", None, "a task", isSidechain=True, agentId="a7")
    assert rows(import_claude([said("u", None, "hi"), aside])) == [("user", "hi")]
    alone = import_claude([aside])
    assert (alone.session_id, rows(alone)) == ("s-1-agent-a7", [("user", "a task")])


def test_a_prompt_that_was_queued_is_one_of_the_middle_of_a_turn() -> None:
    held = {"type": "queued_command", "prompt": "also this", "commandMode": "prompt", "origin": {"kind": "human"}}
    note = {"type": "queued_command", "prompt": "<task-notification/>", "commandMode": "task-notification"}
    imported = import_claude(
        [
            said("u", None, "hi"),
            line("attachment", "q", "u", attachment=held),
            line("attachment", "n", "q", attachment=note),
        ]
    )
    assert [(record["type"], record.get("subtype")) for record in imported.records[1:]] == [
        ("user", "mid_turn_user_message"),
        ("user", "notification"),
    ]


def test_a_prompt_that_a_hook_blocked_is_recorded_as_one() -> None:
    held = {"type": "hook_blocking_error", "hookEvent": "UserPromptSubmit", "hookName": "guard"}
    blocked = line("attachment", "b", "u", attachment={**held, "blockingError": {"blockingError": "no secrets"}})
    imported = import_claude([said("u", None, "hi"), blocked])
    assert rows(imported)[1] == ("system", "hook guard blocked the prompt: no secrets")


def test_an_error_of_the_api_is_no_reply_of_the_model() -> None:
    failed = reply("a", "u", words("API Error: 529"), isApiErrorMessage=True)
    imported = import_claude([said("u", None, "hi"), failed])
    assert rows(imported)[1] == ("notification", "API Error: 529")
    assert len(replay(imported.records)) == 1


def test_what_is_not_taken_over_is_counted() -> None:
    lines = [{"type": "summary"}, None, 7, said("u", None, "hi"), said("u", None, "hi"), line("system", "y", "u")]
    assert import_claude(lines).left_out == {
        "lines that hold no JSON object": 2,
        "records beside the conversation": 1,
        "repetitions": 1,
        "notes of the program": 1,
    }


def test_a_file_is_written_for_its_owner_alone_and_never_over_another(tmp_path: Path) -> None:
    source = write(tmp_path / "c.jsonl", [said("u", None, "hi"), reply("a", "u", words("hello"))])
    arrival = import_file(source, tmp_path / "to")
    assert arrival.path == tmp_path / "to" / "s-1.jsonl"
    assert oct(arrival.path.stat().st_mode)[-3:] == "600"
    assert list(read(arrival.path).records) == list(arrival.session.records)
    with pytest.raises(FileExistsError):
        import_file(source, tmp_path / "to")
    import_file(source, tmp_path / "to", force=True)
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["s-1.jsonl"]


GEMINI = [
    {"sessionId": "g-1", "projectHash": "4e", "startTime": "2026-10-05T21:32:45.890Z", "kind": "main"},
    {"id": "1", "type": "user", "content": [{"text": "hi"}]},
    {"id": "2", "type": "gemini", "content": "hel"},
    {"id": "2", "type": "gemini", "content": "hello"},
    {"$set": {"lastUpdated": "x"}},
]


def test_a_session_of_gemini_cli_is_recognised_and_not_imported(tmp_path: Path) -> None:
    source = write(tmp_path / "g.jsonl", GEMINI)
    known = recognise(source)
    assert known is not None
    assert (known.program, known.session_id, known.prompts, known.replies) == ("Gemini CLI", "g-1", 1, 1)
    with pytest.raises(TranscriptError, match="is a session of Gemini CLI, which writes what hooks added into"):
        import_file(source, tmp_path)


def test_gemini_clis_older_document_is_recognised(tmp_path: Path) -> None:
    document = {"sessionId": "g-1", "projectHash": "4e", "startTime": "x", "messages": GEMINI[1:3]}
    source = tmp_path / "g.json"
    source.write_text(json.dumps(document, indent=2))
    known = recognise(source)
    assert known is not None
    assert (known.program, known.prompts, known.replies) == ("Gemini CLI", 1, 1)


@pytest.mark.parametrize("content", ["", "\n\n", "no json", "{}", '{"type": "user"}', "[1]", "\x00", '{"a": {"b": 1}}'])
def test_anything_else_is_no_session_of_another_program(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    assert recognise(tmp_path / "x.jsonl") is None


def test_transcripts_of_ours_are_not_taken_for_anybody_elses(tmp_path: Path) -> None:
    assert recognise(write(tmp_path / "s.jsonl", TALK)) is None


def test_tags_that_are_repeated_without_end_take_no_time() -> None:
    assert rows(import_claude([said("u", None, "<command-name></command-name>" * 5000 + "x")]))[0][0] == "user"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "x"])},
    optional=dict.fromkeys(("text", "id", "name", "input", "tool_use_id", "content", "source", "thinking"), JSON),
)
MESSAGE = st.fixed_dictionaries(
    {"content": st.text(max_size=30) | st.lists(BLOCK | JSON, max_size=3)},
    optional={"id": JSON, "usage": JSON, "model": JSON},
)
ATTACHMENT = st.fixed_dictionaries(
    {"type": st.sampled_from(["hook_additional_context", "hook_success", "hook_blocking_error", "queued_command"])},
    optional={
        "content": JSON,
        "prompt": JSON,
        "hookEvent": st.sampled_from(["UserPromptSubmit", "SessionStart", "Stop"]),
        "toolUseID": JSON,
    },
)
LINE = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "attachment", "system", "summary"])},
    optional={
        "uuid": st.sampled_from("abcdef") | JSON,
        "parentUuid": st.sampled_from("abcdef") | JSON,
        "message": MESSAGE | JSON,
        "attachment": ATTACHMENT | JSON,
        "isMeta": st.booleans(),
        "isSidechain": st.booleans(),
        "agentId": JSON,
        "timestamp": JSON,
        "sessionId": JSON,
        "isCompactSummary": st.booleans(),
    },
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINE | JSON, max_size=8))
def test_any_lines_are_imported_as_one_chain(lines: list[Any]) -> None:
    records = import_claude(lines).records
    branch, flaws = walk(records)
    assert [record["uuid"] for record in branch] == [record["uuid"] for record in records]
    assert flaws == []
    display(branch)
    replay(branch)
