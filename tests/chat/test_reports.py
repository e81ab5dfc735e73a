"""What was reported about provenance elsewhere (field notes, area provenance), and what the reference's hook received.

Each test's docstring names the report, or the file of the recorded session.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Submission
from middleware.chat import Chat, Send, State
from middleware.chat.expand import expand
from middleware.provenance import Origin, submitted_prompt
from middleware.session import Session
from middleware.testing import LocalModel
from middleware.turn import HookInput, Scene
from tests.talking import Talk, user
from tests.vectors.composing import Stage

PLACEHOLDER = "[Pasted Content 3239 chars]"


def played(tmp_path: Path, *steps: str, **config: Any) -> Stage:
    """Play operations written `op text`."""
    stage = Stage(config, tmp_path)
    for step in steps:
        op, _, text = step.partition(" ")
        stage.step({"op": op, "text": text} if text else {"op": op})
    return stage


def values(stage: Stage) -> list[str | None]:
    return [event.get("submitted_prompt") for event in stage.events]


def test_a_plain_submission_carries_what_was_typed(tmp_path: Path) -> None:
    """V01, and 01-simple."""
    text = "HUMAN-1 hello <there> & good morning"
    stage = played(tmp_path, f"type {text}", "submit")
    assert [(event["prompt"], event["submitted_prompt"]) for event in stage.events] == [(text, text)]


def test_expansion_changes_the_prompt_only(tmp_path: Path) -> None:
    """V03, and 05-simple: the prompt is the reference's, byte for byte."""
    text = "HUMAN-4 follow-up question @notes.txt"
    files = {"notes.txt": "alpha notes\nsecond line of notes\n"}
    (event,) = played(tmp_path, f"type {text}", "submit", files=files).events
    assert event["submitted_prompt"] == text
    assert event["prompt"] == (
        "HUMAN-4 follow-up question @notes.txt\n--- Content from referenced files ---\nContent from notes.txt:\n"
        "alpha notes\nsecond line of notes\n\n--- End of content ---"
    )


def test_a_continuation_leaves_the_key_out(tmp_path: Path) -> None:
    """V04, and 03- and 04-simple."""
    stage = played(tmp_path, "type HUMAN-3 USE_TOOL_READ read my notes", "submit", "tool_result")
    assert values(stage) == ["HUMAN-3 USE_TOOL_READ read my notes", None]
    assert "submitted_prompt" not in stage.events[1]


def test_remote_input_in_a_batch_spoils_it(tmp_path: Path) -> None:
    """V08."""
    stage = played(tmp_path, "type x", "submit", "type a", "submit", "remote b", "finish")
    assert values(stage) == ["x", None]


def test_a_queued_text_that_was_edited_is_not_vouched_for(tmp_path: Path) -> None:
    """V09."""
    stage = played(tmp_path, "type x", "submit", "type a", "queue", "restore_queue", "type !", "submit", "finish")
    assert values(stage) == ["x", None]


def test_clear_and_undo_after_a_restoration_leave_nothing_to_send(tmp_path: Path) -> None:
    """V11."""
    stage = played(tmp_path, "type a", "submit", "cancel", "clear", "undo", "submit")
    assert (values(stage), stage.chat.composer.text) == (["a"], "")


def test_rewound_text_is_never_eligible(tmp_path: Path) -> None:
    """V12."""
    assert values(played(tmp_path, "rewind model-bound", "submit")) == [None]


def test_vim_text_stays_ineligible_until_it_is_cleared(tmp_path: Path) -> None:
    """V13 and V14."""
    assert values(played(tmp_path, "vim_on", "type a", "vim_off", "submit")) == [None]
    assert values(played(tmp_path, "vim_on", "type a", "vim_off", "clear", "type b", "submit")) == ["b"]


def test_five_megabytes_stay_compact(tmp_path: Path) -> None:
    """V15."""
    (event,) = played(tmp_path, f"paste {'x' * 5_000_000}", "submit").events
    assert event["submitted_prompt"] == "[Pasted Content 5000000 chars]"
    assert event["prompt"] == "x" * 5_000_000


def test_a_pasted_replacement_string_arrives_as_it_is(tmp_path: Path) -> None:
    """V16."""
    body = r"$& \1 \g<0> " * 100
    (event,) = played(tmp_path, f"paste {body}", "submit").events
    assert (event["prompt"], event["submitted_prompt"]) == (body.strip(), "[Pasted Content 1200 chars]")


def test_after_a_restart_history_sends_the_whole_paste_without_a_value(tmp_path: Path) -> None:
    """V17: our history keeps the body; see `test_submitting` for one that was lost."""
    body = "x" * 1001
    stage = played(tmp_path, f"paste {body}", "submit", "finish", "restart", "history_up", "submit")
    assert [(event["prompt"], event.get("submitted_prompt")) for event in stage.events] == [
        (body, "[Pasted Content 1001 chars]"),
        (body, None),
    ]


def test_cancelling_deletes_nothing_of_a_side_question(tmp_path: Path) -> None:
    """V18."""
    stage = played(tmp_path, "type main", "submit", "type /btw side", "submit", "cancel")
    assert stage.chat.composer.text == "main"
    assert [entry.text for entry in stage.chat.history.entries] == ["main", "/btw side"]
    assert stage.cancelled is not None
    assert not stage.cancelled.forgotten


def test_a_blank_submission_fires_nothing(tmp_path: Path) -> None:
    """V19."""
    assert values(played(tmp_path, "type    ", "submit")) == []


@pytest.mark.parametrize(("value", "kept"), [("  a  ", "  a  "), (None, None), ("", None), (b"x", None)])
def test_the_core_passes_a_value_as_received_and_nothing_that_is_none(value: object, kept: str | None) -> None:
    """V20, V21a, V21b, V21d."""
    hook_input = HookInput(
        scene=Scene(session_id="s"), prompt="p", submitted_prompt=submitted_prompt(Origin.USER_QUERY, value)
    )
    assert hook_input.payload("now").get("submitted_prompt") == kept


def test_two_chats_in_one_process_do_not_mix(tmp_path: Path) -> None:
    """V22: the submissions of two chats, minted before either is sent, sent in the other order."""
    talk, sends = Talk(), []
    for name in ("a", "b"):
        chat, session = Chat(), Session(id=f"session-{name}")
        chat.composer.type(name)
        (effect,) = chat.submit()
        assert isinstance(effect, Send)
        parts = expand(effect.item, folder=tmp_path).parts
        sends.append((name, session, effect.submission(parts, session=session.id)))
    for name, session, submission in reversed(sends):
        talk.send(user(name), session=session, submission=submission, declared=Origin.USER_QUERY)
    assert [given.submitted_prompt for given in talk.hook_inputs] == ["b", "a"]


def test_two_chats_that_send_at_the_same_moment_do_not_mix() -> None:
    """V22, through wrapped clients in two threads whose hooks wait for each other."""
    met, seen = threading.Barrier(2), dict[str, object]()

    def hook(payload: dict[str, object]) -> None:
        met.wait(60)
        seen[str(payload["session_id"])] = payload.get("submitted_prompt")

    with Middleware(hooks=[hook]) as app, ThreadPoolExecutor(2) as pool:
        client = app.wrap(LocalModel().openai())

        def send(name: str) -> None:
            with app.session(name), app.submitting(Submission(model_parts="hi", submitted_prompt=name, producer="p")):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

        list(pool.map(send, ["one", "two"]))
    assert seen == {"one": "one", "two": "two"}


def test_a_submission_for_another_session_vouches_for_nothing(tmp_path: Path) -> None:
    """V22, the wrong way."""
    chat, talk = Chat(), Talk()
    chat.composer.type("a")
    (effect,) = chat.submit()
    assert isinstance(effect, Send)
    talk.send(user("a"), session=Session(id="one"), submission=effect.submission(session="two"))
    assert [given.submitted_prompt for given in talk.hook_inputs] == [None]


def test_an_image_alone_from_a_program_runs_the_hook_with_no_text_and_without_the_field() -> None:
    """V23."""
    given: list[dict[str, object]] = []
    with Middleware(hooks=[lambda payload: given.append(payload)]) as app:
        create: Any = app.wrap(LocalModel().openai()).chat.completions.create
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        create(model="m", messages=[{"role": "user", "content": [image]}])
    assert [(payload["prompt"], "submitted_prompt" in payload) for payload in given] == [("", False)]


def test_a_look_alike_of_a_placeholder_that_was_typed_is_a_text(tmp_path: Path) -> None:
    """V17, its end."""
    typed = "[Pasted Content 5000 chars] is what it said"
    stage = played(tmp_path, f"type {typed}", "submit")
    assert [(event["prompt"], event["submitted_prompt"]) for event in stage.events] == [(typed, typed)]


def test_an_image_alone_sends_nothing(tmp_path: Path) -> None:
    """V23, in the composer."""
    stage = played(tmp_path, "attach_image a.png", "submit")
    assert (values(stage), stage.chat.composer.chips) == ([], ("a.png",))


def test_the_recorded_paste_reads_as_it_did_there(tmp_path: Path) -> None:
    """02-simple: 60 lines, 3,239 characters, with a few words on both sides."""
    body = "\n".join(f"PASTE-LINE-{line:03} lorem ipsum dolor sit amet consectetur" for line in range(60))
    stage = played(tmp_path, "type HUMAN-2 please review this log: ")
    stage.step({"op": "paste", "text": body})
    stage.step({"op": "type", "text": " and summarise"})
    stage.step({"op": "submit"})
    (event,) = stage.events
    assert event["submitted_prompt"] == f"HUMAN-2 please review this log: {PLACEHOLDER} and summarise"
    assert event["prompt"] == f"HUMAN-2 please review this log: {body} and summarise"


def test_a_cancelled_text_sent_again_carries_its_value_and_an_edited_one_does_not(tmp_path: Path) -> None:
    """08 and 09; 14 and 15, which the reference's newer release sends with one."""
    stage = played(tmp_path, "type HUMAN-8", "submit", "cancel", "submit", "finish")
    assert values(stage) == ["HUMAN-8", "HUMAN-8"]
    for step in ("type HUMAN-13", "submit", "cancel", "type  EDITED", "submit"):
        op, _, text = step.partition(" ")
        stage.step({"op": op, "text": text} if text else {"op": op})
    assert values(stage)[2:] == ["HUMAN-13", None]
    assert stage.events[-1]["prompt"] == "HUMAN-13 EDITED"


def test_a_command_carries_what_was_typed_and_its_body_goes_to_the_model(tmp_path: Path) -> None:
    """10-simple."""
    (event,) = played(tmp_path, "type /stuck HUMAN-9 args", "submit", commands={"/stuck": "SKILL"}).events
    assert (event["prompt"], event["submitted_prompt"]) == ("SKILL", "/stuck HUMAN-9 args")


def test_deferred_texts_go_out_as_one_batch_and_history_gives_it_back_without_a_value(tmp_path: Path) -> None:
    """11 to 13; the last is sent with a value there."""
    stage = played(tmp_path, "type HUMAN-10", "submit", "type HUMAN-11", "queue", "type HUMAN-12", "queue", "finish")
    for op in ("finish", "history_up", "submit"):
        stage.step({"op": op})
    assert values(stage) == ["HUMAN-10", "HUMAN-11\n\nHUMAN-12", None]
    assert stage.events[-1]["prompt"] == "HUMAN-11\n\nHUMAN-12"


def test_every_payload_of_the_chat_is_json_with_the_key_or_without_it(tmp_path: Path) -> None:
    """Missing is normal: never null, never empty."""
    stage = played(tmp_path, "type a", "submit", "tool_result", "finish", "rewind b", "submit")
    lines = [json.dumps(event) for event in stage.events]
    assert [("submitted_prompt" in line) for line in lines] == [True, False, False]
    assert stage.chat.composer.state is State.FRESH
