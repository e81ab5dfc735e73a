"""What the pages are told is what the spans said, whatever order they came in and however often."""

import itertools

import pytest

from dashboards.local.prices import Price, Prices
from dashboards.local.queries import Filter, overview, sessions, status, turn, turns

from .sending import NOON, Trace, histogram, key, log

DAY = Filter(start=NOON - 3600, end=NOON + 3600)


def whole_turn(number, **more):
    return Trace().hook(number).recall(number).call(number, seconds=2.0).turn(number, seconds=2.5, **more)


def close_to(seconds):
    return pytest.approx(seconds, rel=0.022)


def test_the_overview_counts_turns_calls_hooks_and_recalls(board):
    board.send(whole_turn(1))
    board.send(Trace().hook(2, outcome="blocking", seconds=0.5).turn(2, outcome="blocked", seconds=0.6))
    board.send(Trace().recall(3, matches=0, seconds=0.01).call(3, model="claude", seconds=4.0).turn(3, seconds=4.5))
    board.send(
        Trace().recall(4, matches=0, outcome="timeout").call(4, failed=True).turn(
            4, outcome="error", said={"error.type": "openai.RateLimitError"}
        )
    )  # fmt: skip
    seen = board.ask(overview, DAY)
    assert seen.turns == 4
    assert seen.outcomes == {"sent": 2, "blocked": 1, "error": 1}
    assert seen.blocked == 1
    assert seen.origins == {"user_query": 4}
    assert seen.errors == {"openai.RateLimitError": 1}
    assert (seen.latency.count, seen.latency.p50, seen.latency.p99) == (4, close_to(1.0), close_to(4.5))
    assert seen.latency.mean == pytest.approx((2.5 + 0.6 + 4.5 + 1.0) / 4)
    assert (seen.tokens.input, seen.tokens.output, seen.tokens.reasoning) == (300, 60, None)
    assert [(hook.name, hook.calls, hook.failed, hook.outcomes) for hook in seen.hooks] == [
        ("state", 2, 0, {"blocking": 1, "success": 1})
    ]
    recall = seen.recall
    assert (recall.asked, recall.hits, recall.misses, recall.timeouts, recall.errors) == (3, 1, 1, 1, 0)
    assert recall.hit_rate == pytest.approx(1 / 3)
    assert [(model.model, model.turns) for model in seen.models] == [("gpt-5", 2), ("", 1), ("claude", 1)]


def test_a_recall_that_found_what_the_request_holds_already_is_a_hit(board):
    board.send(Trace().recall(1, matches=0, said={"firsthand.recall.found": 1}).turn(1))
    board.send(Trace().recall(2, matches=0, said={"firsthand.recall.found": 0}).turn(2))
    recall = board.ask(overview, DAY).recall
    assert (recall.asked, recall.hits, recall.misses, recall.matches, recall.hit_rate) == (2, 1, 1, 0, 0.5)


def test_a_model_and_a_session_filter_everything(board):
    board.send(whole_turn(1, session="a"))
    board.send(Trace().call(2, model="claude").turn(2, session="b"))
    board.send(Trace().turn(3, outcome="blocked", session=None))
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, model="gpt-5")).turns == 1
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, model="")).outcomes == {"blocked": 1}
    of_b = board.ask(overview, Filter(start=NOON, end=NOON + 60, session="b"))
    assert (of_b.turns, [model.model for model in of_b.models], of_b.hooks) == (1, ["claude"], ())
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, session="")).turns == 1
    assert board.ask(overview, Filter(start=NOON + 60, end=NOON + 120)).turns == 0


def test_a_session_counted_from_its_turns_is_counted_as_everything_is(board):
    for number in range(1, 30):
        board.send(whole_turn(number, session="only", at=NOON + number))
    whole, session = (board.ask(overview, Filter(start=NOON, end=NOON + 600, session=one)) for one in (None, "only"))
    assert whole == session


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_order_in_which_spans_come_changes_nothing(board, order):
    parts = [
        lambda trace: trace.hook(1),
        lambda trace: trace.recall(1),
        lambda trace: trace.call(1, model="claude"),
        lambda trace: trace.turn(1),
    ]
    for place in order:
        board.send(parts[place](Trace()))
    seen = board.ask(overview, DAY)
    assert [(model.model, model.turns) for model in seen.models] == [("claude", 1)]
    assert (seen.turns, seen.hooks[0].calls, seen.recall.hits, seen.tokens.input) == (1, 1, 1, 100)
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, model="")).hooks == ()
    assert board.ask(turn, key(1)).turn.model == "claude"


def test_what_is_sent_again_counts_once(board):
    for _ in range(3):
        board.send(whole_turn(1))
        board.send(log("firsthand.hook_call", number=1, x=1), "logs")
        board.send(histogram("firsthand.input.size", [1, 2], [64.0], 300.0), "metrics")
    assert board.rows("SELECT count(*) FROM spans") == [(4,)]
    assert board.rows("SELECT count(*) FROM logs") == [(1,)]
    assert board.rows("SELECT count, total FROM metric_sums") == [(3, 300.0)]
    assert board.ask(overview, DAY).turns == 1
    assert board.ask(status).spans == 4


def test_a_turn_that_has_not_ended_is_listed_and_not_counted(board):
    board.send(Trace().hook(1).call(1))
    assert board.ask(overview, DAY).turns == 0
    [found] = board.ask(turns).items
    assert (found.outcome, found.duration, found.model) == (None, None, "gpt-5")


def test_a_call_that_is_no_turn_counts_its_tokens_and_no_turn(board):
    board.send(Trace().call(1, in_turn=False, said={"error.type": "429"}))
    seen = board.ask(overview, DAY)
    assert (seen.turns, seen.call_latency.count, seen.tokens.input, seen.errors) == (0, 1, 100, {"429": 1})
    assert board.ask(turns).total == 0


def test_the_timeline_has_a_value_for_every_step(board):
    board.send(whole_turn(1, at=NOON + 61))
    board.send(Trace().turn(2, outcome="blocked", at=NOON + 130))
    line = board.ask(overview, Filter(start=NOON, end=NOON + 240)).timeline
    assert (line.step, line.starts) == (60, (NOON, NOON + 60.0, NOON + 120.0, NOON + 180.0))
    assert line.columns["turns"] == (0, 1, 1, 0)
    assert line.columns["blocked"] == (0, 0, 1, 0)
    assert line.columns["p95"] == (None, close_to(2.5), close_to(1.0), None)
    assert line.columns["injected_share"] == (None, None, None, None)


def test_long_ranges_have_longer_steps(board):
    board.send(whole_turn(1))
    for days, step in ((1 / 24, 60), (1, 600), (7, 3600), (30, 86_400)):
        seen = board.ask(overview, Filter(start=NOON - days * 86_400, end=NOON + 60))
        assert (seen.timeline.step, seen.turns, sum(seen.timeline.columns["turns"])) == (step, 1, 1)


def test_the_share_that_was_injected_comes_from_the_metrics_where_there_is_no_transcript(board):
    board.send(histogram("firsthand.input.size", [3], [], 300.0), "metrics")
    board.send(histogram("firsthand.injection.size", [1], [], 60.0, source="hook"), "metrics")
    board.send(histogram("firsthand.injection.size", [1], [], 40.0, source="memory"), "metrics")
    board.send(histogram("firsthand.input.size", [4], [], 400.0, at=NOON + 90), "metrics")
    seen = board.ask(overview, DAY).characters
    assert (seen.typed, seen.injected, seen.basis) == (400, {"hook": 60, "memory": 40}, "metrics")
    assert seen.share == 0.2
    assert board.ask(overview, Filter(start=NOON + 60, end=NOON + 120)).characters.typed == 100
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, model="gpt-5")).characters.basis is None


def test_a_recall_beside_a_hooks_text_was_kept_clean(board):
    added = {"firsthand.injection.sources": ["hook"], "firsthand.injection.chars": 500}
    board.send(Trace().recall(1).call(1).turn(1, said=added))
    board.send(Trace().call(2).turn(2, said=added))
    pollution = board.ask(overview, DAY).pollution
    assert (pollution.recalls, pollution.chars) == (1, 500)


def test_costs_follow_from_prices(board):
    board.send(Trace().call(1, said={"gen_ai.usage.cache_read.input_tokens": 40}).turn(1, session="s"))
    board.send(Trace().call(2, model="claude").turn(2, session="s"))
    prices = Prices(models={"gpt-*": Price(input=10.0, output=100.0, cache_read=1.0)})
    seen = board.ask(overview, DAY, prices=prices)
    assert seen.cost == pytest.approx((60 * 10 + 40 * 1 + 20 * 100) / 1e6)
    assert (seen.cost_is_whole, seen.currency) == (False, "USD")
    [session] = board.ask(sessions, prices=prices).items
    assert session.cost == pytest.approx(0.00264)
    assert [one.cost for one in board.ask(turns, prices=prices).items] == [pytest.approx(0.00264), None]
    assert board.ask(overview, DAY).cost is None


def test_sessions_are_listed_searched_sorted_and_paged(board):
    for number in range(1, 7):
        board.send(whole_turn(number, session=f"session-{number % 3}", at=NOON + number))
    board.send(Trace().turn(9, session="session-0", outcome="blocked", at=NOON + 60))
    page = board.ask(sessions, limit=2)
    assert (page.total, [one.session for one in page.items]) == (3, ["session-0", "session-2"])
    first = page.items[0]
    assert (first.turns, first.blocked, first.models, first.tokens.input) == (3, 1, ("gpt-5",), 200)
    assert [one.session for one in board.ask(sessions, limit=2, offset=2).items] == ["session-1"]
    assert [one.session for one in board.ask(sessions, sort="session", descending=False).items] == [
        "session-0", "session-1", "session-2",
    ]  # fmt: skip
    assert [one.session for one in board.ask(sessions, search="SION-1").items] == ["session-1"]
    assert board.ask(sessions, search="100%_").total == 0
    assert [one.session for one in board.ask(sessions, outcome="blocked").items] == ["session-0"]


@pytest.mark.parametrize(
    "sort", ["last", "first", "session", "turns", "blocked", "failed", "tokens", "duration", "added"]
)
def test_every_order_of_sessions_works(board, sort):
    board.send(whole_turn(1))
    assert board.ask(sessions, sort=sort).total == 1


def test_turns_are_filtered_by_outcome_error_and_hook(board):
    board.send(whole_turn(1))
    board.send(Trace().hook(2, name="slow", outcome="timeout").turn(2, outcome="error", said={"error.type": "503"}))
    assert [one.key for one in board.ask(turns, outcome="error").items] == [key(2)]
    assert [one.key for one in board.ask(turns, error_type="503").items] == [key(2)]
    assert [one.key for one in board.ask(turns, hook="state").items] == [key(1)]
    assert [one.hooks_failed for one in board.ask(turns).items] == [0, 1]
    assert [one.key for one in board.ask(turns, sort="duration", descending=True).items] == [key(1), key(2)]


def test_a_turn_has_its_spans_as_a_tree_and_its_neighbours(board):
    for number in (1, 2, 3):
        board.send(whole_turn(number, at=NOON + number))
    trace = Trace()
    trace.span(2, 9, "HTTP POST", parent=1, at=NOON + 2.5, seconds=0.25)
    board.send(trace)
    board.send(log("firsthand.hook_call", number=2), "logs")
    found = board.ask(turn, key(2))
    assert [(span.name, span.depth, span.in_turn) for span in found.spans] == [
        ("firsthand.turn", 0, True),
        ("firsthand.hook state", 1, True),
        ("search_memory", 1, True),
        ("chat gpt-5", 1, True),
        ("HTTP POST", 2, True),
    ]
    assert (found.spans[4].offset, found.spans[4].duration) == (0.5, 0.25)
    assert (found.previous, found.next) == (key(1), key(3))
    assert [(hook.name, hook.outcome, hook.output_chars) for hook in found.hooks] == [("state", "success", 30)]
    assert [(one.outcome, one.matches, one.found, one.store) for one in found.recalls] == [
        ("ok", 2, None, "sqlite:///m.db")
    ]
    assert [(one.model, one.tokens.input, one.finish_reasons) for one in found.calls] == [("gpt-5", 100, ("stop",))]
    assert [one.event for one in found.logs] == ["firsthand.hook_call"]
    assert (found.place, found.memories) == (None, ())


def test_spans_that_are_their_own_ancestors_are_all_shown(board):
    trace = Trace().turn(1)
    trace.span(1, 5, "a", parent=6)
    trace.span(1, 6, "b", parent=5)
    trace.span(1, 7, "c", parent=7)
    board.send(trace)
    assert sorted(span.name for span in board.ask(turn, key(1)).spans) == ["a", "b", "c", "firsthand.turn"]


@pytest.mark.parametrize("wanted", ["", "zz", "00", "ä", "0" * 48, "\0"])
def test_a_turn_that_is_not_there_is_none(board, wanted):
    assert board.ask(turn, wanted) is None
