"""Public reports about queries, ranking, silence and languages, each as a test. The reference is in the name's line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_store import Record, Store, open_store
from recall_store.ranking import Shared, fuse
from recall_store.text import clip

from .fakes import BrokenEmbedder, CountingEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/m.db") as opened:
        yield opened


def add(store: Store, *texts: str) -> None:
    store.upsert(namespace="alice", records=[Record(text=text) for text in texts])


def found(store: Store, query: str, top_k: int = 5) -> list[str]:
    return [match.record.text for match in store.search(namespace="alice", query=query, top_k=top_k)]


def test_memories_that_have_nothing_to_do_with_the_question_are_not_returned(store: Store) -> None:
    # mnemosyne-oss/mnemosyne#24
    add(store, "Morning briefing creative style", "DNS facts", "provider cap is 272K")
    assert found(store, "context window cap of provider", 8) == ["provider cap is 272K"]
    assert found(store, "who won the chess match in Oslo?", 8) == []


def test_a_short_chinese_question_finds_its_memory(store: Store) -> None:
    # CortexReach/memory-lancedb-pro#579: asked as the person asked, not behind an adapter's JSON
    add(store, "项目管理由王芳负责", "今天天气很好", "Conversation info: message_id, sender_id, conversation_label")
    assert found(store, "我们团队谁负责项目管理")[0] == "项目管理由王芳负责"


@pytest.mark.parametrize("query", ["用户身份", "部署", "再部署"])
def test_part_of_a_chinese_sentence_finds_it(store: Store, query: str) -> None:
    # thedotmack/claude-mem#3801
    add(store, "确认用户身份后再部署", "今天天气很好")
    assert found(store, query) == ["确认用户身份后再部署"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("しりとり", "今日は成語しりとりをした"),
        ("끝말잇", "오늘 끝말잇기 게임을 했다"),
        ("끝말잇기", "오늘 끝말잇기 게임을 했다"),
        ("成语接龙", "今天玩成语接龙游戏"),
    ],
)
def test_a_phrase_inside_of_a_japanese_korean_or_chinese_sentence_comes_first(
    store: Store, query: str, expected: str
) -> None:
    # openclaw/openclaw#20730
    add(store, "今日は成語しりとりをした", "오늘 끝말잇기 게임을 했다", "今天玩成语接龙游戏")
    assert found(store, query)[0] == expected


@pytest.mark.parametrize("query", ["设备", "设备清单", "NAS", "nas devices"])
def test_two_chinese_characters_are_enough(store: Store, query: str) -> None:
    # chandra447/pi-hermes-memory#174
    add(store, "设备清单(devices) NAS cdm-xxc")
    assert found(store, query) == ["设备清单(devices) NAS cdm-xxc"]


@pytest.mark.parametrize("query", ["itgc", "悬空", "重跑", "50"])
def test_a_change_of_script_is_a_border_between_words(store: Store, query: str) -> None:
    # tommy0103/obelisk#9
    add(store, "步2 重跑gen-itgc后50条悬空引用清零")
    assert found(store, query) == ([] if query == "50" else ["步2 重跑gen-itgc后50条悬空引用清零"])


@pytest.mark.parametrize(
    "query",
    [
        *("don't use agents", "Downloads/transcripts", "pre-edit", "ubuntu 20.04", "GB/s", '"', "*", "NEAR(", "AND"),
        *("a:b", "-", "^", "{a b}: c", 'x"y', "NEAR(a b, 2)", "OR OR OR", "title:a", "a*", "\\", "'", "%"),
        *("a" * 100_000, "\x00"),
    ],
)
def test_no_text_is_syntax(store: Store, query: str) -> None:
    # spences10/ccrecall#29 and #23
    add(store, "never edit Downloads/transcripts before the pre-edit check on ubuntu 20.04", "tea")
    assert isinstance(found(store, query), list)


@pytest.mark.parametrize("query", ["Downloads/transcripts", "pre-edit", "ubuntu 20.04", '"pre-edit"', "pre-edit*"])
def test_what_looks_like_syntax_is_looked_for_as_words(store: Store, query: str) -> None:
    add(store, "never edit Downloads/transcripts before the pre-edit check on ubuntu 20.04", "tea")
    assert found(store, query) == ["never edit Downloads/transcripts before the pre-edit check on ubuntu 20.04"]


def test_rows_and_queries_of_nan_and_zeros_break_no_search(tmp_path: Path) -> None:
    # simonw/llm#1505
    with open_store(f"sqlite:///{tmp_path}/m.db", BrokenEmbedder()) as store:
        add(store, "nan lamp", "zero lamp", "infinite lamp", "plain lamp")
        assert set(found(store, "plain lamp", 9)) == {"nan lamp", "zero lamp", "infinite lamp", "plain lamp"}
        for query in ("nan lamp", "zero lamp", "infinite lamp"):
            assert found(store, query)[0] == query


@pytest.mark.parametrize("query", ["", " \n\t ", "a", "ab", "名", "é", "?!", "...", "👍"])
def test_a_query_that_asks_nothing_is_refused_before_it_is_embedded(tmp_path: Path, query: str) -> None:
    # field notes M06: a prompt that is only an image
    embedder = CountingEmbedder()
    with open_store(f"sqlite:///{tmp_path}/m.db", embedder) as store:
        add(store, "The CI runner is called brontes.")
        embedder.texts.clear()
        assert found(store, query) == []
        assert embedder.texts == [] or len(query) > 2


def test_of_an_expanded_file_a_thousand_bytes_are_asked_with(tmp_path: Path) -> None:
    # field notes M04
    embedder = CountingEmbedder()
    with open_store(f"sqlite:///{tmp_path}/m.db", embedder) as store:
        add(store, "The log of brontes is at /var/log/ci.")
        embedder.texts.clear()
        found(store, "line of a log\n" * 40_000 + " why?")
        assert [len(text.encode()) <= 1000 for text in embedder.texts] == [True]
        assert embedder.texts[0].endswith("why?")


def test_a_pasted_blob_is_left_out_of_a_question() -> None:
    assert clip("what is this? " + "QUJD" * 200) == "what is this?"
    assert len(clip("QUJD" * 200)) == 800


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        ("Мою собаку зовут Рекс", "собаку РЕКС"),
        ("Ο σκύλος μου λέγεται Ρεξ", "σκύλος Ρεξ"),
        ("اسم كلبي ركس", "كلبي ركس"),
        ("שם הכלב שלי רקס", "הכלב רקס"),
        ("मेरे कुत्ते का नाम रेक्स है", "कुत्ते रेक्स"),
        ("We shipped it 🎉 on the pier", "🎉 pier"),
        ("ＣＡＦÉ opens at nine", "café"),
        ("the ﬁne print", "fine print"),
        ("Straße der Lampe", "STRASSE lampe straße"),
        ("cafe\u0301 opens", "café"),
    ],
)
def test_every_script_and_spelling_is_found(store: Store, memory: str, query: str) -> None:
    add(store, memory, "Something else entirely", "Ещё одна заметка")
    assert found(store, query)[:1] == [memory]


def test_a_question_that_names_a_person_prefers_what_that_person_said(store: Store) -> None:
    store.upsert(
        namespace="alice",
        records=[
            Record(text="Bob: did Ada adopt the cat from the shelter?"),
            Record(text="Ada: the cat from the shelter is mine now"),
        ],
    )
    assert found(store, "which cat does Ada have from the shelter?")[0].startswith("Ada:")


def test_the_words_beside_a_memory_in_its_session_help_to_find_it(store: Store) -> None:
    turns = ["Where did you go on holiday?", "Somewhere by the water, it was lovely.", "And the food?", "Fish, mostly."]
    other = ["What is for lunch?", "Something quick, it was late.", "And then?", "Work, mostly."]
    for session, said in (("one", turns), ("two", other)):
        records = [Record(text=text, source={"session": session, "position": i}) for i, text in enumerate(said)]
        store.upsert(namespace="alice", records=records)
    assert "Somewhere by the water, it was lovely." in found(store, "where was the holiday?", 2)


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(-1, 1, width=32)), min_size=1, max_size=30), st.integers(1, 9))
@settings(max_examples=60)
def test_any_numbers_have_one_order_best_first(rows: list[tuple[float, float]], top_k: int) -> None:
    lexical = np.array([row[0] for row in rows])
    ranked = fuse(
        keys=np.arange(len(rows), dtype=np.int64),
        shared=Shared(lexical, lexical, 50.0, len(rows)),
        cosine=np.array([row[1] for row in rows], np.float32),
        keywords=True,
        weight=1.0,
        floor=0.1,
        top_k=top_k,
    )
    assert len(ranked) <= top_k
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert len({one.key for one in ranked}) == len(ranked)
