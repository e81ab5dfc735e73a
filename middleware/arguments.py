"""What the methods of `Middleware` are given, looked at before anything is done with it.

Each raises TypeError (ValueError where the type is right), one line that says what to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .hooks import FunctionHook, Hook
from .session import Session
from .settings import NAMES, Settings

__all__ = ["check_agent", "check_id", "check_user", "hooks_of", "no_settings", "providers_of", "settings_of"]

_PROVIDERS: Final = {
    "tracer_provider": ("get_tracer", "TracerProvider"),
    "meter_provider": ("get_meter", "MeterProvider"),
    "logger_provider": ("get_logger", "LoggerProvider"),
}


def no_settings(method: str, unknown: dict[str, Any]) -> None:
    """Refuse keyword arguments that `method` has not, most of all settings, which are given elsewhere."""
    for name in unknown:
        if name not in NAMES:
            raise TypeError(f"{method} got an unexpected keyword argument {name!r}")
        more = ", or a session's user with app.session(ID, user=...)" if name == "user" else ""
        raise TypeError(
            f"{method} takes no settings: give {name} to Middleware.from_settings() or middleware.wrap(){more}"
        )


def settings_of(settings: Any) -> Settings:
    """The settings that a `Middleware` was given; the defaults for None."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise TypeError(
            f"Middleware() takes a Settings, not {type(settings).__name__}; "
            "Middleware.from_settings(name=value, ...) takes them by name"
        )
    return settings


def hooks_of(hooks: Any) -> list[Hook]:
    """The hooks of a list of functions and `Hook` values."""
    is_list = isinstance(hooks, Sequence) and not isinstance(hooks, (str, bytes))
    if not is_list or not all(callable(hook) or hasattr(hook, "event") for hook in hooks):
        raise TypeError("hooks takes a list of functions or Hook values; a file is the setting hooks_file")
    return [FunctionHook(hook) if callable(hook) else hook for hook in hooks]


def providers_of(**providers: Any) -> dict[str, Any]:
    """The providers as they are, None or with the method that makes them one."""
    for name, provider in providers.items():
        method, wanted = _PROVIDERS[name]
        if provider is not None and not callable(getattr(provider, method, None)):
            raise TypeError(
                f"{name} is of type {type(provider).__name__}; give an OpenTelemetry {wanted}, "
                "or leave it out for the application's own"
            )
    return providers


def check_id(id: object) -> None:
    """A session's id, or None."""
    if id is not None and (not isinstance(id, str) or not id):
        raise TypeError(f"a session id is a non-empty string, not {id!r}")


def check_user(user: object) -> None:
    """Who a session is of, or None."""
    if user is not None and (not isinstance(user, str) or not user):
        raise TypeError(f"a user is a non-empty string, not {user!r}; leave it out for nobody")


def check_agent(parent: object, agent_type: object) -> None:
    """The session that a subagent's one belongs to, or None, and what kind of agent it is."""
    if parent is not None and not isinstance(parent, Session):
        raise TypeError(f"parent is {parent!r}; give the Session that app.session() or app.open() gave")
    if not isinstance(agent_type, str) or not agent_type:
        raise TypeError(f"an agent type is a non-empty string, not {agent_type!r}")
