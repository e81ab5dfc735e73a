"""The keys of `firsthand chat` beside sending: menus, stash, editor, images; and what each makes of eligibility."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from middleware.chat import State
from middleware.chat.commands import Command

from .chatting import Chatting, chatting
from .streaming import StreamingModel

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
TAB, UP, DOWN, ESCAPE, CTRL_C, CTRL_S, EDIT = "\t", "\x1b[A", "\x1b[B", "\x1b", "\x03", "\x13", "\x18\x05"


@pytest.fixture
def model() -> Iterator[StreamingModel]:
    with StreamingModel() as model:
        yield model


def shown(chat: Chatting) -> list[str]:
    return [choice.shown for choice in chat.terminal.menu.choices]


def state(chat: Chatting) -> State:
    return chat.terminal.chat.composer.state


def test_a_slash_lists_commands_and_enter_takes_an_unfinished_one_and_sends_a_whole_one(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        review = Command(name="review", description="look at a diff", body="Review {{args}} well.")
        async with chatting(place, model, review=review) as chat:
            chat.keys("/re")
            await chat.until(lambda: shown(chat) == ["/rewind", "/resume", "/review"])
            assert [choice.meaning for choice in chat.terminal.menu.choices][2] == "look at a diff"
            chat.keys(f"{DOWN}{DOWN}\r")
            await chat.until(lambda: chat.text == "/review ")
            assert (chat.payloads, state(chat)) == ([], State.FRESH)
            await chat.turn("a.py")
            assert chat.values == ["/review a.py"]
            chat.keys("/hoo\r")
            await chat.until(lambda: chat.text == "/hooks ")
            chat.keys("\r")
            await chat.until(lambda: "no hook runs here" in chat.printed)
            await chat.turn("/var/log is full")
            assert chat.values[1] == "/var/log is full"

    asyncio.run(play())


def test_an_at_sign_lists_files_and_tab_takes_one_and_the_text_stays_the_persons(
    model: StreamingModel, place: Path
) -> None:
    (place / "my notes.txt").write_text("CANARY")
    (place / ".git").mkdir()
    (place / ".git" / "notes").write_text("")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("see @note")
            await chat.until(lambda: shown(chat) == ["my notes.txt"])
            chat.keys(TAB)
            await chat.until(lambda: chat.text == 'see @"my notes.txt" ')
            assert shown(chat) == []
            await chat.turn("please")
            assert chat.values == ['see @"my notes.txt" please']
            assert "CANARY" in chat.payloads[0]["prompt"]

    asyncio.run(play())


def test_a_folder_that_is_taken_lists_what_is_in_it(model: StreamingModel, place: Path) -> None:
    (place / "src" / "deep").mkdir(parents=True)
    (place / "src" / "deep" / "a.py").write_text("")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("@sr")
            await chat.until(lambda: shown(chat)[:1] == ["src/"])
            chat.keys(TAB)
            await chat.until(lambda: chat.text == "@src/" and "src/deep/a.py" in shown(chat))

    asyncio.run(play())


def test_enter_with_a_list_of_files_sends_unless_one_was_chosen(model: StreamingModel, place: Path) -> None:
    (place / "bob.txt").write_text("")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("ask @bo")
            await chat.until(lambda: shown(chat) == ["bob.txt"])
            await chat.turn("")
            chat.keys("ask @bo")
            await chat.until(lambda: shown(chat) == ["bob.txt"])
            chat.keys(f"{UP}\r")
            await chat.until(lambda: chat.text == "ask @bob.txt ")
            assert chat.values == ["ask @bo"]

    asyncio.run(play())


def test_a_completion_in_a_text_that_was_given_back_or_recalled_leaves_it_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent @ho\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent @ho" and chat.terminal._turn is None)
            model.gate.set()
            assert state(chat) is State.RESTORED
            chat.keys(TAB)
            await chat.until(lambda: shown(chat)[:1] == ["hook.py"])
            chat.keys(TAB)
            await chat.until(lambda: chat.text == "silent @hook.py ")
            assert state(chat) is State.TAINTED
            await chat.turn("")
            assert chat.values[-1] == "absent"

    asyncio.run(play())


def test_up_in_a_recalled_command_goes_on_in_the_history_and_escape_closes_a_menu_only(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("first")
            await chat.turn("@x second")
            chat.keys(UP + UP)
            await chat.until(lambda: chat.text == "first")
            chat.keys(CTRL_C + "/h")
            await chat.until(lambda: shown(chat) == ["/help", "/hooks"])
            chat.keys(ESCAPE)
            await chat.until(lambda: shown(chat) == [])
            assert chat.text == "/h"

    asyncio.run(play())


def test_there_are_no_menus_in_shell_mode(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("!/h")
            await chat.until(lambda: chat.text == "/h")
            assert shown(chat) == []

    asyncio.run(play())


def test_ctrl_s_puts_a_draft_away_and_takes_it_out_unattributed_and_another_start_has_it(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"later{CTRL_S}")
            await chat.until(lambda: chat.terminal.chat.shelf == ("later",) and chat.text == "")
            await chat.turn("now")
            chat.keys(CTRL_S)
            await chat.until(lambda: chat.text == "later")
            await chat.turn("")
            chat.keys(f"tomorrow{CTRL_S}")
            await chat.until(lambda: chat.terminal.chat.shelf == ("tomorrow",))
        async with chatting(place, model) as chat:
            assert chat.text == "tomorrow"
            await chat.turn("")
            assert chat.values == ["now", "absent", "absent"]
        async with chatting(place, model) as chat:
            await chat.until(lambda: chat.terminal.screen.app.is_running)
            assert (chat.text, chat.terminal.chat.shelf) == ("", ())

    asyncio.run(play())


def test_a_draft_that_was_not_sent_is_there_at_the_next_start(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("unfinished")
            await chat.until(lambda: chat.text == "unfinished")
        async with chatting(place, model) as chat:
            assert (chat.text, state(chat)) == ("unfinished", State.TAINTED)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "")
        async with chatting(place, model) as chat:
            await chat.until(lambda: chat.terminal.screen.app.is_running)
            assert chat.text == ""

    asyncio.run(play())


def editor(place: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    script = place / "editor.py"
    script.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{does}\n")
    monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(script))}")


def test_the_editors_text_is_the_persons_over_a_draft_of_theirs_and_sees_placeholders(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(place, monkeypatch, "path.write_text(path.read_text() + ' as I said\\n')")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"look: {PASTE_BEGINS}{'x' * 3000}{PASTE_ENDS}{EDIT}")
            await chat.until(lambda: chat.text == "look: [Pasted Content 3000 chars] as I said")
            await chat.turn("")
            assert chat.values == ["look: [Pasted Content 3000 chars] as I said"]
            assert chat.payloads[0]["prompt"] == f"look: {'x' * 3000} as I said"

    asyncio.run(play())


def test_an_editor_over_a_text_of_the_history_leaves_it_unattributed_even_unchanged(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(place, monkeypatch, "(path.parent.parent / 'ran').touch(); pathlib.Path('ran').touch()")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("silent one\r")
            assert await asyncio.to_thread(model.asked.acquire, timeout=60)
            chat.keys(CTRL_C)
            await chat.until(lambda: chat.text == "silent one" and chat.terminal._turn is None)
            model.gate.set()
            chat.keys(EDIT)
            await chat.until(lambda: state(chat) is State.TAINTED)
            await chat.turn("")
            assert chat.values[-1] == "absent"

    asyncio.run(play())


def test_an_editor_that_fails_leaves_the_draft(
    model: StreamingModel, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(place, monkeypatch, "sys.exit(1)")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"mine{EDIT}")
            await chat.until(lambda: "left with exit code 1; the draft is as it was" in chat.printed)
            await chat.turn("")
            assert chat.values == ["mine"]

    asyncio.run(play())


def test_a_pasted_path_of_an_image_is_a_chip_and_its_bytes_go_along(model: StreamingModel, place: Path) -> None:
    (place / "my shot.png").write_bytes(b"\x89PNG")

    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys(f"what is{PASTE_BEGINS}'{place}/my shot.png'{PASTE_ENDS}")
            await chat.until(lambda: chat.terminal.chat.composer.chips == ("my shot.png",))
            await chat.turn(" this?")
            assert chat.values == ["what is this?"]
            assert chat.payloads[0]["prompt"] == '@"my shot.png"\n\nwhat is this?'
            parts = model.bodies[0]["messages"][-1]["content"]
            assert parts[0] == {"type": "text", "text": '@"my shot.png"\n\nwhat is this?'}
            assert parts[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}

    asyncio.run(play())


def test_an_image_from_elsewhere_is_sent_when_it_was_dropped_and_not_when_its_path_was_typed(
    model: StreamingModel, place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shot = tmp_path_factory.mktemp("desktop") / "shot.gif"
    shot.write_bytes(b"GIF")

    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn(f"see @{shot}")
            assert "outside of" in chat.printed
            assert isinstance(model.bodies[0]["messages"][-1]["content"], str | list)
            chat.keys(f"{PASTE_BEGINS}{shot}{PASTE_ENDS}")
            await chat.until(lambda: chat.terminal.chat.composer.chips == (str(shot),))
            await chat.turn("what is this?")
            kinds = [part["type"] for part in model.bodies[1]["messages"][-1]["content"]]
            assert kinds[:2] == ["text", "image_url"]

    asyncio.run(play())


def test_a_pasted_path_of_anything_else_is_text_and_backspace_takes_a_chip_off(
    model: StreamingModel, place: Path
) -> None:
    (place / "a.png").write_bytes(b"x")

    async def play() -> None:
        async with chatting(place, model) as chat:
            for path in ("a.png", "a.png", "none.png"):
                chat.keys(f"{PASTE_BEGINS}{path}{PASTE_ENDS}")
            await chat.until(lambda: chat.text == "none.png")
            assert chat.terminal.chat.composer.chips == ("a.png",)
            chat.keys("\x7f" * 9)
            await chat.until(lambda: chat.terminal.chat.composer.chips == ())
            await chat.turn("hello")
            assert chat.values == ["hello"]

    asyncio.run(play())


def test_joiners_of_signs_and_words_are_typed_as_any_letter(model: StreamingModel, place: Path) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            await chat.turn("\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e")
            assert chat.values == ["\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e"]

    asyncio.run(play())


def test_vims_keys_are_switched_on_and_off_and_what_was_written_with_them_stays_unattributed(
    model: StreamingModel, place: Path
) -> None:
    async def play() -> None:
        async with chatting(place, model) as chat:
            chat.keys("/vim\r")
            await chat.until(lambda: "Vim's keys are on" in chat.printed)
            await chat.turn("by vimx\x1bx")
            chat.keys("/vim\r")
            await chat.until(lambda: "Vim's keys are off" in chat.printed)
            await chat.turn("by hand")
            assert [payload["prompt"] for payload in chat.payloads] == ["by vim", "by hand"]
            assert chat.values == ["absent", "by hand"]

    asyncio.run(play())
