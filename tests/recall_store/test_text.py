"""Index words and query expressions."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_store.text import MAX_WORD, clean, clip, fold, index_text, match_expression, too_short, words

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The boat is GREEN", ["boat", "green"]),
        ("don't use Downloads/transcripts_v2", ["use", "downloads", "transcripts", "v2"]),
        ("ﬁne Ｗｉｄｅ café", ["fine", "wide", "café"]),
        ("用户身份", ["用户", "户身", "身份"]),
        ("今日は", ["今日", "日は"]),
        ("重跑gen-itgc后50条悬空", ["重跑", "gen", "itgc", "50", "条悬", "悬空"]),
        ("ﾃｽﾄ", ["テス", "スト"]),
        ("步2", ["2"]),
        ("हिन्दी สวัสดี", ["हिन्दी", "สวัสดี"]),
        ("snake_case", ["snake", "case"]),
        ("🎉 ?!", ["🎉"]),
        ("cool👍🏽yes❤️", ["cool", "👍", "❤"]),
        ("👨\u200d👩\u200d👧 🇩🇪🇫🇷", ["👨", "👩", "👧", "🇩🇪", "🇫🇷"]),
        ("→ ° © ?!", []),
        ("Zusammen\u00adarbeit pass\u200bword \u202eboat\u202c", ["zusammenarbeit", "password", "boat"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("สวัสดี\u200bครับ", ["สวัสดี", "ครับ"]),
    ],
)
def test_words_are_normal_lower_case_pairs_without_stop_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_stop_words_are_kept_on_request() -> None:
    assert words("the boat", stop=False) == ["the", "boat"]


def test_a_word_is_cut_at_its_bound() -> None:
    assert words("x" * 500) == ["x" * MAX_WORD]


def test_nul_and_lone_surrogates_become_replacement_characters() -> None:
    assert clean("a\x00b\ud800c\udfffd") == "a\ufffdb\ufffdc\ufffdd"


def test_fold_joins_blanks_and_widths_and_keeps_case() -> None:
    assert fold(" User  likes\tＴea ") == "User likes Tea"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("", True),
        ("a", True),
        ("ab", True),
        ("a b", True),
        ("名", True),
        ("名a", True),
        ("设备", False),
        ("abc", False),
    ],
)
def test_one_or_two_characters_ask_nothing_unless_they_are_a_pair(query: str, answer: bool) -> None:
    assert too_short(query) is answer


def test_a_short_query_is_not_clipped() -> None:
    assert clip("what is  the runner called?") == "what is the runner called?"


def test_a_long_query_keeps_half_its_words_from_each_end() -> None:
    clipped = clip(" ".join(f"w{i}" for i in range(100))).split()
    assert clipped == [f"w{i}" for i in range(32)] + [f"w{i}" for i in range(68, 100)]


@given(ANY_TEXT.map(lambda text: text * 40))
def test_a_clipped_query_is_at_most_64_words_and_1000_bytes(query: str) -> None:
    clipped = clip(query)
    assert len(clipped.encode()) <= 1000
    assert len(clipped.split()) <= 64


@given(ANY_TEXT)
def test_every_word_of_any_text_is_plain_and_bounded(text: str) -> None:
    for word in words(text, stop=False):
        assert 0 < len(word) <= MAX_WORD
        assert not set(word) & set("\"'*():^-+{} \t\n\x00")


@given(text=ANY_TEXT, query=ANY_TEXT)
def test_any_query_is_valid_fts5_and_a_text_with_words_matches_itself(text: str, query: str) -> None:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'porter unicode61')")
        db.execute("INSERT INTO t VALUES (?)", (index_text(text, "1q"),))
        for asked in (query, text):
            expression = match_expression(words(asked), "1q")
            rows = db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall() if expression else []
            if asked is text and words(text):
                assert rows == [(1,)]
        other = match_expression(words(text), "2q")
        assert not other or db.execute("SELECT rowid FROM t WHERE t MATCH ?", (other,)).fetchall() == []
    finally:
        db.close()


def test_an_expression_is_quoted_words_without_repetitions() -> None:
    assert match_expression(["near", "a", "near"], "7q") == '"7qnear" OR "7qa"'
    assert match_expression(["near", "a"], "7q", every=True) == '"7qnear" AND "7qa"'
    assert match_expression([], "7q") == ""
    assert match_expression(['x"y'], "") == '"x""y"'
