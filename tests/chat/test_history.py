"""Going up and down in what was sent."""

from __future__ import annotations

from middleware.chat import Draft, Entry, History


def text_of(found: Entry | Draft | None) -> str | None:
    return None if found is None else found.text


def test_up_goes_to_older_entries_and_stops_at_the_oldest() -> None:
    history = History(["a", "b"])
    assert [text_of(history.up(Draft("d"))) for _ in range(3)] == ["b", "a", None]


def test_down_goes_to_newer_entries_and_then_to_the_draft_with_its_pastes() -> None:
    history = History(["a", "b"])
    draft = Draft("d", {"[p]": "body"})
    history.up(draft)
    history.up(Draft("b"))
    assert [text_of(history.down()) for _ in range(3)] == ["b", "d", None]
    history.up(draft)
    assert history.down() == draft


def test_down_without_up_is_nothing() -> None:
    assert History(["a"]).down() is None


def test_there_is_nothing_above_an_empty_history() -> None:
    history = History()
    assert history.up(Draft("d")) is None
    assert history.down() is None


def test_from_a_composer_that_was_emptied_up_starts_at_the_newest_again() -> None:
    history = History(["a", "b"])
    history.up(Draft("d"))
    history.up(Draft("b"))
    assert text_of(history.up(Draft(""))) == "b"
    assert text_of(history.down()) == ""


def test_an_entry_is_removed_by_what_it_is_and_not_by_its_text() -> None:
    history = History()
    first = history.add("same")
    second = history.add("same")
    assert (history.is_newest(first), history.is_newest(second)) == (False, True)
    history.remove(first)
    assert history.entries == (second,)
    history.remove(first)
    assert history.entries == (second,)


def test_taking_an_entry_out_ends_the_walk() -> None:
    history = History(["a"])
    entry = history.add("b")
    history.up(Draft("d"))
    history.remove(entry)
    assert text_of(history.up(Draft("d"))) == "a"
