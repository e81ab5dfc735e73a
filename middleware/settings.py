"""Settings: the only reader of `FIRSTHAND_*`, `firsthand.toml` and `[tool.firsthand]`.

An argument beats the environment, which beats `firsthand.toml`, which beats `[tool.firsthand]` in
`pyproject.toml`, both in the working directory. An unknown name or a bad value is an error that names the
place; nothing is guessed.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

from .errors import SettingsError
from .parts import clean

__all__ = ["CAPTURE_VARIABLE", "Settings", "duration"]

CAPTURE_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PREFIX = "FIRSTHAND_"
_OTHER_VARIABLES = ("FIRSTHAND_EMBEDDING_MODEL",)
_PARAMETERS = ("hooks", "session", "tracer_provider", "meter_provider", "logger_provider")
_CAPTURE = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT")
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7, "y": 24 * 365}
_ON, _OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set; the README's table gives each in words.

    `recall_timeout` is in seconds, `keep` as `duration` reads it, sizes are in characters. `sources` says where each
    value that is no default came from. Construct with `Settings.load()`, which validates; values are valid once
    loaded.
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
    redact: tuple[str, ...] = ()
    coexist: bool = False
    request_usage: bool = False
    strict: bool = False
    layout: Literal["plain", "qwen"] = "plain"
    prices: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

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
        raw: dict[str, object] = {}
        sources: dict[str, str] = {}
        for source, values in (
            ("pyproject.toml [tool.firsthand]", _pyproject(folder / "pyproject.toml")),
            ("firsthand.toml", _toml(folder / "firsthand.toml")),
            ("environment", _environment(environ)),
            ("argument", {name: value for name, value in arguments.items() if value is not None}),
        ):
            for name, value in values.items():
                _known(name, source)
                raw[name] = value
                sources[name] = f"{_PREFIX}{name.upper()}" if source == "environment" else source
        if "capture_content" not in raw and CAPTURE_VARIABLE in environ:
            raw["capture_content"], sources["capture_content"] = environ[CAPTURE_VARIABLE], CAPTURE_VARIABLE
        read: dict[str, Any] = {name: _value(name, value, sources[name]) for name, value in raw.items()}
        return cls(**read, sources=sources)


NAMES: Final = tuple(item.name for item in fields(Settings) if item.name != "sources")


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
        if variable.startswith(_PREFIX) and variable not in _OTHER_VARIABLES:
            found[variable.removeprefix(_PREFIX).lower()] = value
    return found


def _known(name: str, source: str) -> None:
    if name in NAMES:
        return
    if name == "firsthand" and source == "firsthand.toml":
        raise SettingsError("firsthand.toml has a table [firsthand]; drop the header, the settings stand at the top")
    names = (*NAMES, *_PARAMETERS) if source == "argument" else NAMES
    near = difflib.get_close_matches(name, names, 1) or [
        known for known in names if len(name) > 2 and known.startswith(name)
    ]
    hint = f"did you mean {near[0]}?" if near else "the README's table lists the names"
    if source == "environment":
        name, hint = _PREFIX + name.upper(), hint.replace(near[0], _PREFIX + near[0].upper()) if near else hint
    raise SettingsError(f"unknown setting {name!r} in {source}; {hint}")


def _value(name: str, value: object, source: str) -> Any:
    read, wants = _READERS[name]
    try:
        return read(value)
    except (TypeError, ValueError, RecursionError, OverflowError, re.error):
        raise SettingsError(f"setting {name} from {source} is {_shown(value)}; it must be {wants}") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else str(value)
    if word not in _ON + _OFF:
        raise ValueError(word)
    return word in _ON


def _text(value: object) -> str | None:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError
    text = os.fspath(value)
    if not isinstance(text, str) or clean(text) != text:
        raise ValueError
    return text or None


def duration(text: str) -> timedelta:
    """Read "30d": a number of hours (h), days (d), weeks (w) or years (y) over 0. Raises ValueError."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ValueError(text)
    return timedelta(hours=float(found[1]) * _HOURS[found[2]])


def _keep(value: object) -> str | None:
    text = _text(value)
    if text is None or text.strip().lower() == "forever":
        return None
    duration(text)
    return text


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError
    number = float(value)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def _count(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError
    return int(number)


def _one_of(*choices: str) -> tuple[Callable[[object], str], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return read, f"one of {', '.join(choices)}"


def _capture(value: object) -> str:
    if isinstance(value, str) and value.strip().upper() in _CAPTURE:
        return value.strip().upper()
    return "SPAN_ONLY" if _flag(value) else "NO_CONTENT"


def _patterns(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else [value] if value else []
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise TypeError
    for item in value:
        re.compile(item)
    return tuple(value)


_TEXT = (_text, "text")
_FLAG = (_flag, "true or false")
_COUNT = (_count, "a whole number over 0")

_READERS: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    "hooks_file": (_text, "a path"),
    "continuations": _FLAG,
    "transcripts": (_text, "a folder"),
    "durability": _one_of("os", "group", "record"),
    "keep": (_keep, "forever, or a time such as 12h, 30d, 8w or 1y"),
    "store": (_text, "a store URL such as sqlite:///memories.db"),
    "embedder": (_text, "the name of an embedder, such as hash"),
    "recall_top_k": _COUNT,
    "recall_timeout": (_number, "seconds, over 0"),
    "remember": _one_of("off", "user", "model"),
    "user": _TEXT,
    "namespace": _TEXT,
    "placement": _one_of("part", "inline"),
    "tool_placement": _one_of("user", "tool_part"),
    "capture_content": (_capture, f"true, false or one of {', '.join(_CAPTURE)}"),
    "capture_injected": _FLAG,
    "max_attribute_chars": _COUNT,
    "max_context_chars": _COUNT,
    "redact": (_patterns, "a list of regular expressions"),
    "coexist": _FLAG,
    "request_usage": _FLAG,
    "strict": _FLAG,
    "layout": _one_of("plain", "qwen"),
    "prices": (_text, "a path"),
}
