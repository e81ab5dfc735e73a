"""Secrets leave content before it is exported, and what cannot be redacted is not exported."""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.telemetry import Options, guard, redaction
from middleware.telemetry.content import Writer
from middleware.telemetry.redaction import redactor
from middleware.testing import Captured, capture
from recall_store.secrets import find_secret

from .taps import Tap, call, request, text

TOKEN = "ghp_" + "a1B2" * 9
SECRETS = [
    TOKEN,
    "AKIAIOSFODNN7EXAMPLE",
    "sk-ant-api03-" + "a1B2c3D4" * 5,
    "sk-proj-" + "a1B2c3D4" * 5,
    "xoxb-123456789012-abcdefghij",
    "postgresql://alice:hunter22@db/m",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh",
    "AKCp5bueTFpfypEqQbGJPp7eHFi28fBivfWczrjbPb9erDff9LbXZbj6UsRExVXA8asWGc9fM",
    "//registry.example/:_authToken=npm_abcdefgh",
    "123456789:" + "a1B2c" * 7,
    "0123456789abcdef0123456789abcdef-us12",
    "cloudant_password='abcdefghijklmnopqrstuvwx'",
    "softlayer_api_key = " + "0123456789abcdef" * 4,
    "hf_" + "abcdefghijklmnopqrstuvwxyzabcd",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_the_store_refuses_is_redacted_anywhere_in_a_text(secret: str) -> None:
    redact = redactor()
    for said in (f"{secret}", f"é 漢字 {'prose and so on ' * 200}\n{secret}\nthanks", f"use {secret} and {secret} !"):
        assert find_secret(said) is not None, "the sample is no secret"
        assert find_secret(redact(said)) is None
        assert "[redacted: " in redact(said)


@pytest.mark.parametrize("beside", ["鍵は{}です", "ключ{}и", "clé{}", "KEY_{}", '{{"k":"a\\n{}"}}'])
@pytest.mark.parametrize(
    "secret", [TOKEN, "sk-ant-api03-" + "a1B2c3D4" * 5, "AKCp1234567890", "glpat-" + "a1B2c3D4e5" * 2]
)
def test_so_is_what_stands_directly_beside_a_letter_of_any_script(secret: str, beside: str) -> None:
    before, after = beside.replace("{{", "{").replace("}}", "}").split("{}")
    found = redactor()(beside.format(secret))
    assert secret not in found and found.startswith(f"{before}[redacted: ") and found.endswith(f"]{after}")


def test_a_private_key_goes_with_its_body() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"
    assert redactor()(f"a {key} b") == "a [redacted: private-key] b"
    assert redactor()(f"a {key[:50]}") == "a [redacted: private-key]"


@pytest.mark.parametrize(
    "said",
    ["", "hello", "see https://example.test/a/b?c=1", "x" * 500, "def explicit_bucket_boundaries_advisory(): ..."],
)
def test_an_ordinary_text_is_itself(said: str) -> None:
    assert redactor()(said) == said


def test_a_secret_is_in_no_content_attribute() -> None:
    tap = Tap(Options(capture="SPAN_AND_EVENT"))
    call(tap, request(text("user", f"my token is {TOKEN}"), system=f"key {TOKEN}"), submitted_prompt=TOKEN)
    assert TOKEN not in tap.everything()


def test_a_secret_across_the_cut_is_redacted_too() -> None:
    tap = Tap(Options(capture="SPAN_ONLY", max_attribute_chars=100))
    call(tap, request(text("user", "x " * 45 + TOKEN + " y" * 500)))
    assert "ghp_" not in tap.everything()


def jwt(length: int) -> str:
    head, payload = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1", "email": "bob@example.com", "pad": "x" * length})
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, payload, {}))


@pytest.mark.parametrize("length", [600, 4000])
def test_a_long_token_across_the_cut_is_redacted_whole(length: int) -> None:
    token = jwt(length)
    assert redactor()(f"a {token}").startswith("a [redacted: json-web-token]")
    found = Writer(limit=300, redact=redactor()).text("a " * 20 + token)
    assert found.startswith("a " * 20 + "[redacted") and token[:12] not in found


def test_a_users_pattern_sees_what_is_a_thousand_characters_past_the_cut() -> None:
    writer = Writer(limit=300, redact=redactor(("BEGIN.*?END",)))
    assert "SECRET" not in writer.text("a " * 20 + "BEGIN SECRET" + "x" * 900 + "END" + "y" * 500)


def test_what_redaction_takes_away_draws_no_half_of_a_secret_in() -> None:
    writer = Writer(limit=2000, redact=redactor((r"\[hidden\]h*",)))
    said = "[hidden]" + "h" * 1492 + " " + "b " * 751 + " "
    assert writer.text(said + TOKEN + " y" * 500) == "[redacted] " + "b " * 249 + "b [cut: 510 of 4044 characters kept]"
    assert writer.text("a" * 3000) == "a" * 2000 + " [cut: 2000 of 3000 characters kept]"


def test_a_stop_sequence_is_exported_without_secrets_at_every_setting() -> None:
    for options in (Options(), Options(capture="SPAN_ONLY")):
        tap = Tap(options)
        call(tap, request(text("user", "q"), options={"stop_sequences": ("END", f"x {TOKEN}", TOKEN * 9, "\ud800")}))
        assert tap.attributes("chat gpt-5")["gen_ai.request.stop_sequences"] == (
            "END",
            "x [redacted: github-token]",
            "[redacted: github-token]" * 9,
            "\ufffd",
        )


def test_stop_sequences_that_cannot_be_redacted_are_blotted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    monkeypatch.setattr(redaction, "_built_in", lambda: broken)
    tap = Tap(Options())
    call(tap, request(text("user", "q"), options={"stop_sequences": ("END", TOKEN)}))
    assert tap.attributes("chat gpt-5")["gen_ai.request.stop_sequences"] == ("END", "[redacted]")


def test_the_users_own_patterns_and_functions_are_applied() -> None:
    tap = Tap(Options(capture="SPAN_ONLY", redact=(r"\bticket-\d+", str.upper)))
    call(tap, request(text("user", "see ticket-42")))
    found = tap.content("chat gpt-5", "gen_ai.input.messages")[0]["parts"][0]["content"]
    assert found == "SEE [REDACTED]"


def broken(text: str) -> str:
    raise ValueError(f"cannot mask {text}")


@pytest.mark.parametrize("rule", ["(unclosed", broken, lambda text: None])
def test_a_rule_that_fails_drops_the_content_and_says_so_without_it(
    rule: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "strict", False)
    tap = Tap(Options(capture="SPAN_AND_EVENT", redact=(broken,)))  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        call(tap, request(text("user", "CANARY-7f3a")), submitted_prompt="CANARY-7f3a")
        call(tap, request(text("user", "CANARY-7f3a")))
    assert "CANARY" not in tap.everything() and "CANARY" not in caplog.text
    for span in tap.spans:
        if span.name == "chat gpt-5":
            assert span.attributes is not None
            assert span.attributes["firsthand.content.dropped"] is True
            assert span.attributes["gen_ai.usage.input_tokens"] == 25


def ask(captured: Captured, **settings: Any) -> str:
    """What is exported of a call with a ticket number and a token in it, made with these settings."""
    app = Middleware.from_settings(
        capture_content="SPAN_AND_EVENT", hooks=[lambda payload: "branch=main"], **settings, **captured.providers
    )
    messages: Any = [{"role": "user", "content": f"see ticket-42 with {TOKEN}"}]
    with app, captured.model.openai() as client:
        said = app.wrap(client).chat.completions.create(model="m", messages=messages).choices[0].message.content
    assert said == "it is ticket-43"
    assert captured.requests[0]["messages"][0]["content"][0]["text"] == messages[0]["content"]
    return captured.exported()


@pytest.mark.parametrize("source", ["argument", "environment", "file"])
def test_the_users_patterns_in_the_settings_reach_content_both_ways(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if source == "environment":
        monkeypatch.setenv("FIRSTHAND_REDACT", r'["\\bticket-\\d+"]')
    elif source == "file":
        (tmp_path / "firsthand.toml").write_text(r"redact = ['\bticket-\d+']")
    with capture("it is ticket-43") as captured:
        exported = ask(captured, **({"redact": [r"\bticket-\d+"]} if source == "argument" else {}))
    assert "ticket-4" not in exported and TOKEN not in exported
    assert "see [redacted] with [redacted: " in exported and "it is [redacted]" in exported


def test_a_rule_that_fails_leaves_the_call_as_it_is_and_exports_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", False)
    with capture("it is ticket-43") as captured:
        given = Settings(capture_content="SPAN_AND_EVENT", redact=(broken,))
        messages: Any = [{"role": "user", "content": "see ticket-42"}]
        with Middleware(given, **captured.providers) as app, captured.model.openai() as client:
            reply = app.wrap(client).chat.completions.create(model="m", messages=messages)
            *_, _ = app.wrap(client).chat.completions.create(model="m", messages=messages, stream=True)
        assert reply.choices[0].message.content == "it is ticket-43"
        assert "ticket" not in captured.exported()
        for span in captured.spans_named("chat"):
            assert span.attributes is not None and span.attributes["firsthand.content.dropped"] is True
