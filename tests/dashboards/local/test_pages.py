"""The pages, asked over HTTP: what they show of real turns, and what they refuse."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from dashboards.local.bundle import Written
from dashboards.local.writing import Batch

from .filled import ADDED, LONG, filled
from .sending import NOON, NS, Trace, key


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with filled(tmp_path_factory.mktemp("full")) as served:
        yield served


def page(served: Any, address: str) -> str:
    answer = served.ask("GET", address)
    assert answer.status == 200, answer.body
    assert answer.headers["cache-control"] == "no-store"
    return answer.body.decode()


def plain(said: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", said)))


def key_of(served: Any, words: str) -> str:
    ((key,),) = served.rows("SELECT lower(hex(key)) FROM turns WHERE preview LIKE ? AND session = 's1'", f"{words}%")
    return key


def test_an_empty_dashboard_says_what_to_do(served: Any) -> None:
    for address in ("/", "/sessions", "/turns"):
        assert "Nothing has come yet" in page(served, address) and "telemetry.configure()" in page(served, address)


def test_spans_of_other_programs_alone_are_told_to_be_no_turns(served: Any) -> None:
    assert served.post("/v1/traces", Trace().call(1, parent=None).body).status == 200
    for address in ("/", "/sessions", "/turns"):
        assert "1 spans have, but none of them is a turn" in page(served, address)


def test_the_overview_counts_what_was_sent_blocked_and_failed(full: Any) -> None:
    said = plain(page(full, "/"))
    assert "Turns 12 8 sent, 2 failed, 0 cancelled" in said
    assert "Blocked by hooks 2 16.7 % of turns" in said
    assert "openai.InternalServerError" in said or "500" in said


def test_a_turn_shows_what_was_typed_beside_what_was_received(full: Any) -> None:
    said = page(full, f"/turn/{key_of(full, 'how do we deploy')}")
    pieces = re.findall(r'<figure class="piece ([\w-]+)">.*?<pre class="said" dir="auto">(.*?)</pre>', said, re.DOTALL)
    assert [kind for kind, _ in pieces] == ["user", "memory", "hook"]
    assert html.unescape(pieces[0][1]) == "how do we deploy?"
    assert "We deploy with helm on Fridays" in pieces[1][1]
    assert ADDED.replace("<", "&amp;lt;").replace(">", "&amp;gt;") in pieces[2][1] or html.escape(ADDED) in pieces[2][1]
    assert "<b>ticket</b>" not in said
    (memory,) = re.findall(r"<code>helm</code></th>(.*?)</tr>", said, re.DOTALL)
    score, lexical, cosine = map(float, re.findall(r">(-?[\d.]+)</td>", memory))
    assert lexical == 1.0 and 0 < cosine < 1 and score >= lexical


@pytest.mark.parametrize("sources", [["hook", "memory"], ["memory", "hook"]])
def test_without_a_transcript_what_was_injected_is_that_of_the_whole_request(served: Any, sources: list[str]) -> None:
    said = {"firsthand.injection.sources": sources, "firsthand.injection.chars": 500}
    served.post("/v1/traces", Trace().turn(1, said=said).body)
    assert "Injected 500 chars in the whole request: memory, hook" in plain(page(served, f"/turn/{key(1)}"))


@pytest.mark.parametrize(
    ("added", "tile"),
    [
        ({"hook": 105}, "Injected 105 chars new: hook Hooks"),
        ({"hook": 105, "memory": 200}, "Injected 305 chars new: memory, hook Hooks"),
        ({}, "Injected 0 chars nothing new in this turn Hooks"),
    ],
)
def test_with_a_transcript_it_is_what_is_new_in_this_turn(served: Any, added: dict[str, int], tile: str) -> None:
    carried = {"firsthand.injection.sources": ["memory", "hook"], "firsthand.injection.chars": 500}
    served.post("/v1/traces", Trace().turn(1, said=carried).body)
    line = Written(file=1, position=0, line=1, uuid="a", at=NOON * NS, session="s1", typed=4, added=added, traced=True)
    served.board.ingest.submit(Batch(turns=[(bytes.fromhex(key(1)), line)]), 1).result(60)
    assert tile in plain(page(served, f"/turn/{key(1)}"))


@pytest.mark.parametrize(
    ("matches", "found", "tile", "below"),
    [
        (0, 1, "Recalled 0 1 found, in the request already", "1 found in 1.00 s"),
        (2, 3, "Recalled 2 3 found, 1 of them in the request already", "3 found in 1.00 s"),
        (2, 2, "Recalled 2 ok", "2 found in 1.00 s"),
        (0, 0, "Recalled 0 ok", "0 found in 1.00 s"),
    ],
)
def test_a_turn_says_what_recall_found_that_the_request_held_already(
    served: Any, matches: int, found: int, tile: str, below: str
) -> None:
    served.post("/v1/traces", Trace().recall(1, matches=matches, said={"firsthand.recall.found": found}).turn(1).body)
    said = plain(page(served, f"/turn/{key(1)}"))
    assert tile in said
    assert below in said
    overview = plain(page(served, "/?range=all"))
    assert f"Recall hit rate {'100 %' if found else '0 %'} 1 asked" in overview


def test_a_blocked_turn_says_who_refused_it_and_why(full: Any) -> None:
    ((key,),) = full.rows("SELECT lower(hex(key)) FROM turns WHERE outcome = 'blocked' AND session = 's2'")
    said = page(full, f"/turn/{key}")
    assert "Blocked by the hook <bdi>guard</bdi>: <bdi>no &lt;i&gt;SQL&lt;/i&gt; here</bdi>" in said
    assert '<pre class="said" dir="auto">drop the table users</pre>' in said
    assert "Nothing: a hook refused the turn." in said


def test_a_list_shows_what_a_refused_turn_had_typed_who_refused_it_and_why(full: Any) -> None:
    for address in ("/", "/turns?outcome=blocked"):
        said = page(full, address)
        assert "drop the table users" in said
        assert "refused by <bdi>guard: no &lt;i&gt;SQL&lt;/i&gt; here</bdi>" in said


def test_a_list_is_searched_by_session_and_by_trace_id(full: Any) -> None:
    ((trace,),) = full.rows("SELECT lower(hex(trace_id)) FROM turns WHERE session = 's2' AND preview LIKE 'why%'")
    assert page(full, "/turns?q=s2").count('<td class="when">') == 6
    assert page(full, f"/turns?q={trace}").count('<td class="when">') == 1
    assert page(full, f"/turns?q={trace[:8].upper()}").count('<td class="when">') == 1
    assert "Nothing matches <bdi>“100%”</bdi>" in page(full, "/turns?q=100%25")


def test_what_only_streams_have_is_said_where_it_is_missing(full: Any) -> None:
    assert "no answer was streamed: only streams have it" in page(full, "/")
    assert "only answers that are streamed have it" in page(full, "/turns")


def test_a_hooks_text_is_marked_with_the_hooks_name(full: Any) -> None:
    said = page(full, f"/turn/{key_of(full, 'how do we deploy')}")
    assert '<span class="mark">hook <bdi>added</bdi></span>' in said
    assert re.findall(r'<rect class="(\w+)" x="([\d.]+)"', said)[:3] == [
        ("user", "0.0"),
        ("memory", "51.2"),
        ("hook", "659.6"),
    ]


def test_hostile_text_is_escaped_and_named(full: Any) -> None:
    said = page(full, f"/turn/{key_of(full, '<script>')}")
    assert "&lt;script&gt;window.hurt=1&lt;/script&gt;" in said and "<script>window" not in said
    assert "⟨U+202E⟩evil" in said and "\u202e" not in said and "\x00" not in said


def test_a_long_text_is_cut_and_the_page_says_so(full: Any) -> None:
    said = page(full, f"/turn/{key_of(full, 'long')}")
    assert len(said) < 400_000
    assert f"{len(LONG) - 100_000:,} characters more are in the transcript." in said or "900 k characters more" in said


def test_the_lists_lead_from_the_overview_to_a_turn(full: Any) -> None:
    assert 'href="/sessions"' in page(full, "/")
    (first, *_) = re.findall(r'href="(/turns\?session=[^"]+)"', page(full, "/sessions"))
    (turn, *_) = re.findall(r'href="(/turn/[0-9a-f]{48})"', page(full, html.unescape(first)))
    assert "What the model received" in page(full, turn)


def test_filters_of_the_address_hold_in_every_list(full: Any) -> None:
    assert page(full, "/turns?session=s1&outcome=blocked").count('<td class="when">') == 1
    assert page(full, "/turns?q=deploy").count('<td class="when">') == 2
    assert page(full, "/sessions?model=gpt-5").count('<td class="when">') == 2
    assert "Nothing in this view" in page(full, "/sessions?model=other")


def test_the_timeline_has_one_value_a_step_in_every_column(full: Any) -> None:
    answer = full.ask("GET", "/timeline.json?range=1h")
    told = json.loads(answer.body)
    assert answer.headers["content-type"] == "application/json"
    assert {len(column) for name, column in told.items() if name != "step"} == {len(told["starts"])}
    assert sum(told["turns"]) == 12 and sum(told["blocked"]) == 2


@pytest.mark.parametrize("address", ["/turn/x", "/turn/" + "0" * 48, "/turn/" + "é" * 48, "/nothing", "/static/../x"])
def test_what_is_not_there_is_told_so(full: Any, address: str) -> None:
    answer = full.ask("GET", address.replace("é", "%C3%A9"))
    assert answer.status == 404


def test_an_address_that_makes_no_sense_is_told_why(full: Any) -> None:
    answer = full.ask("GET", "/turns?sort=%3Cscript%3E")
    assert answer.status == 400
    assert b"sort is one of started, duration" in answer.body and b"<script>" not in answer.body.split(b"<main")[1]


def test_no_page_has_a_script_or_a_style_in_itself(full: Any) -> None:
    for address in ("/", "/sessions", "/turns", f"/turn/{key_of(full, 'why')}", "/nothing"):
        said = full.ask("GET", address).body.decode()
        assert re.findall(r"<script(?![^>]*src=\"/static/)", said) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=\"|https?://(?!localhost)", said) == []


def test_the_files_of_the_pages_are_here(full: Any) -> None:
    said = page(full, "/")
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', said)
    assert len(files) >= 5
    for file in files:
        assert full.ask("GET", file).status == 200


def test_a_session_of_any_name_has_its_turns(served: Any) -> None:
    name = "a/b?c=d&e\"'<>#%20 é"
    sent = Trace().turn(1, session=name).call(1)
    assert served.post("/v1/traces", sent.body).status == 200
    (address, *_) = re.findall(r'href="(/turns\?[^"]*session=[^"]+)"', page(served, "/sessions?range=all"))
    assert page(served, html.unescape(address)).count('<td class="when">') == 1


def test_a_model_that_no_turn_had_is_still_the_one_that_is_chosen(full: Any) -> None:
    for address in ("/", "/sessions", "/turns"):
        assert '<option value="n&lt;o" selected>n&lt;o</option>' in page(
            full, f"{address}?range=all&model=n<o".replace("<", "%3C")
        )
