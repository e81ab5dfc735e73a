"""What `Middleware` and its methods are given wrongly is refused in one line that says what to give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import TracerProvider

from middleware import Middleware, SettingsError, wrap
from middleware.testing import Captured, LocalModel, capture

HI: Any = [{"role": "user", "content": "hi"}]
SESSION = "; give a session id, a non-empty string, or what app.open() gave"


@pytest.fixture
def app() -> Iterator[Any]:
    with Middleware() as made:
        yield made


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capture() as made:
        yield made


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda app, client: app.wrap(client, session=42), f"session is 42{SESSION}"),
        (lambda app, client: app.wrap(client, session=b"x"), f"session is b'x'{SESSION}"),
        (lambda app, client: app.wrap(client, session=["a"]), f"session is ['a']{SESSION}"),
        (lambda app, client: wrap(client, session=cast("Any", 42)), f"session is 42{SESSION}"),
        (lambda app, client: app.wrap_call(lambda messages: 1, session=42), f"session is 42{SESSION}"),
        (lambda app, client: app.wrap(client, session=""), "a session id is a non-empty string, not ''"),
        (lambda app, client: app.open(7), "a session id is a non-empty string, not 7"),
        (lambda app, client: app.open("a", user=5), "a user is a non-empty string, not 5; leave it out for nobody"),
        (lambda app, client: app.open("a", user=""), "a user is a non-empty string, not ''; leave it out for nobody"),
        (
            lambda app, client: app.open("a", parent="b"),
            "parent is 'b'; give the Session that app.session() or app.open() gave",
        ),
        (lambda app, client: app.open("a", agent_type=3), "an agent type is a non-empty string, not 3"),
        (lambda app, client: app.wrap_call(lambda messages: 1, provider=3), "a provider is a non-empty string, not 3"),
        (
            lambda app, client: app.wrap_call("litellm"),
            "wrap_call() takes a function, not 'litellm'; a client is for app.wrap()",
        ),
        (
            lambda app, client: app.wrap(client, capture_content=True),
            "app.wrap() takes no settings: give capture_content to Middleware.from_settings() or middleware.wrap()",
        ),
        (
            lambda app, client: app.wrap(client, user="ann"),
            (
                "app.wrap() takes no settings: give user to Middleware.from_settings() or middleware.wrap(), or a "
                "session's user with app.session(ID, user=...)"
            ),
        ),
        (lambda app, client: app.wrap(client, sesion="a"), "app.wrap() got an unexpected keyword argument 'sesion'"),
    ],
)
def test_a_wrong_argument_is_a_type_error_of_one_line(app: Any, call: Callable[[Any, Any], object], line: str) -> None:
    with LocalModel().openai() as client, pytest.raises(TypeError) as caught:
        call(app, client)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (
            lambda: Middleware({"capture_content": True}),  # type: ignore[arg-type]
            "Middleware() takes a Settings, not dict; Middleware.from_settings(name=value, ...) takes them by name",
        ),
        (
            lambda: Middleware(capture_content=True),  # type: ignore[arg-type]
            "Middleware() takes no settings: give capture_content to Middleware.from_settings() or middleware.wrap()",
        ),
        (
            lambda: Middleware(tracer_provider="x"),  # type: ignore[arg-type]
            (
                "tracer_provider is of type str; give an OpenTelemetry TracerProvider, or leave it out for "
                "the application's own"
            ),
        ),
        (
            lambda: Middleware.from_settings(meter_provider=TracerProvider(shutdown_on_exit=False)),  # type: ignore[arg-type]
            (
                "meter_provider is of type TracerProvider; give an OpenTelemetry MeterProvider, or leave it out for "
                "the application's own"
            ),
        ),
        (
            lambda: Middleware(hooks=[5]),  # type: ignore[list-item]
            "hooks takes a list of functions or Hook values; a file is the setting hooks_file",
        ),
    ],
)
def test_what_no_middleware_is_made_of_is_refused_with_what_to_give(make: Callable[[], object], line: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == line


def test_a_session_among_the_settings_is_answered_with_where_it_goes() -> None:
    with pytest.raises(SettingsError, match=r"^session is no setting but an argument of wrap\(\) and app\.wrap\(\)"):
        Middleware.from_settings(session="a")


def test_a_function_is_decorated_with_options_and_belongs_to_a_session_by_its_id(captured: Captured) -> None:
    app = Middleware(**captured.providers)

    @app.wrap_call(provider="acme", session="conv")
    def ask(messages: Any, model: str = "m") -> dict[str, Any]:
        """Ask."""
        return {"model": model, "choices": [{"index": 0, "message": {"role": "assistant", "content": "fine"}}]}

    assert (ask(HI)["model"], ask.__doc__) == ("m", "Ask.")
    [span] = captured.spans_named("chat")
    assert span.attributes is not None
    assert (span.attributes["gen_ai.provider.name"], span.attributes["gen_ai.conversation.id"]) == ("acme", "conv")
