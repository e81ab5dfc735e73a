"""`/context`: who gave what of a turn."""

from __future__ import annotations

import io

from rich.console import Console

from middleware.chat.terminal.wire import Added, Ran
from middleware.cli.chat_context import context_view

STATE = Ran(name="state", milliseconds=24.2, gave=True)
SILENT = Ran(name="lint", milliseconds=3, gave=False)
BRANCH = Added(source="hook", text="branch <main>")
MEMORIES = Added(source="memory", text="Recalled:\n- one\n- two")


def printed(sent: tuple[str, ...], added: tuple[Added, ...], ran: tuple[Ran, ...], *, whole: bool = False) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=60, color_system=None).print(context_view(sent, added, ran, columns=60, whole=whole))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_each_source_has_its_sign_its_share_and_its_words() -> None:
    assert printed(("why?", "file body"), (MEMORIES, BRANCH), (STATE, SILENT)) == [
        "",
        "What the model got with your last turn",
        "█████▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░░░░░░",
        "█ your words 4 (9%)   ▓ your files 9 (19%)   ▒ hooks 13",
        "(28%)   ░ memory 21 (45%)   characters",
        "",
        "░ recalled: 2 memories  21 characters",
        "  │ Recalled:",
        "  │ - one",
        "  │ - two",
        "",
        "▒ added by the hook state (24 ms)  13 characters",
        "  │ branch <main>",
        "",
        "Spans and recall get your words only; the transcript keeps",
        "the rest apart, tagged.",
    ]


def test_a_turn_that_nothing_was_added_to_says_so() -> None:
    assert "Nothing was added: the model got your words and no more" in printed(("hi",), (), ())
    assert "(1 hook ran and gave nothing)" in " ".join(printed(("hi",), (), (SILENT,)))


def test_a_long_text_is_folded_and_all_of_it_is_there_for_who_asks() -> None:
    added = Added(source="hook", text="\n".join(f"line {number}" for number in range(40)) + "\n" + "x" * 2_000)
    folded, whole = printed(("hi",), (added,), (STATE,)), printed(("hi",), (added,), (STATE,), whole=True)
    assert "  │ line 7" in folded
    assert "  │ line 8" not in folded
    assert "  └ 33 more lines: /context all" in folded
    assert "  │ line 39" in whole
    assert sum(line.count("x") for line in whole) == 2_000
    assert "  └ long lines are cut: /context all" in printed(("hi",), (Added(source="hook", text="x" * 600),), (STATE,))


def test_what_a_hook_wrote_is_shown_and_not_obeyed() -> None:
    added = Added(source="hook", text="\x1b[2J[red]no[/red]\u202e")
    assert "  │ \ufffd[2J[red]no[/red]\ufffd" in printed(("hi",), (added,), ())
    assert "▒ added at the start  18 characters" in printed(("hi",), (added,), ())


def test_several_hooks_that_answered_are_named() -> None:
    other = Ran(name="ci", milliseconds=5, gave=True)
    assert "▒ added by the hooks state (24 ms), ci (5 ms)  13 characters" in printed(("hi",), (BRANCH,), (STATE, other))
