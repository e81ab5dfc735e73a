"""What every engine promises of words: which memories a query finds, in any language, and that any text is one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_store import Store
from tests.contracts.every_engine import add, found


def test_unrelated_memories_are_not_an_answer(store: Store) -> None:
    add(store, "Morning briefing creative style", "DNS facts", "provider cap is 272K")
    assert found(store, "context window cap of provider") == ["provider cap is 272K"]
    assert found(store, "chocolate cake recipe") == []


def test_a_typo_still_finds_its_word(store: Store) -> None:
    add(store, "deployment checklist", "the boat is green")
    assert found(store, "deploymnt cheklist") == ["deployment checklist"]


@pytest.mark.parametrize("query", ["", " ", "a", "ab", "a b", "名", "?!", "the", "\x00", "\ud800\udfff"])
def test_a_query_that_asks_nothing_is_answered_with_nothing(store: Store, query: str) -> None:
    add(store, "a b ab 名前 the query")
    assert found(store, query) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("确认用户身份后再部署", "用户身份"),
        ("今日は成語しりとりをした", "しりとり"),
        ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
        ("今天玩成语接龙游戏", "成语接龙"),
        ("设备清单(devices) NAS cdm-xxc", "设备"),
        ("设备清单(devices) NAS cdm-xxc", "设备清单"),
        ("设备清单(devices) NAS cdm-xxc", "NAS"),
        ("步2 重跑gen-itgc后50条悬空引用清零", "itgc"),
        ("步2 重跑gen-itgc后50条悬空引用清零", "悬空"),
    ],
)
def test_part_of_a_chinese_japanese_or_korean_sentence_finds_it_first(store: Store, text: str, query: str) -> None:
    add(store, "我们团队负责项目管理", "東京で会議がある", "서울에서 만나요", text)
    assert found(store, query)[0] == text


def test_a_memory_of_emoji_alone_is_found_by_them_and_one_alone_asks_nothing(store: Store) -> None:
    add(store, "🎉🎉🎉", "the boat is green", "👍🏽", "🇩🇪")
    for query in ("🎉🎉🎉", "🎉🚀🔥", "what about 🎉?"):
        assert found(store, query) == ["🎉🎉🎉"]
    assert found(store, "👍🏿👍👍") == ["👍🏽"]
    assert found(store, "🇩🇪🇫🇷") == ["🇩🇪"]
    assert found(store, "boat 🎉") == ["🎉🎉🎉", "the boat is green"]
    for query in ("🎉", "❤️", "👍\u200d\ufe0f", "🚀🔥🚀"):
        assert found(store, query) == []
    assert store.forget(namespace="alice", query="🎉") == 1
    assert store.forget(namespace="alice", query="👍") == 1
    assert {record.text for record in store.list(namespace="alice")} == {"🇩🇪", "the boat is green"}


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        ("the pass\u200bword hint", "password"),
        ("Zusammen\u00adarbeit mit Ada", "Zusammenarbeit"),
        ("the \u202eboat\u202c is green", "boat"),
        ("the password hint", "pass\u2060word"),
    ],
)
def test_what_nobody_sees_parts_no_word(store: Store, memory: str, query: str) -> None:
    add(store, memory)
    assert found(store, query) == [memory]


@pytest.mark.parametrize(
    "query",
    [
        "don't use agents",
        "Downloads/transcripts",
        "pre-edit",
        "ubuntu 20.04",
        "GB/s",
        '"',
        "*",
        "NEAR(",
        "AND",
        "a:b",
        "agents NEAR(use, 2)",
        "body : agents",
        "-agents",
        "^agents",
        "{title}: agents",
        'a"b"c',
        "agents' OR 1=1 --",
    ],
)
def test_query_syntax_is_only_words(store: Store, query: str) -> None:
    add(store, "Use no agents in Downloads, transcripts or ubuntu.")
    assert isinstance(found(store, query), list)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(exclude_categories=()), min_size=1), query=st.text(st.characters()))
def test_any_text_can_be_stored_and_any_query_asked(store: Store, text: str, query: str) -> None:
    if text.strip():
        [record] = add(store, text, namespace="any")
        assert record in store.get(namespace="any", ids=[str(record.id)])
    for asked in (query, text):
        store.search(namespace="any", query=asked)


def test_an_enormous_query_is_answered_from_its_ends(store: Store) -> None:
    add(store, "The CI runner is called brontes.")
    assert found(store, "what is the runner called? " + "x" * 500_000) == ["The CI runner is called brontes."]


def test_nul_and_lone_surrogates_are_replaced_alike(store: Store) -> None:
    [record] = add(store, "a\x00b\ud800c")
    assert store.get(namespace="alice", ids=[str(record.id)])[0].text == "a\ufffdb\ufffdc"


def test_text_put_before_the_users_words_changes_the_answer_which_is_why_only_theirs_may_be_asked(store: Store) -> None:
    add(store, "项目管理由李雷负责", "message_id and sender_id are fields", "conversation label of the adapter")
    clean = found(store, "我们团队谁负责项目管理")
    polluted = found(store, 'Conversation info: {"message_id":"1","sender_id":"2"} 我们团队谁负责项目管理')
    assert clean == ["项目管理由李雷负责"]
    assert polluted != clean
