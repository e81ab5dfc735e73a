"""Secrets are refused at the door: every rule, everywhere a text comes in, by the rule's id and never the value."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_store import Record, SecretError, Store, open_store
from recall_store.markdown import import_files
from recall_store.secrets import find_secret, find_secrets, rules
from recall_store.tools import ToolError, call

from .planted import PLANTED

IDS = [f"{rule}-{number}" for number, (rule, _) in enumerate(PLANTED)]
every_secret = pytest.mark.parametrize(("rule", "value"), PLANTED, ids=IDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{folder}/m.db") as opened:
        yield opened


def test_there_is_a_planted_secret_for_every_expression_of_the_set() -> None:
    values = [value for _, value in PLANTED]
    unmatched = [rule.pattern.pattern for rule in rules() if not any(rule.matches(f"x {value} y") for value in values)]
    assert unmatched == []
    assert {rule for rule, _ in PLANTED} == {rule.id for rule in rules()}


@every_secret
def test_a_planted_secret_is_refused_by_its_rule_and_its_value_is_in_no_log_error_or_file(
    rule: str, value: str, store: Store, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"remember that it is {value} please"
    file = folder / "planted.md"
    file.write_text(f"---\nname: planted\ntype: user\n---\n\n{text}\n")
    said: list[str] = []
    with caplog.at_level(logging.DEBUG):
        for field in ("text", "title", "description"):
            with pytest.raises(SecretError) as caught:
                store.upsert(namespace="ada", records=[Record(**{"text": "x", field: text})])
            said.append(str(caught.value))
        for given_ in ({"k": text}, {"k": [{"deep": text}]}, {text: 1}):
            with pytest.raises(SecretError) as caught:
                store.upsert(namespace="ada", records=[Record(text="x", metadata=given_)])
            said.append(str(caught.value))
        with pytest.raises(SecretError) as caught:
            store.import_(namespace="ada", lines=[json.dumps({"text": text})])
        said.append(str(caught.value))
        with pytest.raises(SecretError) as caught:
            import_files(store, namespace="ada", paths=[file])
        said.append(str(caught.value))
        with pytest.raises(ToolError) as refused:
            call(store, "ada", "upsert_memory", {"text": text})
        said.append(str(refused.value))
    file.unlink()
    assert all(f" {rule}" in message for message in said)
    assert value not in "".join((*said, caplog.text, repr(caught.value.__context__), repr(caught.value.__cause__)))
    assert store.list(namespace="ada") == []
    assert not any(value.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


BESIDE = ["鍵は{}です", "密钥{}。", "ключ {} и", "🔑{}🔑", "מפתח:{}", 'x = "{}"', "({})", "a\n{}\nb"]


@pytest.mark.parametrize("beside", BESIDE)
@every_secret
def test_no_letter_of_another_script_beside_it_hides_one(rule: str, value: str, beside: str) -> None:
    assert rule in find_secrets(beside.format(value))
    assert find_secret(beside.format(value)) is not None


@pytest.mark.parametrize("value", ["AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + "Abc1" * 9])
def test_wide_letters_do_not_hide_one(value: str) -> None:
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in value)
    assert find_secret(f"それは{wide}です") is not None


def test_all_rules_that_are_broken_are_named() -> None:
    value = "AKIA" + "IOSFODNN7EXAMPLE" + " and ghp_" + "Abc1" * 9
    with pytest.raises(SecretError, match=r"\(rules aws-access-key, github-token\); remove it and store the rest$"):
        from recall_store.guard import check_record

        check_record(Record(text=value))


@given(st.text())
def test_the_first_rule_is_one_of_all(text: str) -> None:
    first = find_secret(text)
    assert first is None or first in find_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "task_pa-ragraph-of-words-that-are-long-and-joined-by-dashes-only-and-more",
        "the sk_ prefix and the fc- prefix and dapi are how keys begin",
        "see https://jina_reader.example/docs/a-long-path-of-many-words-joined-by-dashes",
        "BEGIN PUBLIC KEY and a PRIVATE KEY are not the same",
        "LTAI is short for long-term artificial intelligence",
        "9 out of 10: a sentence with a colon",
        "Она сказала: ключ под ковриком",
        "パスワードは犬の名前です",
    ],
)
def test_ordinary_words_are_no_secret(text: str) -> None:
    assert find_secret(text) is None
