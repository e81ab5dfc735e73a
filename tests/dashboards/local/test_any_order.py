"""However spans and transcript lines are cut into batches, mixed and sent again: the file says the same in the end."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.local.bundle import Written
from dashboards.local.database import open_writer
from dashboards.local.otlp import decode
from dashboards.local.unwriting import forget_file
from dashboards.local.writing import Batch, write

from .sending import NOON, NS, Trace, key

TURNS = (
    Trace().hook(1).recall(1).call(1, seconds=2.0).turn(1, seconds=2.5),
    Trace().hook(2, outcome="blocking").turn(2, outcome="blocked", at=NOON + 70),
    Trace().recall(3, outcome="timeout", matches=0).call(3, model="claude", failed=True).turn(
        3, outcome="error", at=NOON + 700, session=None, said={"error.type": "503"}
    ),
    Trace().call(4, in_turn=False, at=NOON + 4000),
    Trace().hook(5).call(5, model="gpt-5-mini").call(5, part=6, model="claude"),
)  # fmt: skip
SPANS = [span for trace in TURNS for span in decode("traces", trace.body, "protobuf").spans]
LINES = [
    (bytes.fromhex(key(1)), Written(file=1, position=0, line=1, uuid="a", at=NOON * NS, session="s1", preview="why?",
                                    typed=4, added={"hook": 90, "memory": 50}, recall=(("m", 0.5),), traced=True)),
    (bytes.fromhex(key(1)), Written(file=1, position=300, line=2, uuid="b", at=NOON * NS, session="s1", model="gpt-5",
                                    input_tokens=9, output_tokens=3, replied=True, traced=True)),
    (bytes.fromhex(key(2)), Written(file=1, position=500, line=3, uuid="c", at=NOON * NS, session="s1", blocked="guard",
                                    traced=True)),
    (b"\x07" * 24, Written(file=1, position=600, line=4, uuid="d", at=NOON * NS, session="s9", typed=10, preview="hi")),
    (b"\x07" * 24, Written(file=1, position=700, line=5, uuid="e", at=NOON * NS, session="s9", model="o4",
                           input_tokens=7, replied=True)),
]  # fmt: skip


def written(batches, *, then=lambda connection: None):
    """What the file says after the batches, by rows that do not hang on the order they came in."""
    with tempfile.TemporaryDirectory() as folder:
        connection = open_writer(Path(folder, "board.db"))
        try:
            for batch in batches:
                connection.execute("BEGIN IMMEDIATE")
                write(connection, batch)
                connection.execute("COMMIT")
            then(connection)
            cells = connection.execute(
                "SELECT width, start, model, series, label, count, round(total, 6), sketch FROM cells WHERE count != 0"
            ).fetchall()
            spans = connection.execute("SELECT trace_id, span_id, name FROM spans").fetchall()
            turns = connection.execute(
                """SELECT key, trace_id, started, duration, outcome, session, model, calls, input_tokens, hooks,
                     recalls, matches, typed_chars, added_chars, preview, position, line, uuid, written FROM turns"""
            ).fetchall()
            parts = [
                connection.execute(
                    f"SELECT span_id, (SELECT key FROM turns WHERE turns.id = turn) FROM {table}"
                ).fetchall()
                for table in ("calls", "hook_calls", "recalls")
            ]
        finally:
            connection.close()
    return sorted(cells), sorted(spans), sorted(turns), [sorted(rows, key=repr) for rows in parts]


WHOLE = written([Batch(spans=SPANS, turns=LINES)])


# The first call of turn 5, which has not ended, is the one that came first: it has two models.
STEADY = [span for span in SPANS if span.trace_id != SPANS[-1].trace_id]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_order_any_batches_and_any_repetition_say_the_same(data):
    again = data.draw(st.lists(st.sampled_from(STEADY), max_size=6))
    items = data.draw(st.permutations([*STEADY, *again, *LINES]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=6)))
    batches = []
    for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True):
        held = items[start:end]
        spans = [item for item in held if len(item) != 2]
        batches.append(Batch(spans=spans, turns=[item for item in held if len(item) == 2]))
    assert written(batches) == written([Batch(spans=STEADY, turns=LINES)])


def test_a_turn_that_has_not_ended_is_in_no_count():
    cells = WHOLE[0]
    assert cells == written([Batch(spans=STEADY, turns=LINES)])[0]


def test_what_a_transcript_said_can_be_taken_back_to_the_last_count():
    taken_back = written([Batch(spans=SPANS, turns=LINES)], then=lambda connection: forget_file(connection, 1))
    assert taken_back == written([Batch(spans=SPANS)])


def test_lines_of_two_sizes_add_up():
    first, second = LINES[0][1], replace(LINES[1][1], added={"hook": 10}, typed=6)
    assert first.with_(second) == second.with_(first)
    both = first.with_(second)
    assert (both.typed, both.added, both.line, both.model, both.replied) == (
        10,
        {"hook": 100, "memory": 50},
        1,
        "gpt-5",
        True,
    )
