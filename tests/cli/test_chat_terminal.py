"""`firsthand chat` by its keys: what the hook is given, what comes back, what is kept."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from middleware.chat import State
from middleware.chat.commands import Command

from .chatting import chatting
from .streaming import StreamingModel, text_of

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
CTRL_C, CTRL_D, CTRL_J, CTRL_Q, UP = "\x03", "\x04", "\n", "\x11", "\x1b[A"


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


def test_what_is_typed_reaches_the_hook_as_submitted_prompt_and_the_reply_is_printed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("why is CI red?")
            assert chat.values == ["why is CI red?"]
            assert "> why is CI red?" in chat.printed
            assert "echo: why is CI red?" in chat.printed
            assert chat.text == ""
            assert chat.terminal.screen.facts[:4] == ("m", "7 in, 5 out", "0 hooks", "0 recalled")
            assert chat.terminal.screen.facts[4].startswith("trace ")

    asyncio.run(play())


def test_a_paste_of_3000_characters_is_a_placeholder_for_the_person_and_a_body_for_the_model(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"look: {PASTE_BEGINS}{'x' * 3000}{PASTE_ENDS}")
            await chat.until(lambda: chat.text == "look: [Pasted Content 3000 chars]")
            await chat.turn("")
            assert chat.values == ["look: [Pasted Content 3000 chars]"]
            assert chat.payloads[0]["prompt"] == "look: " + "x" * 3000

    asyncio.run(play())


def test_markup_in_a_reply_is_shown_and_not_left_out(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("a <b>bold</b> <think> <q:tag> <!-- word --> **strong**")
            await chat.until(lambda: "echo: a <b>bold</b> <think> <q:tag> <!-- word --> strong" in chat.printed)

    asyncio.run(play())


def test_alt_enter_and_ctrl_j_begin_a_new_line(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn(f"one{CTRL_J}two\x1b\rthree")
            assert chat.values == ["one\ntwo\nthree"]

    asyncio.run(play())


def test_cancelling_before_a_reply_gives_the_text_back_and_sending_it_again_keeps_its_value(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent one" and "cancelled; your text is back" in chat.printed)
            model.gate.set()
            await chat.turn("")
            assert chat.values == ["silent one", "silent one"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["silent one"]

    asyncio.run(play())


def test_cancelling_and_editing_leaves_the_value_out(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys("\x1b")
            await chat.until(lambda: chat.text == "silent one" and chat.terminal._turn is None)
            model.gate.set()
            await chat.turn("!")
            assert chat.values == ["silent one", "absent"]

    asyncio.run(play())


def test_a_cancelled_reply_that_had_begun_stays_in_the_conversation(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "slow one" and chat.terminal._turn is None)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
            await chat.turn("next")
            texts = [text_of(message) for message in model.bodies[-1]["messages"]]
            assert texts == ["slow one", "echo: ", "next"]

    asyncio.run(play())


def test_a_blocked_prompt_shows_the_reason_and_comes_back_and_is_not_kept(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("my secret\r")
            await chat.until(lambda: "blocked: no secrets (your text is back)" in chat.printed)
            assert chat.text == "my secret"
            assert model.bodies == []
            assert (place / "chat" / "history.jsonl").read_bytes() == b""

    asyncio.run(play())


def test_what_is_queued_while_a_turn_runs_goes_out_after_it_as_one(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys(f"two{CTRL_Q}three\r")
            await chat.until(lambda: len(chat.terminal.chat.queue) == 2)
            model.gate.set()
            await chat.done(2)
            assert chat.values == ["slow one", "two\n\nthree"]

    asyncio.run(play())


def test_history_is_the_owners_alone_survives_the_chat_and_taints(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
        async with chatting(place, model) as chat:
            await chat.turn(UP)
            assert chat.values == ["first", "absent"]
            assert chat.payloads[1]["prompt"] == "first"

    asyncio.run(play())
    assert stat.S_IMODE((place / "chat" / "history.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("keys", ["a b\x1bu", "ab\x14", "x\x1b."], ids=["upcase", "transpose", "last argument"])
def test_text_that_gets_into_the_buffer_by_another_road_taints(model: StreamingModel, place: Path, keys: str) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.terminal.mirror.buffer.history.append_string("from elsewhere")
            chat.terminal.mirror.buffer.insert_text("by a program")
            assert chat.terminal.chat.composer.state is State.TAINTED
            await chat.turn(keys)
            assert chat.values == ["absent"]

    asyncio.run(play())


def test_a_key_of_the_library_that_accepts_a_line_leaves_it_on_the_screen_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("ab\x1b#")
            await chat.until(lambda: chat.text == "#ab")
            await chat.turn("")
            assert chat.values == ["absent"]
            assert chat.payloads[0]["prompt"] == "#ab"

    asyncio.run(play())


def test_ctrl_d_on_an_empty_line_leaves(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(CTRL_D)
            assert chat.running is not None
            await asyncio.wait_for(chat.running, 60)

    asyncio.run(play())


def test_a_server_that_fails_gives_the_text_back(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            model._server.shutdown()
            model._server.server_close()
            chat.keys("hello\r")
            await chat.until(lambda: chat.text == "hello")
            assert "the model did not answer: Connection error; check --base-url" in chat.printed

    asyncio.run(play())


def test_context_shows_what_was_added_and_from_where(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("hello")
            chat.keys("/context\r")
            await chat.until(lambda: "added by the hook state" in chat.printed)
            await chat.until(lambda: "│ branch <main>" in chat.printed)
            assert chat.values == ["hello"]

    asyncio.run(play())


def test_help_hooks_and_memory_are_no_turns(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("/help\r/hooks\r/memory\r/memory brontes\r")
            await chat.until(lambda: "what the model got with the last turn, and who added it" in chat.printed)
            await chat.until(lambda: "no hook runs here; `firsthand hooks list` says why" in chat.printed)
            await chat.until(lambda: "no memory went with the last turn" in chat.printed)
            await chat.until(lambda: "no memories here: set `store` and `user`" in chat.printed)
            assert (chat.payloads, model.bodies) == ([], [])

    asyncio.run(play())


def test_btw_is_asked_beside_the_running_turn_without_hooks_and_leaves_nothing(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("slow one\r")
            await chat.until(lambda: chat.terminal.screen.reply == "echo: ")
            chat.keys("/btw what is argus?\r")
            await chat.until(lambda: "echo: what is argus?" in chat.printed)
            assert chat.terminal.chat.busy
            model.gate.set()
            await chat.done(1)
            chat.keys("/context\r")
            await chat.until(lambda: "│ branch <main>" in chat.printed)
            await chat.turn("next")
            assert chat.values == ["slow one", "next"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == [
                "slow one",
                "echo: slow one",
                "next",
            ]
            assert model.bodies[1]["messages"][-1] == {"role": "user", "content": "what is argus?"}

    asyncio.run(play())


def test_a_shell_command_runs_here_and_nothing_goes_to_a_model(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("!echo from the $((40 + 2)); exit 3\r")
            await chat.until(lambda: "from the 42" in chat.printed and "exit code 3" in chat.printed)
            assert (chat.payloads, model.bodies) == ([], [])
            history = (place / "chat" / "shell_history.jsonl").read_text().splitlines()
            assert [json.loads(line)["text"] for line in history] == ["echo from the $((40 + 2)); exit 3"]

    asyncio.run(play())


def test_a_mentioned_file_is_in_the_prompt_and_not_in_what_was_typed(model: StreamingModel, place: Path) -> None:
    (place / "a.txt").write_text("CANARY")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("@a.txt and @b.txt why")
            assert chat.values == ["@a.txt and @b.txt why"]
            assert "CANARY" in chat.payloads[0]["prompt"]
            assert "@b.txt: no such file; sent as text" in chat.printed

    asyncio.run(play())


def test_a_command_of_a_markdown_file_is_what_was_typed_to_the_hook_and_its_body_to_the_model(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        review = Command(name="review", description="", body="Review {{args}} well.")
        async with chatting(place, model, review=review) as chat:
            await chat.turn("/review a.py")
            assert chat.values == ["/review a.py"]
            assert chat.payloads[0]["prompt"] == "Review a.py well."

    asyncio.run(play())


def test_rewind_takes_the_last_turn_out_of_what_is_sent_and_its_text_is_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            await chat.turn("second")
            chat.keys("/rewind\r")
            await chat.until(lambda: chat.text == "second")
            await chat.turn("")
            assert chat.values == ["first", "second", "absent"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["first", "echo: first", "second"]

    asyncio.run(play())


def test_a_rewind_is_what_a_resumed_chat_shows_and_sends(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            for text in ("first", "second", "third"):
                await chat.turn(text)
            chat.keys("/rewind list\r")
            await chat.until(lambda: "  3  first\n  2  second\n  1  third\n" in chat.printed)
            chat.keys("/rewind 2\r")
            await chat.until(lambda: chat.text == "second")
            assert "the last 2 turns are taken back" in chat.printed
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
            await chat.turn("fourth")
        async with chatting(place, model, resumed=True) as chat:
            assert [turn.text for turn in chat.terminal.talk.past] == ["first", "fourth"]
            assert [row.text for row in chat.terminal.session.shown()] == [
                *("first", "echo: first", "fourth", "echo: fourth")
            ]
            chat.keys("/rewind 2\r")
            await chat.until(lambda: chat.text == "first")
            await chat.turn(" again")
            assert chat.values == ["first", "second", "third", "fourth", "absent"]
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == ["first again"]

    asyncio.run(play())


def test_a_rewind_of_a_resumed_turn_takes_back_what_was_cancelled_before_it_too(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            chat.keys("silent one\r")
            assert all([await asyncio.to_thread(model.asked.acquire, timeout=60) for _ in range(2)])
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent one" and chat.terminal._turn is None)
            chat.keys(f"{CTRL_C}/rewind\r")
            await chat.until(lambda: chat.text == "first")
            assert chat.terminal.session.shown() == []

    asyncio.run(play())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/rewind", "there is no turn to take back"),
        ("/rewind 0", "there is no turn to take back"),
        ("/rewind list", "there is no turn to take back"),
        ("/rewind two", "/rewind takes a number of turns, or list, not 'two'"),
    ],
)
def test_what_cannot_be_taken_back_is_said_in_one_line(
    model: StreamingModel, place: Path, typed: str, said: str
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"{typed}\r")
            await chat.until(lambda: said in chat.printed)

    asyncio.run(play())


def test_export_writes_what_was_said_once_and_not_over_it(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("why is CI red?")
            chat.keys("/export out.md\r")
            await chat.until(lambda: "out.md: what was said, without what was added" in chat.printed)
            chat.keys("/export out.md\r")
            await chat.until(lambda: "out.md is there already; name another file" in chat.printed)
            chat.keys("/export out.pdf\r")
            await chat.until(lambda: "ends in .md, .html, .json, .jsonl" in chat.printed)

    asyncio.run(play())
    text = (place / "out.md").read_text()
    assert "why is CI red?" in text
    assert "branch" not in text


def test_resume_goes_on_with_another_session_and_shows_what_was_typed(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model, session="old") as chat:
            await chat.turn("why is CI red?")
        async with chatting(place, model) as chat:
            chat.keys("/resume\r")
            await chat.until(lambda: "go on with one: /resume ID" in chat.printed)
            assert "why is CI red?" in chat.printed
            chat.keys("/resume nobodys\r")
            await chat.until(lambda: "no session nobodys of yours in" in chat.printed)
            chat.keys("/resume old\r")
            await chat.until(lambda: "> why is CI red?" in chat.printed and "echo: why is CI red?" in chat.printed)
            assert "branch" not in chat.printed
            await chat.turn("and now?")
            assert [text_of(message) for message in model.bodies[-1]["messages"]] == [
                "why is CI red?",
                "echo: why is CI red?",
                "and now?",
            ]
            assert chat.payloads[1]["session_id"] == "old"
            assert json.dumps(model.bodies[-1]).count("branch &lt;main&gt;") == 2

    asyncio.run(play())


@pytest.mark.parametrize("keys", ["word", "word\x1bx", "two words\x1bdw"], ids=["insert", "normal", "a command"])
def test_in_vim_mode_nothing_is_attributed(model: StreamingModel, place: Path, keys: str) -> None:
    async def play() -> None:
        async with chatting(place, model, vim=True) as chat:
            await chat.turn(keys)
            assert chat.values == ["absent"]

    asyncio.run(play())


def test_a_paste_that_vims_keys_have_edited_around_is_still_sent(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model, vim=True) as chat:
            await chat.turn(f"a{PASTE_BEGINS}{'x' * 3000}{PASTE_ENDS}b\x1bx")
            assert chat.payloads[0]["prompt"] == "a" + "x" * 3000

    asyncio.run(play())


def test_ctrl_r_finds_an_earlier_text_and_sends_it_unattributed(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first of all")
            await chat.turn("second first")
            await chat.turn("third")
            await chat.turn("\x12FIRST\x12")
            assert chat.payloads[3]["prompt"] == "first of all"
            chat.keys("\x12second\t")
            await chat.until(lambda: chat.text == "second first")
            await chat.turn(" now")
            assert chat.payloads[4]["prompt"] == "second first now"
            assert chat.values == ["first of all", "second first", "third", "absent", "absent"]

    asyncio.run(play())


def test_leaving_the_search_leaves_the_draft_as_it_was(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            chat.keys("draft\x12fir\x07")
            await chat.turn(" goes on")
            assert chat.values == ["first", "draft goes on"]

    asyncio.run(play())


def test_what_is_cancelled_before_it_was_begun_is_not_sent(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"one\r{CTRL_C}")
            await chat.until(lambda: "cancelled; your text is back" in chat.printed)
            assert chat.text == "one"
            await chat.turn("")
            assert chat.values == ["one"]
            assert len(model.bodies) == 1

    asyncio.run(play())


def test_a_second_cancel_stops_what_was_sent_while_the_first_was_under_way(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(f"{CTRL_C}\r{CTRL_C}")
            await chat.until(lambda: chat.printed.count("cancelled; your text is back") == 2)
            assert chat.text == "silent one"
            assert chat.values == ["silent one"]
            assert len(model.bodies) == 1

    asyncio.run(play())


def test_leaving_while_a_turn_runs_cancels_it(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            assert chat.terminal._turn is not None
            turn = chat.terminal._turn.task
            chat.keys("exit\r")
            assert chat.running is not None
            await asyncio.wait_for(chat.running, 60)
            assert turn is not None
            assert turn.cancelled()

    asyncio.run(play())
