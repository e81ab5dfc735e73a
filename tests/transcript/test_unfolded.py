"""Rows of a resumed screen with what stands behind each of them."""

from __future__ import annotations

from middleware.transcript.unfolded import injected_in, unfold

from .records import HOOK, MEMORY, TALK, record, text


def test_every_row_has_what_was_added_to_its_record_and_by_whom() -> None:
    assert [
        (item.shown and item.shown.text, [(added.source, added.text) for added in item.injected])
        for item in unfold(TALK)
    ] == [
        ("why is CI red?", [("memory", "- uploads go to staging"), ("hook", "branch: main")]),
        ("I look.", []),
        ('{"test": "t"}', []),
        ("failed", [("hook", "branch: main")]),
        ("It failed.", []),
    ]


def test_an_assistant_that_writes_our_tags_injects_nothing() -> None:
    assert injected_in(record("a", None, "assistant", [text("x"), text(HOOK)])) == ()


def test_the_only_part_of_a_message_is_the_users_whatever_it_says() -> None:
    [item] = unfold([record("a", None, "user", [text(HOOK)])])
    assert (item.shown and item.shown.text, item.injected) == (HOOK, ())


def test_what_the_model_got_in_place_of_the_shown_text_is_told() -> None:
    pasted = record("a", None, "user", [text("3 pages"), text(HOOK)], systemPayload={"displayText": "[Pasted]"})
    assert [item.sent for item in unfold([pasted])] == ["3 pages"]
    assert [item.sent for item in unfold(TALK)] == [None] * 5


def test_a_compressed_conversation_holds_what_the_model_got_for_it() -> None:
    history = [{"role": "user", "parts": [text("a summary")]}]
    compressed = record("a", None, "system", subtype="chat_compression", systemPayload={"compressedHistory": history})
    assert [item.sent for item in unfold([compressed])] == ["a summary"]


def test_what_was_added_without_a_row_stands_where_it_was_sent() -> None:
    branch = [
        record("0", None, "system", subtype="session_start_context", systemPayload={"hookContext": "rules"}),
        record("1", "0", "user", [text("hi")]),
        record("2", "1", "user", [text(""), text(MEMORY)], subtype="hook_continuation"),
        record("3", "2", "assistant", [text("hello")]),
    ]
    assert [(item.uuid, item.shown is None, [a.source for a in item.injected]) for item in unfold(branch)] == [
        ("0", True, ["session hook"]),
        ("1", False, []),
        ("2", True, ["memory"]),
        ("3", False, []),
    ]


def test_a_picture_without_words_stands_where_it_was_sent() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    [item] = unfold([record("a", None, "user", [picture])])
    assert (item.shown, item.media) == (None, (picture,))
