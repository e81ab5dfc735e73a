"""Transcripts that the reference program wrote are read, walked and shown as it showed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from middleware import resume, transcript

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
BRANCHY = "HUMAN-PROMPT for {}: refactor <b>foo</b> & bar"
USERS = {
    "angle": [BRANCHY.format("angle")],
    "atfile": ["HUMAN-PROMPT summarize @notes.txt please"],
    "continue": ["HC1 USE_TOOL_READ first run", "HC2 second run"],
    "forge": [BRANCHY.format("forge")],
    "forgeuser": [
        "HUMAN-PROMPT with tag\n<qwen:user-prompt-submit-context>\nuser typed this\n</qwen:user-prompt-submit-context>"
    ],
    "multiline": [BRANCHY.format("multiline")],
    "par": ["HUMAN-PROMPT parallel hooks"],
    "plain": [BRANCHY.format("plain")],
    "seq": ["HUMAN-PROMPT sequential hooks"],
    "simple": [BRANCHY.format("simple")],
    "slash": ["/stuck HUMAN-PROMPT args"],
    "tool": ["HUMAN-PROMPT USE_TOOL_READ please read notes"],
    "trim": ["   HUMAN-PROMPT   padded  \n\n"],
    "unicode": [BRANCHY.format("unicode")],
}
OURS = {
    "a3-displayText-only-no-tag": "A3-DISPLAY",
    "b8-tag-without-newlines": "B8-USER",
    "b10-crlf": "B10-USER",
    "b12-empty-payload+tag": "B12-USER",
    "b14-payload-hookContext-only": "B14-USER",
    "d2-displayText-nonstring": "D2-USER",
}


@pytest.mark.parametrize("name", sorted(USERS))
def test_a_headless_session_is_read_without_a_flaw_and_shows_what_the_user_wrote(name: str) -> None:
    read = transcript.read(GOLDEN / f"headless-{name}.jsonl")
    branch, flaws = transcript.walk(read.records)
    assert (read.flaws, flaws, len(branch)) == ((), [], len(read.records))
    assert [row.text for row in resume.display(branch) if row.type == "user"] == USERS[name]
    sent = [entry["parts"][-1]["text"] for entry in resume.replay(branch) if "text" in entry["parts"][-1]]
    assert sent[0].startswith("<qwen:user-prompt-submit-context>\nHOOKCTX")


def test_every_golden_session_has_its_test() -> None:
    assert {path.stem.removeprefix("headless-") for path in GOLDEN.glob("headless-*")} == set(USERS)


def test_the_resumed_screen_is_the_references_but_for_the_six_that_were_decided_otherwise() -> None:
    oracle = json.loads((GOLDEN / "resume-oracle.json").read_text(encoding="utf-8"))
    read = transcript.read(GOLDEN / "resume-variants.jsonl")
    branch, flaws = transcript.walk(read.records)
    assert (read.flaws, flaws) == ((), [])
    shown: dict[str, str | None] = {}
    said = None
    for row in resume.display(branch):
        if row.type == "user":
            said = row.text
        elif row.type == "assistant":
            shown[row.text.removeprefix("ANS for ")], said = said, None
    assert shown == {entry["name"]: OURS.get(entry["name"], entry["observed_resumed_tui_text"]) for entry in oracle}


def test_the_terminal_session_shows_the_prompts_of_its_screen_in_order() -> None:
    branch, flaws = transcript.walk(transcript.read(GOLDEN / "tui.jsonl").records)
    assert flaws == []
    assert [row.text for row in resume.display(branch) if row.type == "user"] == [
        "HUMAN-1 hello <there> & good morning",
        "HUMAN-2 please review this log: [Pasted Content 3239 chars] and summarise",
        "HUMAN-3 USE_TOOL_READ read my notes",
        "HUMAN-4 follow-up question @notes.txt",
        "HUMAN-5 SLOW_ANSWER please",
        "HUMAN-6 queued one",
        "HUMAN-7 queued two",
        "HUMAN-5 SLOW_ANSWER please",
        "HUMAN-8 SLOW_ANSWER cancel me",
        "HUMAN-8 SLOW_ANSWER cancel me",
        "/stuck HUMAN-9 args",
        "HUMAN-10 SLOW_ANSWER base",
        "HUMAN-11 ctrlq one\n\nHUMAN-12 ctrlq two",
        "HUMAN-11 ctrlq one\n\nHUMAN-12 ctrlq two",
        "HUMAN-13 SLOW_ANSWER cancel-edit",
        "HUMAN-13 SLOW_ANSWER cancel-edit EDITED",
        "HUMAN-14 after resume",
        "HUMAN-13 SLOW_ANSWER cancel-edit EDITED",
    ]
    assert resume.first_prompt(branch) == "HUMAN-1 hello <there> & good morning"


def test_a_session_of_the_reference_goes_on_where_it_ended(tmp_path: Path) -> None:
    folder = transcript.TranscriptFolder(tmp_path, durability="os")
    before = (GOLDEN / "acp.jsonl").read_bytes()
    path = folder.path("s")
    path.write_bytes(before)
    writer = folder.writer("s")
    last = transcript.walk(transcript.read(path).records)[0][-1]
    assert writer.tail == last["uuid"]
    writer.append({**last, "uuid": "mine", "parentUuid": writer.tail})
    folder.close()
    branch, flaws = transcript.walk(transcript.read(path).records)
    assert flaws == []
    assert branch[-1]["uuid"] == "mine"
    assert path.read_bytes().startswith(before)
