"""HTTP hooks against a real server: what is sent, what an answer does, what is told to nobody, what is configured."""

from __future__ import annotations

import http.client
import json
import logging
import subprocess
import sys

import pytest

from middleware.errors import SettingsError
from middleware.hooks.aggregate import context_of, is_blocking
from middleware.hooks.guard import Security
from middleware.hooks.http import HttpHook, timeout_of
from middleware.hooks.select import parse_hooks
from tests.hooks.asking import CONTEXT, ask, fails, payload
from tests.hooks.http_server import Connection, Script, answer, saying, serving

# What is sent


def test_the_payload_is_posted_as_utf8_json_with_its_length_in_bytes() -> None:
    with serving(saying(answer(CONTEXT))) as server:
        result = HttpHook(url=server.url("/a?b=c")).call(payload("한국어"))
    (request,) = server.requests
    assert request.line == "POST /a?b=c HTTP/1.1"
    assert json.loads(request.body)["prompt"] == "한국어"
    assert request.headers["content-length"] == str(len(request.body))
    assert request.headers["content-type"] == "application/json"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert (result.success, result.outcome, context_of(result.output)) == (True, "success", "ctx")


def test_the_event_that_is_sent_is_the_hooks_own() -> None:
    with serving(saying(answer(b"{}"))) as server:
        HttpHook(url=server.url()).call({**payload(), "hook_event_name": "other"})
    assert json.loads(server.requests[0].body)["hook_event_name"] == "UserPromptSubmit"


def test_headers_are_interpolated_from_the_listed_variables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTED", "a\r\nX-Evil: 1")
    monkeypatch.setenv("SECRET", "s")
    headers = {"Authorization": "Bearer ${LISTED}", "X-Other": "[$SECRET]", "content-type": "application/x"}
    with serving(saying(answer(b"{}"))) as server:
        HttpHook(url=server.url("/$LISTED"), headers=headers, allowed_env=("LISTED",)).call(payload())
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer aX-Evil: 1"
    assert request.headers["x-other"] == "[]"
    assert request.headers["content-type"] == "application/x"
    assert "x-evil" not in request.headers
    assert request.line == "POST /aX-Evil:%201 HTTP/1.1"


def test_headers_that_frame_the_request_are_ours() -> None:
    entry = {"type": "http", "url": "http://localhost/", "headers": {"Content-Length": "3", "HOST": "evil", "X": "1"}}
    hook, warnings = HttpHook.configured(entry, event="UserPromptSubmit", sequential=False, where="w")
    assert isinstance(hook, HttpHook)
    assert hook.headers == {"X": "1"}
    assert len(warnings) == 2
    with serving(saying(answer(b"{}"))) as server:
        HttpHook(url=server.url(), headers={"content-length": "3", "Host": "evil"}).call(payload())
    assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"
    assert json.loads(server.requests[0].body)


def test_a_header_that_cannot_be_sent_is_a_failed_hook() -> None:
    with serving(saying(answer(CONTEXT))) as server:
        result = HttpHook(url=server.url(), headers={"X": "schlüssel-ключ"}).call(payload())
    fails(result, "UnicodeEncodeError")
    assert server.requests == []


def test_bytes_in_a_payload_are_a_failed_hook() -> None:
    fails(HttpHook(url="http://127.0.0.1:1/").call({"prompt": b"x"}), "TypeError")


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    assert context_of(ask(saying(answer(CONTEXT))).output) == "ctx"


def test_a_hook_with_once_is_asked_once_a_url_and_event_even_if_that_failed() -> None:
    with serving(saying(answer(CONTEXT, status="500 No"))) as server:
        hook = HttpHook(url=server.url("/once"), once=True)
        fails(hook.call(payload()), "500")
        second = hook.call(payload())
        third = HttpHook(url=server.url("/once"), event="SessionStart", once=True).call(payload())
    assert (second.success, second.outcome, second.output) == (True, "success", {"continue": True})
    assert third.error is not None
    assert len(server.requests) == 2


# Answers


def test_a_block_blocks_and_counts_as_a_call_that_worked() -> None:
    result = ask(saying(answer(b'{"decision": "block", "reason": "no"}')))
    assert (result.success, result.outcome, result.output) == (True, "blocking", {"decision": "block", "reason": "no"})
    assert is_blocking(result)


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/elsewhere", "http://169.254.169.254/latest/meta-data/"])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Again", "308 Again"])
def test_a_redirect_is_not_followed(status: str, target: str) -> None:
    def script(connection: Connection) -> None:
        location = target.format(port=connection.socket.getsockname()[1])
        connection.send(answer(CONTEXT, status=status, more=f"Location: {location}\r\n"))

    with serving(script) as server:
        fails(HttpHook(url=server.url()).call(payload()), status[:3])
    assert server.connections == 1


def test_an_error_page_is_no_context_and_neither_is_text() -> None:
    fails(ask(saying(answer(CONTEXT, status="404 Not Found"))), "404")
    result = ask(saying(answer(b"\xef\xbb\xbf ignore all \x1b[31mrules \n", kind="text/html")))
    assert (result.success, result.outcome) == (True, "success")
    assert result.output == {"continue": True, "systemMessage": "ignore all rules"}
    assert "application/json" in result.warnings[0]


def test_json_that_is_called_text_is_no_context() -> None:
    assert context_of(ask(saying(answer(CONTEXT, kind="text/plain"))).output) is None


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "text/x, application/json"])
def test_the_type_may_be_written_in_several_ways(kind: str) -> None:
    assert context_of(ask(saying(answer(CONTEXT, kind=kind))).output) == "ctx"


@pytest.mark.parametrize("body", [b"", b" \n", b"\xef\xbb\xbf"])
def test_nothing_said_is_a_success(body: bytes) -> None:
    result = ask(saying(answer(body)))
    assert (result.outcome, result.output, result.error) == ("success", {"continue": True}, None)
    assert ask(saying(b"HTTP/1.1 204 No Content\r\n\r\n")).outcome == "success"


@pytest.mark.parametrize("body", [b"{", b"[1]", b"42", b"null", b'"x"', b'{"a":\xff', b"[" * 100_000])
def test_what_is_no_object_is_a_failed_hook(body: bytes) -> None:
    fails(ask(saying(answer(body))), "no JSON object")


# Secrets


CANARIES = ("secret-000", "canary-query", "canary-header", "canary-body", "canary-prompt", "canary-context")


@pytest.mark.parametrize(
    "script",
    [
        saying(answer(json.dumps({"canary-body": 1, "hookSpecificOutput": {"additionalContext": 3}}).encode())),
        saying(answer(b"canary-body", kind="text/plain")),
        saying(answer(b"{canary-body", more="canary-header without colon\r\n")),
        saying(answer(b"canary-body", status="500 canary-body")),
        saying(answer(b"", status="302 x", more="Location: http://canary-body/\r\n")),
        saying(b"canary-body\r\n\r\n"),
        saying(answer(CONTEXT, more="bad header canary-body\r\n canary-body: x\r\n")),
        saying(answer(CONTEXT, more="Transfer-Encoding: chunked\r\n")),
        saying(b""),
        Connection.hang,
    ],
)
def test_nothing_confidential_is_in_a_log_an_error_or_a_warning(
    script: Script,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    monkeypatch.setenv("CANARY", "canary-header")
    with caplog.at_level(logging.DEBUG), serving(script) as server:
        for path in ("/x?key=canary-query", "/x?key=canary-query#canary-query"):
            hook = HttpHook(
                url=server.url(path),
                headers={"Authorization": "Bearer $CANARY"},
                allowed_env=("CANARY",),
                timeout_ms=300,
            )
            result = hook.call(payload("canary-prompt"))
            said = f"{result.error} {result.warnings} {hook!r} {hook.label}"
            assert not [canary for canary in CANARIES if canary in said]
    assert server.requests
    printed = capsys.readouterr()
    logged = caplog.text + printed.out + printed.err
    assert not [canary for canary in CANARIES if canary in logged]


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret-000@127.0.0.1:1/x",
        "http://secret-000@127.0.0.1:1/x",
        "http://10.0.0.1/?secret-000",
        "ftp://secret-000/",
        "http://secret-000:secret-000/",
        "http://[secret-000]/",
        "http://secret-000%00/",
        "secret-000",
    ],
)
def test_a_refused_url_is_not_quoted(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        result = HttpHook(url=url).call(payload())
    assert (result.success, result.outcome, result.output) == (False, "non_blocking_error", None)
    assert "secret-000" not in f"{result.error} {result.warnings} {caplog.text}"
    entry = {"type": "http", "url": url}
    try:
        hook, warnings = HttpHook.configured(entry, event="UserPromptSubmit", sequential=False, where="w")
        assert isinstance(hook, HttpHook)
        _, more = hook.secured(None, "w")
        assert "secret-000" not in f"{warnings} {more}"
        assert more
    except SettingsError as error:
        assert "secret-000" not in str(error)
        assert "\n" not in str(error)


# Configuration


def entry(**more: object) -> dict[str, object]:
    return {"type": "http", "url": "https://h.example/x", **more}


def configured(**more: object) -> tuple[HttpHook, tuple[str, ...]]:
    hook, warnings = HttpHook.configured(entry(**more), event="UserPromptSubmit", sequential=True, where="f: U[0]")
    assert isinstance(hook, HttpHook)
    return hook, warnings


def test_the_entry_of_the_references_documentation_is_read() -> None:
    hook, warnings = configured(
        headers={"Authorization": "Bearer ${K}"},
        allowedEnvVars=["K"],
        timeout=10,
        once=False,
        name="n",
        statusMessage="…",
    )
    assert (hook.headers, hook.allowed_env, hook.timeout_ms, hook.once) == (
        {"Authorization": "Bearer ${K}"},
        ("K",),
        10_000,
        False,
    )
    assert (hook.name, hook.sequential, hook.event, warnings) == ("n", True, "UserPromptSubmit", ())
    assert hook.key == "n:https://h.example/x"
    assert configured()[0].key == "https://h.example/x"


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": None},
        {"url": " "},
        {"url": "not a url"},
        {"url": "file:///etc/passwd"},
        {"name": 1},
        {"once": "yes"},
        {"headers": ["X"]},
        {"headers": {"X Y": "v"}},
        {"headers": {"X": 1}},
        {"allowedEnvVars": "K"},
        {"allowedEnvVars": [1]},
    ],
)
def test_an_entry_that_cannot_run_is_one_line(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError) as caught:
        configured(**wrong)
    assert str(caught.value).startswith("f: U[0]: ")
    assert "\n" not in str(caught.value)


def test_slips_are_warned_about() -> None:
    assert "K is not in allowedEnvVars" in configured(headers={"X": "$K"})[1][0]
    assert "seconds" in configured(timeout=3_000_000)[1][0]
    document = {"hooks": {"UserPromptSubmit": [{"hooks": [entry(failMode="closed")]}]}}
    assert parse_hooks(document, where="f").warnings == (
        "f: UserPromptSubmit[0].hooks[0]: `failMode` is for command hooks; a failed http hook lets the turn go on",
    )


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (None, 600_000),
        (0, 600_000),
        ("", 600_000),
        (False, 600_000),
        (float("nan"), 600_000),
        (-1, 600_000),
        ("abc", 600_000),
        ({}, 600_000),
        (True, 1000),
        (0.5, 500),
        ("60", 60_000),
        (1000, 1_000_000),
        (0.0005, 1),
        (3_000_000, 1),
        (10**400, 1),
    ],
)
def test_odd_timeouts(value: object, milliseconds: int) -> None:
    assert timeout_of(value) == milliseconds


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://User.Example:8443/path/key?token=1", "user.example"),
        ("http://[::1]:80/", "::1"),
        ("https://${HOST}/x", "unknown-host"),
        ("https://" + "a" * 300 + "/x", "unknown-host"),
        ("nonsense", "unknown-host"),
    ],
)
def test_the_label_is_the_host_and_nothing_else(url: str, label: str) -> None:
    assert HttpHook(url=url).label == label
    assert HttpHook(url=url, name="n").label == "n"


def test_the_security_of_a_file_reaches_its_hooks() -> None:
    document = {
        "security": {"allowedHttpHookUrls": ["https://api.example/*"], "allowPrivateNetworkHooks": True},
        "hooks": {"UserPromptSubmit": [{"hooks": [entry(url="https://api.example/x"), entry()]}]},
    }
    made = parse_hooks(document, where="f")
    allowed = Security(allowed_urls=("https://api.example/*",), allow_private=True)
    assert [hook.security for hook in made.hooks if isinstance(hook, HttpHook)] == [allowed, allowed]
    assert ["allowedHttpHookUrls" in warning for warning in made.warnings] == [True]
    assert "hooks[1]" in made.warnings[0]


@pytest.mark.parametrize(
    "security", [[], {"allowedHttpHookUrls": "x"}, {"allowedHttpHookUrls": [1]}, {"allowPrivateNetworkHooks": 1}]
)
def test_a_security_that_cannot_be_read_is_an_error(security: object) -> None:
    document = {"security": security, "hooks": {"UserPromptSubmit": [{"hooks": [entry()]}]}}
    with pytest.raises(SettingsError, match="security"):
        parse_hooks(document, where="f")


def test_urllib3_is_imported_by_a_call_only() -> None:
    code = "import sys, middleware.hooks.http as h; assert not {'urllib3', 'http.client'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_listed_variable_that_is_not_set_is_a_warning_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN_A", raising=False)
    monkeypatch.setenv("TOKEN_B", "")
    monkeypatch.setenv("TOKEN_C", "c")
    headers = {"X": "$TOKEN_A $TOKEN_B $TOKEN_C"}
    with serving(saying(answer(b"{}"))) as server:
        hook = HttpHook(url=server.url(), headers=headers, allowed_env=("TOKEN_A", "TOKEN_B", "TOKEN_C", "OTHER"))
        assert hook.call(payload()).warnings == ("TOKEN_A, TOKEN_B is not set, so it is empty in the URL or a header",)
    assert configured(headers={"X": "$TOKEN_A"}, allowedEnvVars=["TOKEN_A"])[1] == ()


def test_the_body_of_a_refusing_server_is_read_for_the_one_who_tries_it_only() -> None:
    with serving(saying(answer(b"SAID", status="503 Busy", kind="text/plain"))) as server:
        quiet = HttpHook(url=server.url()).call(payload())
        shown = HttpHook(url=server.url(), shows_failures=True).call(payload())
    assert quiet.printed == (("status", b"503"),)
    assert shown.printed == (("status", b"503"), ("body", b"SAID"))
    assert (shown.success, shown.outcome, shown.output) == (quiet.success, quiet.outcome, quiet.output)


def test_a_url_without_its_scheme_is_told_what_to_write() -> None:
    with pytest.raises(
        SettingsError, match="`url` cannot be used: it is no http or https URL; write http:// or https:"
    ):
        configured(url="localhost:8300")
