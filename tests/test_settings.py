"""Settings come from four places, and a wrong one is named."""

from datetime import timedelta

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


def test_redaction_patterns_may_be_one_or_a_json_list_in_the_environment(tmp_path):
    assert load(tmp_path, environ={"FIRSTHAND_REDACT": r"tok-\d+"}).redact == (r"tok-\d+",)
    assert load(tmp_path, environ={"FIRSTHAND_REDACT": '["a", "b"]'}).redact == ("a", "b")


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
        ("redact = ['(']", "setting redact from firsthand.toml is ['(']; it must be a list of regular expressions"),
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
