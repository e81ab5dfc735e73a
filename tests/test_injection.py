"""The tags, both ways."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from middleware.injection import (
    HOOK_TAG,
    MEMORY_TAG,
    SUBAGENT_TAG,
    Block,
    Memory,
    block_from,
    block_of,
    escape,
    is_tagged,
    kept_parts,
    tag_of,
    wrap_text,
)

HOOK = f"<{HOOK_TAG}>\nc\n</{HOOK_TAG}>"
MEMORY = f"<{MEMORY_TAG}>\nm\n</{MEMORY_TAG}>"
SUBAGENT = f"<{SUBAGENT_TAG}>\ns\n</{SUBAGENT_TAG}>"
anything = st.text(st.characters())


def test_only_angle_brackets_are_escaped():
    assert escape("a<b>c & d &lt;") == "a&lt;b&gt;c & d &lt;"


def test_lone_surrogates_and_nul_are_replaced():
    assert escape("bad\ud800half\x00") == "bad\ufffdhalf\ufffd"


@given(anything)
@example("\ud800")
@example("</qwen:user-prompt-submit-context>")
def test_whatever_a_hook_says_is_one_recognised_part_of_valid_unicode(context):
    block = block_of(context)
    for text in block.texts:
        assert is_tagged(text)
        assert text.count(f"</{HOOK_TAG}>") == 1
        text.encode()


@given(anything)
@example("0\r")
@example("\r\n")
def test_a_body_reads_back_as_it_was_written(context):
    block = block_of(context)
    assert block_from(["typed", *block.texts]).hook == block.hook


@given(st.lists(anything, min_size=1))
def test_memories_read_back_as_they_were_written(texts):
    block = block_of("c", [Memory(id=str(n), text=text, score=1.0) for n, text in enumerate(texts)])
    assert block_from(["typed", *block.texts]).memory == block.memory


@pytest.mark.parametrize("context", [None, 7, ["a"], "", " \n\t", "\ufeff\u3000"])
def test_no_string_and_blank_contexts_inject_nothing(context):
    assert not block_of(context)
    assert block_of(context).texts == ()


def test_u0085_and_u001c_alone_are_not_blank():
    assert block_of("\x85") and block_of("\x1c")


def test_memories_go_before_hook_context():
    block = block_of("ctx", [Memory(id="1", text="likes tea", score=1.0, age="3 days ago")])
    assert block.sources == ("memory", "hook")
    assert [tag_of(text) for text in block.texts] == [MEMORY_TAG, HOOK_TAG]
    assert "- likes tea (3 days ago)" in block.memory


def test_a_memory_over_1200_characters_is_cut_and_says_so():
    block = block_of(None, [Memory(id="1", text="x" * 1300, score=1.0)])
    assert f"{'x' * 1200} [cut: 1200 of 1300 characters]" in block.memory
    assert "x" * 1201 not in block.memory


def test_a_context_over_the_limit_is_cut_before_escaping_with_a_note_inside_the_tag():
    block = block_of("<" * 10, max_context_chars=4)
    assert block.hook == "&lt;" * 4 + "\n[context cut by firsthand: 4 of 10 characters kept]"
    assert block.truncated and is_tagged(block.texts[0])


def test_an_astral_character_is_never_cut_in_two():
    block = block_of("\U00020000" * 120_000)
    assert block.hook.startswith("\U00020000" * 100_000 + "\n[context cut by firsthand: 100000 of 120000")


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (["u", HOOK], 1),
        (["u", MEMORY, HOOK], 1),
        (["u", SUBAGENT, MEMORY, HOOK], 1),
        (["u", HOOK, MEMORY], 2),
        (["u", HOOK, HOOK], 2),
        ([HOOK], 1),
        ([MEMORY, HOOK], 1),
        ([None, HOOK], 1),
        (["u", HOOK, "typed after"], 3),
        (["u", HOOK, ""], 3),
        (["u", f"see {HOOK}"], 2),
        ([], 0),
    ],
)
def test_what_is_stripped_from_the_end(texts, kept):
    assert kept_parts(texts) == kept


@given(st.lists(st.one_of(st.none(), anything, st.sampled_from([HOOK, MEMORY, SUBAGENT])), min_size=1))
def test_a_part_always_stays_and_at_most_three_go(texts):
    assert 1 <= kept_parts(texts) <= len(texts)
    assert len(texts) - kept_parts(texts) <= 3


def test_a_wrapped_body_is_not_trimmed():
    assert wrap_text(" \n") == f"<{HOOK_TAG}>\n \n\n</{HOOK_TAG}>"


def test_a_block_is_falsy_only_when_it_adds_nothing():
    assert not Block() and Block(hook="x") and Block(memory="x")
