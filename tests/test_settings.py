"""Settings come from four places, and a wrong one is named."""

import copy
import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.errors import SettingsError
from middleware.settings import NAMES, Settings, duration


def load(tmp_path, toml=None, pyproject=None, environ=None, **arguments):
    if toml is not None:
        (tmp_path / "firsthand.toml").write_text(toml)
    if pyproject is not None:
        (tmp_path / "pyproject.toml").write_text(pyproject)
    return Settings.load(folder=tmp_path, environ=environ or {}, **arguments)


def test_nothing_is_on_by_default(tmp_path):
    settings = load(tmp_path)
    assert (settings.transcripts, settings.store, settings.hooks_file) == (None, None, None)
    assert (settings.remember, settings.capture_content) == ("off", "NO_CONTENT")
    assert settings == Settings()


def test_an_argument_beats_the_environment_beats_the_files(tmp_path):
    settings = load(
        tmp_path,
        toml='user = "toml"\nstore = "sqlite:///toml.db"\nembedder = "hash"',
        pyproject='[tool.firsthand]\nembedder = "pyproject"\nnamespace = "pyproject"',
        environ={"FIRSTHAND_USER": "env", "FIRSTHAND_STORE": "sqlite:///env.db"},
        user="argument",
    )
    assert (settings.user, settings.store, settings.embedder, settings.namespace) == (
        "argument", "sqlite:///env.db", "hash", "pyproject",
    )  # fmt: skip
    assert settings.sources == {
        "user": "argument",
        "store": "FIRSTHAND_STORE",
        "embedder": "firsthand.toml",
        "namespace": "pyproject.toml [tool.firsthand]",
    }


def test_an_argument_that_is_none_was_not_given(tmp_path):
    assert load(tmp_path, toml='user = "toml"', user=None).user == "toml"


@pytest.mark.parametrize("word", ["False", "false", "0", "no", "off", ""])
def test_words_that_mean_off_are_off(tmp_path, word):
    settings = load(tmp_path, environ={"FIRSTHAND_CAPTURE_CONTENT": word, "FIRSTHAND_STRICT": word})
    assert (settings.capture_content, settings.strict) == ("NO_CONTENT", False)


def test_true_captures_content_on_spans(tmp_path):
    assert load(tmp_path, toml="capture_content = true").capture_content == "SPAN_ONLY"


def test_an_explicit_setting_wins_over_the_standard_variable(tmp_path):
    variable = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event"}
    assert load(tmp_path, environ=variable).capture_content == "SPAN_AND_EVENT"
    assert load(tmp_path, environ=variable, capture_content=False).capture_content == "NO_CONTENT"


@pytest.mark.parametrize(
    ("value", "patterns"),
    [
        (r"tok-\d+", (r"tok-\d+",)),
        ("a,b", ("a,b",)),
        ('["a", "\\\\bb"]', ("a", r"\bb")),
        (r"[A-Z]{3}-\d+", (r"[A-Z]{3}-\d+",)),
        ("[]", ()),
        ("", ()),
    ],
)
def test_redaction_patterns_may_be_one_or_a_json_list_in_the_environment(tmp_path, value, patterns):
    assert load(tmp_path, environ={"FIRSTHAND_REDACT": value}).redact == patterns


@pytest.mark.parametrize("value", ["['a', 'b']", '["a", "b"', '["tok-\\d+"]'])
def test_a_list_of_patterns_in_the_environment_that_is_no_json_is_not_taken_for_a_pattern(tmp_path, value):
    with pytest.raises(
        SettingsError, match=r"FIRSTHAND_REDACT is .*, which begins as a list does and is no JSON; write"
    ):
        load(tmp_path, environ={"FIRSTHAND_REDACT": value})


@pytest.mark.parametrize("pattern", ["x*", "", "(a|)", r"\b", "^"])
def test_a_pattern_that_matches_where_there_is_no_text_is_refused(tmp_path, pattern):
    with pytest.raises(SettingsError, match=r"from argument holds .*, which matches where there is no text"):
        load(tmp_path, redact=[pattern])


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ("transcript = 'x'", "unknown setting 'transcript' in firsthand.toml; did you mean transcripts?"),
        ("hook = 'x'", "unknown setting 'hook' in firsthand.toml; did you mean hooks_file?"),
        ("hooks = 'x'", "unknown setting 'hooks' in firsthand.toml; did you mean hooks_file?"),
        ("qqq = 1", "unknown setting 'qqq' in firsthand.toml; the README's table lists the names"),
        ("recall_top_k = 0", "setting recall_top_k from firsthand.toml is 0; it must be a whole number over 0"),
        ("recall_timeout = 'soon'", "setting recall_timeout from firsthand.toml is 'soon'; it must be seconds, over 0"),
        ("placement = 'top'", "setting placement from firsthand.toml is 'top'; it must be one of part, inline"),
        ("strict = 'maybe'", "setting strict from firsthand.toml is 'maybe'; it must be true or false"),
        (
            "redact = ['a', '(b']",
            (
                "setting redact from firsthand.toml holds '(b', which is no regular expression: "
                "missing ), unterminated subpattern at position 0; correct it"
            ),
        ),
        (
            "redact = [5]",
            "setting redact from firsthand.toml is [5]; it must be a regular expression or a list of them",
        ),
        ("user = 5", "setting user from firsthand.toml is 5; it must be text"),
    ],
)
def test_a_wrong_setting_is_one_line_that_says_what_and_where(tmp_path, toml, line):
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, toml=toml)
    assert str(caught.value) == line


def test_a_file_that_is_no_toml_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"settings file .*firsthand\.toml cannot be read: .*; correct that line"):
        load(tmp_path, toml="user = ")


def test_a_file_that_may_not_be_read_is_named(tmp_path):
    (tmp_path / "firsthand.toml").mkdir()
    with pytest.raises(SettingsError, match=r"firsthand\.toml cannot be read"):
        load(tmp_path)


def test_an_unknown_argument_is_named(tmp_path):
    with pytest.raises(SettingsError, match="unknown setting 'stroe' in argument; did you mean store"):
        load(tmp_path, stroe="x")
    with pytest.raises(SettingsError, match=r"unknown setting 'hook' in argument; did you mean hooks\?"):
        load(tmp_path, hook="x")


@given(st.sampled_from(NAMES), st.text(max_size=12))
def test_any_value_from_the_environment_is_read_or_named(tmp_path_factory, name, value):
    folder = tmp_path_factory.mktemp("s")
    try:
        Settings.load(folder=folder, environ={f"FIRSTHAND_{name.upper()}": value})
    except SettingsError as error:
        assert f"FIRSTHAND_{name.upper()}" in str(error)
        assert "\n" not in str(error)


def test_an_unknown_variable_is_named_with_its_prefix(tmp_path):
    with pytest.raises(SettingsError, match=r"'FIRSTHAND_STORES' in environment; did you mean FIRSTHAND_STORE\?"):
        load(tmp_path, environ={"FIRSTHAND_STORES": "x"})


def test_a_header_in_the_settings_file_is_answered_with_what_to_do(tmp_path):
    with pytest.raises(SettingsError, match=r"firsthand\.toml has a table \[firsthand\]; drop the header"):
        load(tmp_path, toml="[firsthand]\nuser = 'a'")


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("30d", 720), ("8w", 1344), ("1y", 8760), ("1.5 d", 36), (" 2d ", 48)]
)
def test_a_time_that_transcripts_are_kept_for_is_read(text, hours):
    assert duration(Settings.load(environ={}, keep=text).keep) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["forever", "Forever", ""])
def test_transcripts_that_are_kept_forever_have_no_time(text):
    assert Settings.load(environ={}, keep=text).keep is None


@pytest.mark.parametrize("text", ["30", "0d", "thirty days", "30m", "-1d", 30])
def test_a_time_that_cannot_be_read_is_refused(text):
    with pytest.raises(SettingsError, match="it must be forever, or a time such as 12h, 30d, 8w or 1y"):
        Settings.load(environ={}, keep=text)


def test_settings_that_are_made_in_code_are_read_as_those_of_a_file() -> None:
    given: Any = {
        "capture_content": True,
        "coexist": "false",
        "request_usage": "no",
        "strict": None,
        "recall_top_k": "7",
        "redact": "ACME",
        "transcripts": Path("kept"),
    }
    made = Settings(**given)
    assert (made.capture_content, made.coexist, made.request_usage, made.strict) == ("SPAN_ONLY", False, False, False)
    assert (made.recall_top_k, made.redact, made.transcripts) == (7, ("ACME",), "kept")
    assert Settings(**{**given, "capture_content": "span_only"}) == made == replace(made)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("recall_top_k", "x", "setting recall_top_k from argument is 'x'; it must be a whole number over 0"),
        ("coexist", "maybe", "setting coexist from argument is 'maybe'; it must be true or false"),
        (
            "capture_content",
            "SPANS",
            (
                "setting capture_content from argument is 'SPANS'; it must be true, false or one of NO_CONTENT, "
                "SPAN_ONLY, EVENT_ONLY, SPAN_AND_EVENT"
            ),
        ),
        ("capture_contents", 1, "unknown setting 'capture_contents' in argument; did you mean capture_content?"),
        ("session", "s", "session is no setting but an argument of wrap() and app.wrap(); give it there"),
    ],
)
def test_wrong_settings_that_are_made_in_code_are_one_line(name: str, value: Any, line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**{name: value})
    assert str(caught.value) == line


def test_a_mapping_in_the_place_of_settings_is_answered_with_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"make Settings\(\*\*mapping\)"):
        Settings({"user": "a"})  # type: ignore[misc]


def test_settings_are_copied_and_pickled() -> None:
    made = Settings(user="a", redact=("b",))
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == made


def test_a_function_may_redact() -> None:
    assert Settings(redact=(str.upper,)).redact == (str.upper,)
