"""Matchers: which subjects run a hook, for any pattern, in bounded time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from middleware.hooks.expressions import found, is_readable
from middleware.hooks.matchers import is_everything, is_usable, matches, selects
from tests.pace import no_hang
from tests.vectors.runner import run_file

VECTORS = Path(__file__).parents[1] / "vectors" / "hooks_transcripts.json"


@pytest.mark.parametrize("result", list(run_file(VECTORS, areas=frozenset({"matcher"}))), ids=lambda result: result.id)
def test_a_handed_case_holds(result) -> None:
    assert result.failures == ()


@pytest.mark.parametrize(
    ("matcher", "subject", "selected"),
    [
        ("startup|resume", "resume", True),
        ("startup|resume", "clear", False),
        (" startup | resume ", "startup", True),
        ("startup|", "startup", True),
        ("startup|", "clear", False),
        ("clear|*", "startup", True),
        ("clear|.*", "startup", True),
        (" * ", "startup", True),
        ("start", "startup", True),
        ("Start", "startup", False),
        ("^start$", "startup", False),
        ("(", "startup", False),
        ("resume", None, True),
        ("resume", "", True),
        (r"notes\|todo", "notes|todo", True),
        (r"notes\|todo", "notes", False),
        ("a(b|c)d", "xacdx", True),
        ("^(startup|clear)$", "clear", True),
    ],
)
def test_a_matcher_is_names_or_an_expression(matcher: str, subject: str | None, selected: bool) -> None:
    assert matches(matcher, subject) is selected


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "MessageDisplay", "PostToolBatch", "TodoCreated"])
def test_an_event_without_a_subject_ignores_matchers(event: str) -> None:
    assert selects(event, "^never$", "x") is True


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart", "PreToolUse", "Notification", "InstructionsLoaded"])
def test_an_event_with_a_subject_does_not(event: str) -> None:
    assert selects(event, "^never$", "x") is False
    assert selects(event, "^never$", None) is True


@pytest.mark.parametrize(
    ("expression", "subject", "expected"),
    [
        (r"^\d{2,3}$", "12", True),
        (r"^\d{2,3}$", "1234", False),
        (r"^\d+$", "١٢", False),  # JavaScript's \d is ASCII
        (r"^a$", "a\n", False),  # and its $ is the very end
        (r"^mcp__(?!memory)", "mcp__files", True),
        (r"^mcp__(?!memory)", "mcp__memory", False),
        (r"(?<=a)b", "ab", True),
        (r"(?<!a)b", "ab", False),
        (r"^(?<first>a)b", "ab", True),
        (r"^(?:ab)*?c", "ababc", True),
        (r"[^a-c\d_-]", "a1_-", False),
        (r"[\]x]", "]", True),
        (r"[]", "a", False),
        (r"[^]", "\n", True),
        (r"^a{,2}$", "a{,2}", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\Boo", "foo", True),
        (r"\x41\u0042\cJ", "AB\n", True),
        (r"\.\/\-", "./-", True),
        (r"^(a?){3}$", "aa", True),
        (r"^(a|ab)(c|bcd)(d*)$", "abcd", True),
        (r"^.$", "\u2028", False),
        (r"(a+)+$", "a" * 900 + "b", False),
        (r"(a|a)*b", "a" * 900, False),
        (r"(a*)*b", "a" * 900, False),
    ],
)
def test_an_expression_is_read_as_javascript_does(expression: str, subject: str, expected: bool) -> None:
    assert found(expression, subject) is expected


@pytest.mark.parametrize(
    "expression",
    [
        "(",
        ")",
        "[",
        "a**",
        "*",
        "^*",
        "{1}",
        "a{2,1}",
        "[b-a]",
        "(?P<n>a)",
        "(?i)a",
        "\\",
        r"(a)\1",
        "a" * 1001,
        "(" * 60,
    ],
)
def test_what_cannot_be_read_matches_nothing(expression: str) -> None:
    assert is_readable(expression) is False
    assert found(expression, "aaa") is False


def test_a_subject_of_over_a_thousand_characters_is_compared_by_name_only() -> None:
    assert matches("a" * 1001, "a" * 1001) is True
    assert matches("^a", "a" * 1001) is False


def test_a_matcher_says_whether_it_is_more_than_a_name() -> None:
    assert [is_usable(matcher) for matcher in ("", "a|b", "^a", "[", "|", "a|[")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert [is_everything(matcher) for matcher in ("", " * ", ".*", "a")] == [True, True, True, False]


ALPHABET = st.text(alphabet="ab|()[]{}*+?.^$\\dwsbB123,-<=!:P \n", max_size=60)


@settings(max_examples=300, deadline=None)
@given(
    matcher=st.text(max_size=80) | ALPHABET,
    subject=st.none() | st.text(max_size=80) | st.text(alphabet="ab1 ", max_size=200),
    aliases=st.lists(st.text(max_size=5), max_size=2),
)
def test_any_matcher_and_subject_are_a_bool_in_bounded_time(matcher, subject, aliases) -> None:
    with no_hang():
        assert type(matches(matcher, subject, aliases)) is bool
        assert type(is_usable(matcher)) is bool


ATOMS = st.sampled_from(["a", "b", ".", r"\d", r"\w", r"[ab]", r"[^a]", "1"])
EXPRESSIONS = st.recursive(
    ATOMS | st.sampled_from(["^", r"\b", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None)
@given(expression=EXPRESSIONS, subject=st.text(alphabet="ab1_", max_size=8))
def test_it_agrees_with_pythons_re_where_both_read_alike(expression: str, subject: str) -> None:
    assert found(expression, subject) is (re.search(expression, subject, re.ASCII) is not None)


def test_the_worst_that_fits_ends_within_the_budget() -> None:
    with no_hang():
        found("(?:" * 20 + "a" + "*b?)*" * 20 + "c", "ab" * 500)
        found("(?=" * 40 + ".*c" + ")" * 40, "a" * 1000)
