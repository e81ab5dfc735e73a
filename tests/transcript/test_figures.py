"""What is counted in transcripts."""

from __future__ import annotations

from middleware.transcript.figures import Figures, Tokens

from .records import HOOK, MEMORY, TALK, record


def test_turns_tokens_and_the_injected_share_are_counted() -> None:
    figures = Figures().count(TALK)
    assert (figures.sessions, figures.turns, figures.replies, figures.tool_calls, figures.recalled) == (1, 1, 2, 1, 1)
    assert figures.tokens == {"m": Tokens(input=32, output=3, cached=2)}
    assert figures.injected == {"hook": 2 * len(HOOK), "memory": len(MEMORY)}
    assert figures.injected_parts == {"hook": 2, "memory": 1}
    assert figures.sent == len("why is CI red?") + len(MEMORY) + 2 * len(HOOK) + len("failed")
    assert round(figures.share, 3) == 0.924


def test_blocked_prompts_are_counted_by_hook() -> None:
    blocked = record("a", None, "system", subtype="prompt_blocked", systemPayload={"hook": "guard", "reason": "x"})
    assert Figures().count([blocked, {**blocked, "uuid": "b"}]).blocked == {"guard": 2}


def test_a_record_that_is_there_twice_counts_once() -> None:
    assert Figures().count([*TALK, TALK[0]]).turns == 1


def test_the_span_of_time_is_in_utc_and_goes_around_what_is_no_time() -> None:
    stamps = ["2026-11-30T10:00:00+02:00", "yesterday", 7, "2026-11-30T09:00:00.000Z"]
    figures = Figures().count(record(str(n), None, "user", timestamp=stamp) for n, stamp in enumerate(stamps))
    assert (str(figures.started), str(figures.ended)) == ("2026-11-30 08:00:00+00:00", "2026-11-30 09:00:00+00:00")


def test_a_share_of_nothing_is_nothing() -> None:
    assert Figures().count([]).share == 0.0
