"""Settings: the only reader of `FIRSTHAND_*`, `firsthand.toml` and `[tool.firsthand]`.

An argument beats the environment, which beats `firsthand.toml`, which beats `[tool.firsthand]` in
`pyproject.toml`, both in the working directory. An unknown name or a bad value is an error that names the
place; nothing is guessed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import SettingsError
from .values import NAMES, PREFIX, checked_name, duration, read

__all__ = ["CAPTURE_VARIABLE", "NAMES", "Settings", "duration"]

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_OTHER_VARIABLES = ("FIRSTHAND_EMBEDDING_MODEL",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set; the README's table gives each in words.

    Takes what the settings files and the environment may say as well, and holds what it means: True for
    `capture_content` is SPAN_ONLY, "false" for a flag is False, None is the default. Raises `SettingsError` for any
    other name and value. `recall_timeout` is in seconds, `keep` as `duration` reads it, sizes are in characters.
    `sources` says where each value that is no default came from, when `load` found it.
    """

    hooks_file: str | None = None
    continuations: bool = True
    transcripts: str | None = None
    durability: Literal["os", "group", "record"] = "group"
    keep: str | None = None
    store: str | None = None
    embedder: str | None = None
    recall_top_k: int = 5
    recall_timeout: float = 0.1
    remember: Literal["off", "user", "model"] = "off"
    user: str | None = None
    namespace: str | None = None
    placement: Literal["part", "inline"] = "part"
    tool_placement: Literal["user", "tool_part"] = "user"
    capture_content: Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"] = "NO_CONTENT"
    capture_injected: bool = False
    max_attribute_chars: int = 65_536
    max_context_chars: int = 100_000
    redact: tuple[str | Callable[[str], str], ...] = ()
    coexist: bool = False
    request_usage: bool = False
    strict: bool = False
    layout: Literal["plain", "qwen"] = "plain"
    prices: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    # A dataclass would tell of an unknown name by a TypeError of its own, with no word of what was meant.
    def __new__(cls, *args: object, **given: object) -> Settings:
        if args:
            raise TypeError("Settings() takes settings by name; of a mapping make Settings(**mapping)")
        for name in given:
            if name != "sources":
                checked_name(name, "argument")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is None:
                object.__setattr__(self, name, default)
            elif value is not default:
                object.__setattr__(self, name, read(name, value, self.sources.get(name, "argument")))

    @classmethod
    def load(
        cls,
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
        **arguments: object,
    ) -> Settings:
        """Read all sources; `arguments` that are None count as not given. Raises `SettingsError`."""
        folder = _here() if folder is None else folder
        environ = os.environ if environ is None else environ
        raw: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for source, values in (
            ("pyproject.toml [tool.firsthand]", _pyproject(folder / "pyproject.toml")),
            ("firsthand.toml", _toml(folder / "firsthand.toml")),
            ("environment", _environment(environ)),
            ("argument", {name: value for name, value in arguments.items() if value is not None}),
        ):
            for name, value in values.items():
                checked_name(name, source)
                raw[name] = value
                sources[name] = f"{PREFIX}{name.upper()}" if source == "environment" else source
        if "capture_content" not in raw and CAPTURE_VARIABLE in environ:
            raw["capture_content"], sources["capture_content"] = environ[CAPTURE_VARIABLE], CAPTURE_VARIABLE
        return cls(**raw, sources=sources)


_DEFAULTS: Final = {item.name: item.default for item in fields(Settings) if item.name != "sources"}


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        # The working directory is gone, and with it whatever settings were in it.
        return Path()


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SettingsError(f"settings file {path} cannot be read: {why}; check what it is and who may") from None
    except RecursionError:
        raise SettingsError(f"settings file {path} cannot be read: it is nested too deeply; correct it") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {path} cannot be read: {error}; correct that line") from None


def _pyproject(path: Path) -> dict[str, object]:
    tool = _toml(path).get("tool")
    table = tool.get("firsthand", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [tool.firsthand] is no table; write settings as `name = value` below it")
    return table


def _environment(environ: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for variable, value in environ.items():
        if variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            found[variable.removeprefix(PREFIX).lower()] = value
    return found
