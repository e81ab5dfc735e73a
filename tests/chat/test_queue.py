"""What waits, and how it goes out."""

from __future__ import annotations

from middleware.chat import Item, Kind, Queue


def item(text: str, value: str | None = "", kind: Kind = Kind.PLAIN, command: str = "") -> Item:
    return Item(text=text, submitted_prompt=text if value == "" else value, visible=text, kind=kind, command=command)


def queue(*items: Item) -> Queue:
    made = Queue()
    for one in items:
        made.add(one)
    return made


def texts(made: Queue) -> list[str]:
    return [one.text for one in made.items]


def test_what_is_added_is_trimmed_and_blanks_are_ignored() -> None:
    assert texts(queue(item(" a\n"), item(" \ufeff "), item("b"))) == ["a", "b"]


def test_user_text_goes_out_as_one_batch_joined_by_a_blank_line() -> None:
    batch = queue(item("a", "A"), item("b", "B", Kind.DEFERRED)).next()
    assert batch is not None
    assert (batch.text, batch.submitted_prompt, batch.visible) == ("a\n\nb", "A\n\nB", "a\n\nb")


def test_one_member_without_a_value_leaves_the_batch_without() -> None:
    for kind in (Kind.PLAIN, Kind.REMOTE, Kind.PROGRAM):
        batch = queue(item("a"), item("b", None, kind), item("c")).next()
        assert batch is not None
        assert (batch.text, batch.submitted_prompt) == ("a\n\nb\n\nc", None)


def test_remote_input_spoils_a_batch_even_if_somebody_gave_it_a_value() -> None:
    batch = queue(item("a"), item("b", "b", Kind.REMOTE)).next()
    assert batch is not None
    assert batch.submitted_prompt is None


def test_a_single_item_goes_out_as_it_is() -> None:
    only = item("a", "A", Kind.DEFERRED)
    assert queue(only).next() == only


def test_commands_and_peers_go_one_at_a_time_after_the_users_text() -> None:
    made = queue(
        item("/review", command="review"), item("p", None, Kind.PEER), item("a"), item("/help", command="help")
    )
    assert [one.text for _ in range(5) if (one := made.next()) is not None] == ["a", "/review", "p", "/help"]
    assert len(made) == 0


def test_steering_takes_plain_text_without_its_value_and_leaves_the_rest() -> None:
    made = queue(item("a"), item("b", kind=Kind.DEFERRED), item("/help", command="help"), item("c", None, Kind.REMOTE))
    assert [(one.text, one.submitted_prompt) for one in made.steer()] == [("a", None), ("c", None)]
    assert texts(made) == ["b", "/help"]


def test_a_peer_is_never_steered_into_a_turn_nor_given_back() -> None:
    made = queue(item("p", None, Kind.PEER))
    assert made.steer() == ()
    assert made.pop_all() is None
    assert texts(made) == ["p"]


def test_pop_all_takes_user_text_in_typed_order_and_leaves_commands() -> None:
    made = queue(item("a", kind=Kind.DEFERRED), item("/help", command="help"), item("b"))
    popped = made.pop_all()
    assert popped is not None
    assert (popped.text, popped.submitted_prompt, texts(made)) == ("a\n\nb", "a\n\nb", ["/help"])


def test_nothing_comes_out_of_an_empty_queue() -> None:
    assert (Queue().pop_all(), Queue().next(), Queue().steer()) == (None, None, ())


def test_what_is_put_back_goes_to_the_head_in_order() -> None:
    made = queue(item("c"))
    made.put_back(item("a"), item("b"))
    assert texts(made) == ["a", "b", "c"]


def test_a_batch_with_a_deferred_member_is_deferred_when_it_is_put_back() -> None:
    batch = queue(item("a"), item("b", kind=Kind.DEFERRED)).next()
    assert batch is not None
    made = queue()
    made.put_back(batch)
    assert made.steer() == ()


def test_a_sidecar_is_what_the_item_was() -> None:
    sidecar = item("a", "A").sidecar
    assert (sidecar.model_text, sidecar.submitted_prompt, sidecar.visible) == ("a", "A", "a")
