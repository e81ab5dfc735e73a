"""What may not become a memory."""

from __future__ import annotations

from datetime import datetime

import pytest

from recall_store import Record, RecordError, ReservedTagError
from recall_store.guard import check_record
from recall_store.reserved import RESERVED_TAGS, reserved_tag
from recall_store.secrets import find_secret, rules

SECRETS = [
    ("anthropic-key", "sk-ant-" + "api03-" + "Ab1" * 12),
    ("openai-key", "sk-proj-" + "Ab1" * 14),
    ("openai-key", "sk-" + "0123456789abcdef" * 2),
    ("google-key", "AIza" + "Ab1-_" * 7),
    ("huggingface-key", "hf_" + "Abc1" * 9),
    ("groq-key", "gsk_" + "Abc1" * 13),
    ("langfuse-key", "sk-lf-" + "01234567-89ab-cdef-0123-456789abcdef"),
    ("langsmith-key", "lsv2_pt_" + "0123456789abcdef" * 2 + "_0123456789"),
    ("github-token", "ghp_" + "Abc1" * 9),
    ("github-fine-grained-token", "github_pat_" + "Abc1" * 12),
    ("aws-access-key", "AKIA" + "ABCDEFGHIJKLMNOP"),
    ("private-key", "-----BEGIN " + "RSA PRIVATE KEY-----"),
    ("basic-auth-credentials", "postgres://" + "bob:hunter2@db.example/x"),
    ("json-web-token", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJib2IifQ" + ".c2lnbmF0dXJl"),
    ("slack-token", "xoxb-" + "123456789012-" + "abcdefghijkl"),
]


@pytest.mark.parametrize(("rule", "value"), SECRETS)
def test_a_secret_is_found_by_its_shape(rule: str, value: str) -> None:
    assert find_secret(f"remember: {value} please") == rule


BESIDE = [
    "鍵は{}です",
    "密钥{}。",
    "ключ{}и",
    "clé{}",
    "KEY_{}",
    "🔑{}🔑",
    '{{"k":"a\\n{}"}}',
    '{{"k":"\\u306f{}\\u3067"}}',
]
WITH_BOUNDS = [
    *(pair for pair in SECRETS if pair[0].endswith("-key")),
    ("artifactory-credentials", "AKCp1234567890"),
    ("artifactory-credentials", "AP5abcdefgh1"),
    ("gitlab-token", "glpat-" + "a1B2c3D4e5" * 2),
    ("cloudant-credentials", "cloudant_password='" + "abcdefgh" * 3 + "'"),
    ("ibm-cloud-iam-key", "ibm_cloud_api_key=" + "a1B2c3D4e5f" * 4),
    ("softlayer-credentials", "sl_key=" + "a1b2c3d4" * 8),
]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(("rule", "value"), WITH_BOUNDS)
def test_no_letter_of_another_script_and_no_escape_beside_it_hides_a_secret(rule: str, value: str, beside: str) -> None:
    assert find_secret(beside.format(value)) == rule


@pytest.mark.parametrize(
    "text",
    [
        "my_fw_configurationmanagerfactory and self.APCalculatorFactory() or (APAccountNames, AKCRegistrations)",
        "desk-ant-colonies-in-the-garden-and-elsewhere, shelf_abcdefghijklmnopqrstuvwxyzabcdef",
        "https://x.example/AP2349872349/parts",
        "My password is a dog's name, which one?",
        "The secret of good bread is time.",
        "sk-learn is spelled scikit-learn, and task-based-scheduling-of-very-long-names is not a key",
        "Call 192.168.0.1 or 8.8.8.8 or 2001:db8::1.",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "550e8400-e29b-41d4-a716-446655440000",
        "eyJ is how a token begins, eyJhbGciOi.not.really",
        "see https://example.com/a:b and mail bob@example.com",
    ],
)
def test_an_ordinary_sentence_is_no_secret(text: str) -> None:
    assert find_secret(text) is None


def test_the_rules_have_ids_and_include_those_of_detect_secrets() -> None:
    assert {"aws-access-key", "stripe-access-key", "openai-token", "anthropic-key"} <= {rule.id for rule in rules()}


@pytest.mark.parametrize("name", RESERVED_TAGS)
@pytest.mark.parametrize("shape", ["<{}>", "</{}>", "x < {} >", "<{}\n id='1'>", "<{}/>", "</ {}", "<{}"])
def test_an_opened_or_closed_reserved_tag_is_found_by_name(name: str, shape: str) -> None:
    assert reserved_tag(f"before {shape.format(name)}") == name
    assert reserved_tag(f"before {shape.format(name.upper())}") == name


UNSEEN = [
    "<\u200b{}>",
    "<{}\u200d>",
    "\uff1c{}\uff1e",
    "<\u00ad/\u2060{}>",
    "<{}\u202e>",
    "<\ufb01rsthand:recalled-memory>",
    "<first\u200bhand\uff1arecalled-memory>",
    "<firsthand\u115f:recalled-\u3164memory>",
    "<firsthand:recalled\u034f-memory>",
    "<first\x08hand:recalled-memory\x7f>",
]


@pytest.mark.parametrize("shape", UNSEEN)
def test_a_tag_that_only_reads_as_one_is_a_tag(shape: str) -> None:
    assert reserved_tag(f"before {shape.format(RESERVED_TAGS[1])} after") == RESERVED_TAGS[1]


@pytest.mark.parametrize("value", [f"<{RESERVED_TAGS[1]}", f"<\n{RESERVED_TAGS[1]}\n>", f"a\t<\t{RESERVED_TAGS[1]}\t"])
@pytest.mark.parametrize("field", ["source", "metadata"])
def test_a_tag_is_found_where_json_would_escape_what_is_beside_it(field: str, value: str) -> None:
    for held in ({"k": value}, {value: 1}, {"k": [{"k": [value]}]}):
        with pytest.raises(ReservedTagError):
            check_record(Record(**{"text": "x", field: held}))  # type: ignore[arg-type]


UNDRAWN = "\u200b\u00ad\u2060\ufeff\u034f\u115f\u17b4\u180b\u3164\uffa0\U000e0041\x08\x7f\x9f"


@pytest.mark.parametrize(("rule", "value"), SECRETS)
def test_a_character_that_nobody_sees_hides_no_secret(rule: str, value: str) -> None:
    middle = len(value) - 6
    for mark in UNDRAWN:
        assert find_secret(f"remember: {value[:middle]}{mark}{value[middle:]} please") is not None, ascii(mark)


@pytest.mark.parametrize("name", RESERVED_TAGS)
@pytest.mark.parametrize("shape", ["{}", "&lt;{}&gt;", "<{}-more>", "<x{}>", "`{}`"])
def test_a_name_in_prose_is_no_tag(name: str, shape: str) -> None:
    assert reserved_tag(shape.format(name)) is None


@pytest.mark.parametrize("field", ["text", "title", "description", "source", "metadata"])
def test_every_field_with_words_is_looked_at(field: str) -> None:
    tag = f"<{RESERVED_TAGS[0]}>"
    record = Record(**{"text": "x", field: {"k": [tag]} if field in ("source", "metadata") else tag})
    with pytest.raises(ReservedTagError, match=field):
        check_record(record)


@pytest.mark.parametrize(
    "record",
    [
        Record(text="x", metadata={"k": "word " * 200_001}),
        Record(text="x", source={"session": "s" * 1_000_001}),
        Record(text="\ufdfa" * 120_000),
        Record(text="x", title="\ufdfa" * 1_000_000),
    ],
    ids=["metadata", "source", "text of ligatures", "title of ligatures"],
)
def test_what_takes_too_long_to_look_at_is_refused_by_its_length(record: Record) -> None:
    with pytest.raises(RecordError, match="is too long; the limit is 1000000 characters"):
        check_record(record)


def test_a_text_of_the_full_length_is_looked_at() -> None:
    check_record(Record(text="设备清单" * 250_000, title="word " * 200_000))


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(RecordError, match="dict"):
        check_record({"text": "x"})


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": " \n"},
        {"text": None},
        {"text": "x" * 1_000_001},
        {"text": "x", "title": 3},
        {"text": "x", "id": ""},
        {"text": "x", "id": "a\x00b"},
        {"text": "x", "type": "hook"},
        {"text": "x", "author": "hook"},
        {"text": "x", "source": [1]},
        {"text": "x", "metadata": {1: 2}},
        {"text": "x", "metadata": {"a": object()}},
        {"text": "x", "metadata": {"a": float("nan")}},
        {"text": "x", "created_at": datetime(2026, 1, 1)},
        {"text": "x", "expires_at": "tomorrow"},
    ],
)
def test_a_record_that_is_not_valid_is_never_built(fields: dict[str, object]) -> None:
    with pytest.raises(RecordError):
        Record(**fields)  # type: ignore[arg-type]


def test_a_record_keeps_its_own_copy_of_what_it_was_given() -> None:
    given = {"tags": ["a"]}
    record = Record(text="x", metadata=given)
    given["tags"].append("b")
    assert record.metadata == {"tags": ["a"]}
