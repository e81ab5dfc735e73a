"""What is exported about injected text counts every part of ours that a request carries, the session's start too."""

from typing import Any

from middleware import Middleware, Settings
from middleware.injection import SESSION_TAG, SUBAGENT_TAG, Block
from middleware.telemetry.injected import metadata, sizes
from middleware.testing import capture

COUNT, CHARS, SOURCES = "firsthand.injection.count", "firsthand.injection.chars", "firsthand.injection.sources"


def test_the_sizes_of_a_block_are_those_of_its_texts() -> None:
    block = Block(hook="a", memory="bb", subagent="ccc", session="dddd")
    assert sum(size for _, size in sizes(block)) == block.chars
    assert [source for source, _ in sizes(block)] == ["memory", "hook", "hook", "hook"]


def test_the_context_of_a_sessions_start_is_metadata_of_every_call_that_carries_it() -> None:
    with capture("one", "two") as captured:
        app = Middleware(Settings(), **captured.providers)
        app.hook("SessionStart", lambda _: "branch=main")
        history: Any = [{"role": "user", "content": "hello"}]
        with captured.model.openai() as plain:
            client = app.wrap(plain, session="s")
            client.chat.completions.create(model="m", messages=history)
            history += [{"role": "assistant", "content": "one"}, {"role": "user", "content": "again"}]
            client.chat.completions.create(model="m", messages=history)
    chars = len(f"<{SESSION_TAG}>\nbranch=main\n</{SESSION_TAG}>")
    for span in captured.spans_named("chat"):
        found = dict(span.attributes or {})
        assert (found[COUNT], found[CHARS], found[SOURCES]) == (1, chars, ("hook",))
    assert "branch=main" not in captured.exported()


def test_sources_are_told_in_one_order_whichever_turn_brought_them() -> None:
    for blocks in ({0: Block(hook="y"), 2: Block(memory="x")}, {0: Block(memory="x"), 2: Block(hook="y")}):
        assert metadata(blocks)[SOURCES] == ("memory", "hook")


def test_the_context_of_a_subagents_start_is_counted_too() -> None:
    found = metadata({0: Block(subagent="x", hook="y")})
    assert (found[COUNT], found[SOURCES]) == (2, ("hook",))
    assert found[CHARS] == Block(subagent="x", hook="y").chars and SUBAGENT_TAG in Block(subagent="x").texts[0]
