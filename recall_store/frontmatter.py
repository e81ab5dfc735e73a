"""One memory as a Markdown file with a frontmatter, out and in: QwenLM/qwen-code's memory files. Pure.

    ---
    name: Release freeze
    description: when something is to be merged
    type: project
    ---

    Merges are frozen from 2026-03-05 on.

What that program's files do not hold (`id`, `author`, dates, `source`, `metadata`) stands beside it under its own name,
which it reads over. A name is taken as it stands, as that program takes it: `name: #1: fix` is one, valid YAML or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from .base import TYPES, Record
from .errors import RecordError
from .text import clean

__all__ = ["parse", "render", "shown_name"]

_FENCE: Final = "---"
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?:[ \t]+(.*))?")
_FREE: Final = ("name", "title", "description")
_OURS: Final = ("id", "author", "created_at", "expires_at", "source", "metadata", "text", "type", *_FREE)
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NAME_CHARS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A key of the frontmatter: the number of its line, what stands behind it, and the lines that go on with it."""

    line: int
    value: str
    more: tuple[str, ...] = ()


def render(record: Record) -> str:
    """The file of one memory; `parse` gives an equal one back."""
    header: list[tuple[str, Any]] = [("name", shown_name(record))]
    if shown_name(record) != record.title:
        header.append(("title", record.title))
    if record.description:
        header.append(("description", record.description))
    header.append(("type", record.type))
    header += [(name, getattr(record, name)) for name in ("id", "author") if getattr(record, name) is not None]
    for name in ("created_at", "expires_at"):
        moment = getattr(record, name)
        if moment is not None:
            header.append((name, moment.astimezone(UTC).isoformat()))
    header += [(name, value) for name in ("source", "metadata") if (value := getattr(record, name))]
    if _body(record.text) != record.text:
        # Blanks at its ends and the line ends of Windows are lost in a file that people edit.
        header.append(("text", record.text))
    lines = [f"{name}: {_scalar(value)}".rstrip() for name, value in header]
    return "\n".join([_FENCE, *lines, _FENCE, "", _body(record.text), ""])


def parse(content: str, *, written_at: datetime | None = None, source: Mapping[str, Any] | None = None) -> Record:
    """The memory that a file holds. `written_at` is its date where it says none, `source` that of a file without an id.

    Without a body the description is the memory. Keys that are none of ours are kept in `metadata`. Raises
    RecordError, which names the line and holds none of the text.
    """
    entries, body = _parted(content)
    said = {key: _value(key, entry) for key, entry in entries.items()}
    name, title, description = (_text(said.get(key), entries.get(key)) for key in _FREE)
    kind = said.get("type", _nested_type(said.get("metadata")))
    if not isinstance(kind, str) or kind not in TYPES:
        line = entries["type"].line if "type" in entries else 1
        raise RecordError(f"line {line}: type is none of {', '.join(sorted(TYPES))}; give one")
    others = {key: value for key, value in said.items() if key not in _OURS and value is not None}
    exact = said.get("text")
    text = exact if isinstance(exact, str) and _body(exact) == _body(body) else _body(body)
    text = text or description
    if "title" not in said or name != _shown(title, text):
        # Where both stand there and agree, the name is what `render` made of the title.
        title = name or title
    fields: dict[str, Any] = {
        "text": text,
        "title": title,
        "description": description,
        "type": kind,
        "author": _text(said.get("author", "import"), entries.get("author")),
        "source": said.get("source", dict(source or {}) if "id" not in said else {}),
        "metadata": {**others, **_mapping(said.get("metadata"), entries.get("metadata"))},
        "created_at": _moment(said, entries, "created_at") or written_at,
        "expires_at": _moment(said, entries, "expires_at"),
    }
    if said.get("id") is not None:
        fields["id"] = _text(said["id"], entries["id"])
    try:
        return Record(**fields)
    except RecordError as error:
        place = next((entries[key].line for key in entries if f"'{key}'" in str(error)), 1)
        raise RecordError(f"line {place}: {error}") from None


def shown_name(record: Record) -> str:
    """What a memory is called where it needs a name: its title, or the beginning of its text, in one line."""
    return _shown(record.title, record.text)


def _shown(title: str, text: str) -> str:
    line = " ".join((title.strip() or text).split())
    return line if len(line) <= _NAME_CHARS or title.strip() else f"{line[: _NAME_CHARS - 1].rstrip()}…"


def _body(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _parted(content: str) -> tuple[dict[str, _Entry], str]:
    lines = clean(content.removeprefix("\ufeff")).replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise RecordError("line 1: no frontmatter; a memory begins with --- and name, description and type below it")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise RecordError("line 1: the frontmatter has no end; close it with a line of ---")
    entries: dict[str, _Entry] = {}
    last = ""
    for number, line in enumerate(lines[1:end], 2):
        found = _KEY.fullmatch(line.rstrip())
        if found is not None:
            last = found[1]
            if last in entries:
                raise RecordError(f"line {number}: a key stands there twice; keep one")
            entries[last] = _Entry(line=number, value=(found[2] or "").strip())
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        elif last and line.startswith((" ", "\t", "- ")):
            entry = entries[last]
            entries[last] = _Entry(line=entry.line, value=entry.value, more=(*entry.more, line))
        else:
            raise RecordError(
                f"line {number}: no YAML: no `key: value`; correct it, or close the frontmatter with --- before it"
            )
    return entries, "\n".join(lines[end + 1 :])


def _value(key: str, entry: _Entry) -> Any:
    if key in _FREE and not entry.more and not entry.value.startswith(('"', "'", "|", ">")):
        return entry.value
    if not entry.more and entry.value.startswith(('"', "{", "[")):
        try:
            return json.loads(entry.value)
        except (ValueError, RecursionError):
            pass
    try:
        return _yaml("\n".join((f"k: {entry.value}", *entry.more)))
    except _NoYamlError as error:
        if key in _FREE and not entry.more:
            return entry.value
        # Blank lines and comments between are not among `more`: then the line is one before it.
        line = entry.line + min(error.line, len(entry.more))
        raise RecordError(f"line {line}: {key if key in _OURS else 'a value'} is no YAML; correct it") from None


class _NoYamlError(ValueError):
    """`line` is how many lines down the text the fault is."""

    def __init__(self, line: int) -> None:
        super().__init__("no YAML")
        self.line = line


def _yaml(text: str) -> Any:
    """The value of `k` in a YAML mapping; dates stay text. Raises ValueError, for aliases too: they can explode."""
    import yaml

    try:
        return yaml.load(text, _loader())["k"]  # noqa: S506  (a SafeLoader)
    except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise _NoYamlError(mark.line if mark is not None else 0) from None


@cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("an alias")
            return super().compose_node(parent, index)

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _text(value: Any, entry: _Entry | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return entry.value if entry is not None else str(value)
    raise RecordError(f"line {entry.line if entry is not None else 1}: a text is to stand there; quote it")


def _mapping(value: Any, entry: _Entry | None) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise RecordError(f"line {entry.line if entry is not None else 1}: metadata is no mapping of names to values")


def _nested_type(metadata: Any) -> Any:
    # Claude Code keeps the type there.
    return metadata.get("type") if isinstance(metadata, dict) else None


def _moment(said: Mapping[str, Any], entries: Mapping[str, _Entry], key: str) -> datetime | None:
    value = said.get(key)
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        # What has no time zone was written by hand.
        return moment if moment.utcoffset() is not None else moment.astimezone()
    except (TypeError, ValueError, OverflowError):
        raise RecordError(f"line {entries[key].line}: {key} is no date and time such as 2026-03-05T10:00:00Z") from None


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _is_plain(value):
        return value
    written = json.dumps(value if isinstance(value, str) else dict(value), ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _is_plain(text: str) -> bool:
    """True for a text that is itself in YAML, on one line and without quotes."""
    if not text or text != text.strip() or "\n" in text or "\r" in text:
        return False
    try:
        return bool(_yaml(f"k: {text}") == text)
    except ValueError:
        return False
