"""What is shown, replayed and stripped: the one projection."""

from __future__ import annotations

from typing import Any

import pytest

from middleware.resume import (
    display,
    display_user,
    first_prompt,
    project,
    replay,
    replay_parts,
    strip,
    without_attachment_tokens,
)

HOOK = "<qwen:user-prompt-submit-context>\nctx\n</qwen:user-prompt-submit-context>"
MEMORY = "<firsthand:recalled-memory>\nm\n</firsthand:recalled-memory>"
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def user(*texts: str, uuid: str = "u1", payload: Any = None, **fields: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "uuid": uuid,
        "parentUuid": None,
        "type": "user",
        "message": {"role": "user", "parts": [{"text": text} for text in texts]},
        **fields,
    }
    if payload is not None:
        record["systemPayload"] = payload
    return record


def system(subtype: str, payload: dict[str, Any], uuid: str = "s1", **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": None, "type": "system", "subtype": subtype, "systemPayload": payload, **fields}


def test_a_user_row_holds_the_users_words_and_the_model_gets_all_of_them() -> None:
    record = user("expanded", HOOK, payload={"displayText": "typed", "hookContext": "ctx"})
    (row,) = display([record])
    assert (row.type, row.text, row.uuid, row.sent_to_model) == ("user", "typed", "u1", True)
    assert replay([record]) == [{"role": "user", "parts": [{"text": "expanded"}, {"text": HOOK}]}]


def test_what_an_assistant_says_is_its_own_also_when_it_quotes_the_tag() -> None:
    said = {"type": "assistant", "message": {"role": "model", "parts": [{"text": "look:"}, {"text": HOOK}]}}
    assert project(said).parts == [{"text": "look:"}, {"text": HOOK}]
    wire = {"role": "assistant", "content": [{"type": "text", "text": "look:"}, {"type": "text", "text": HOOK}]}
    assert strip(wire) == wire


@pytest.mark.parametrize(
    ("message", "stripped"),
    [
        ({"role": "user", "content": "hi"}, {"role": "user", "content": "hi"}),
        ({"role": "user", "content": HOOK}, {"role": "user", "content": HOOK}),
        (
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": HOOK}]},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": HOOK}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        ),
        (
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_text", "text": HOOK}]},
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ),
        (
            {"role": "user", "parts": [{"text": "hi"}, {"text": MEMORY}, {"text": HOOK}], "id": 1},
            {"role": "user", "parts": [{"text": "hi"}], "id": 1},
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": f"see {HOOK}"}]},
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": f"see {HOOK}"}]},
        ),
        ({"role": "user", "content": None}, {"role": "user", "content": None}),
        ({"role": "user"}, {"role": "user"}),
    ],
)
def test_strip_takes_our_trailing_parts_off_every_sdks_message(
    message: dict[str, Any], stripped: dict[str, Any]
) -> None:
    before = repr(message)
    assert strip(message) == stripped
    assert repr(message) == before


def test_strip_takes_a_record_too() -> None:
    assert strip(user("hi", HOOK))["message"]["parts"] == [{"text": "hi"}]


def test_a_wire_message_is_projected_like_a_record() -> None:
    found = project({"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": HOOK}]})
    assert (found.display_text, found.text) == (None, "hi")
    assert project({"role": "user", "content": "hi"}).text == "hi"


def test_a_media_prompt_with_empty_display_text_shows_a_label_only_where_references_say_so() -> None:
    bare = user("x", HOOK, payload={"displayText": ""})
    labelled = user("x", HOOK, payload={"displayText": "", "attachmentReferences": [{"type": "image"}]})
    assert display_user(bare) is None
    assert display_user(labelled) == "[User message with attachments]"


def test_at_commands_are_paired_first_in_first_out_and_leave_their_files() -> None:
    rows = display(
        [
            system("at_command", {"userText": "first @a", "filesRead": ["a"]}, uuid="s1"),
            system("at_command", {"filesRead": ["b"]}, uuid="s2", parentUuid="s1"),
            user("expanded 1", uuid="u1", parentUuid="s2"),
            user("expanded 2", HOOK, uuid="u2", parentUuid="u1"),
            system("at_command", {"userText": "never sent @c", "filesRead": ["c"]}, uuid="s3", parentUuid="u2"),
        ]
    )
    assert [(row.type, row.text, row.sent_to_model) for row in rows] == [
        ("user", "first @a", True),
        ("tool_call", "a", True),
        ("user", "expanded 2", True),
        ("tool_call", "b", True),
        ("user", "never sent @c", False),
        ("tool_call", "c", True),
    ]


def test_a_history_gap_forgets_pending_at_commands() -> None:
    rows = display([system("at_command", {"userText": "lost"}), user("hello", uuid="u9", parentUuid="gone")])
    assert [row.text for row in rows] == ["hello"]


@pytest.mark.parametrize(
    ("subtype", "payload", "expected"),
    [
        ("notification", {"displayText": "done"}, [("notification", "done", True)]),
        ("notification", None, [("notification", "model text", True)]),
        ("cron", {"displayText": "nightly"}, [("notification", "nightly", True)]),
        ("mid_turn_user_message", {"displayText": "wait"}, [("user", "wait", False)]),
        (
            "mid_turn_user_message",
            {"attachmentReferences": [{"type": "image"}]},
            [("user", "[User message with attachments]", False)],
        ),
        ("goal_runtime", {"displayText": "goal"}, []),
        ("agent_message", None, []),
        ("hook_continuation", None, [("system", "model text", True)]),
        ("kind_of_2027", None, [("system", "model text", True)]),
    ],
)
def test_each_subtype_of_a_user_record_has_its_row(
    subtype: str, payload: Any, expected: list[tuple[str, str, bool]]
) -> None:
    rows = display([user("model text", HOOK, payload=payload, subtype=subtype)])
    assert [(row.type, row.text, row.sent_to_model) for row in rows] == expected


def test_notices_without_any_text_say_what_they_are() -> None:
    assert [row.text for row in display([user(subtype="notification"), user(subtype="cron")])] == [
        "Background agent completed",
        "Cron job fired",
    ]


def test_an_assistants_words_calls_and_results_are_rows_without_its_reasoning() -> None:
    said = [
        {"text": "hm", "thought": True},
        {"text": "a"},
        {"text": "b"},
        {"functionCall": {"id": "c1", "name": "f", "args": {"x": 1}}},
        {"text": "after"},
    ]
    got = [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": "42"}}}, {"text": HOOK}]
    rows = display(
        [
            {"uuid": "a1", "type": "assistant", "message": {"role": "model", "parts": said}},
            {"uuid": "t1", "type": "tool_result", "message": {"role": "user", "parts": got}},
        ]
    )
    assert [(row.type, row.name, row.call_id, row.text) for row in rows] == [
        ("assistant", "", "", "a\nb"),
        ("tool_call", "f", "c1", '{"x": 1}'),
        ("assistant", "", "", "after"),
        ("tool_result", "f", "c1", "42"),
    ]


def test_a_blocked_prompt_is_a_system_row_and_nothing_for_the_model() -> None:
    record = system("prompt_blocked", {"hook": "guard", "reason": "no secrets", "prompt": "my password"})
    assert [(row.type, row.text) for row in display([record])] == [
        ("system", "hook guard blocked the prompt: no secrets")
    ]
    assert replay([record]) == []


def test_a_slash_command_is_shown_once_whether_it_went_to_the_model_or_not() -> None:
    """The reference shows one that went to the model twice (golden/tui, screen 20); a person expects it once."""
    sent = system("slash_command", {"phase": "invocation", "rawCommand": "/stuck", "sentToModel": True})
    local = system("slash_command", {"phase": "invocation", "rawCommand": "/stats", "sentToModel": False})
    done = system("slash_command", {"phase": "result", "outputHistoryItems": [{"type": "info", "text": "42 turns"}]})
    rows = display([sent, user("skill text", payload={"displayText": "/stuck"}), local, done])
    assert [(row.type, row.text) for row in rows] == [("user", "/stuck"), ("user", "/stats"), ("system", "42 turns")]


def test_invalid_unicode_is_replaced_on_display_and_replay_and_kept_in_the_record() -> None:
    record = user("half \ud800 pair\x00")
    assert [row.text for row in display([record])] == ["half \ufffd pair\ufffd"]
    assert replay([record]) == [{"role": "user", "parts": [{"text": "half \ufffd pair\ufffd"}]}]
    assert record["message"]["parts"] == [{"text": "half \ud800 pair\x00"}]


def test_compression_replaces_the_history_before_it() -> None:
    kept = [{"role": "user", "parts": [{"text": "summary"}]}]
    records = [user("old"), system("chat_compression", {"compressedHistory": kept}), user("new")]
    assert replay(records) == [*kept, {"role": "user", "parts": [{"text": "new"}]}]
    assert replay([user("old"), system("chat_compression", {"info": 1}), user("new")]) == []


def test_a_mid_turn_message_joins_the_user_entry_before_it_without_changing_the_record() -> None:
    first, queued = user("one"), user("two", subtype="mid_turn_user_message")
    assert replay([first, queued]) == [{"role": "user", "parts": [{"text": "one"}, {"text": "two"}]}]
    assert first["message"]["parts"] == [{"text": "one"}]


def test_realtime_and_code_mode_records_are_not_replayed() -> None:
    code = {"uuid": "t", "type": "tool_result", "subtype": "code_mode_tool_result", "message": {"parts": [IMAGE]}}
    assert replay([user("x", subtype="realtime_message"), code]) == []


def test_the_first_prompt_is_the_first_plain_one_that_says_anything() -> None:
    records = [
        user("<env>", subtype="notification"),
        user("x", payload={"displayText": "  "}),
        user("Diagnose the parser", HOOK),
    ]
    assert first_prompt(records) == "Diagnose the parser"
    assert first_prompt([]) is None


def test_an_export_puts_the_display_text_where_the_first_text_was() -> None:
    assert replay_parts([IMAGE, {"text": "a"}, {"text": HOOK}], "raw") == [IMAGE, {"text": "raw"}]
    assert replay_parts([IMAGE, {"text": "a"}], "") == [IMAGE]
    assert replay_parts([{"text": "a"}, {"text": HOOK}], None) == [{"text": "a"}]


def test_only_the_generated_attachment_lines_go() -> None:
    two = [{"type": "resource", "attachmentId": "a b"}, {"type": "image", "attachmentId": "i"}]
    assert without_attachment_tokens("see\n\n@attachment:///a%20b", two) == "see"
    assert without_attachment_tokens("see", "nonsense") == "see"


@pytest.mark.parametrize("parts", [None, {"a": 1}, 5, [None, 3, [1]], [{"text": 5}], [{"functionCall": 7}]])
@pytest.mark.parametrize("kind", ["user", "assistant", "tool_result", "system", "future", None, 7])
def test_a_record_of_any_shape_is_shown_and_replayed_without_an_error(parts: Any, kind: Any) -> None:
    record = {"uuid": 5, "type": kind, "subtype": None, "message": {"parts": parts}, "systemPayload": [1]}
    assert isinstance(display([record, {**record, "subtype": ["x"]}]), list)
    assert isinstance(replay([record, {**record, "subtype": ["x"]}, {**record, "subtype": {}}]), list)
    assert first_prompt([record]) is None
