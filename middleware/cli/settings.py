"""`firsthand settings`: every setting, its value, where it came from, what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import click

from ..settings import Settings
from .failures import Command

__all__ = ["MEANINGS", "settings"]

MEANINGS: Final[Mapping[str, str]] = {
    "hooks_file": "file of hooks: JSON in the shape of qwen-code's settings, or the same in TOML",
    "continuations": "hooks run on tool results and hook continuations too",
    "transcripts": "folder of transcripts, one JSONL file a session, mode 0600",
    "durability": "when a transcript is synced to disk: os, group (together, soon) or record (every one)",
    "keep": "how long a transcript is kept after its last record: 12h, 30d, 8w, 1y; for ever when not set",
    "store": "URL of the memory store",
    "embedder": "embedder of a new store; an old one keeps its own",
    "recall_top_k": "most memories that are sent along with a prompt",
    "recall_timeout": "seconds that recall may take; late means none",
    "remember": "after a turn of a Submission: store the user's words (user), or facts a model takes from it (model)",
    "user": "whose memories are recalled in calls that name no user",
    "namespace": "memories of this namespace instead of the user's own; a user is needed all the same",
    "placement": "injected text as a content part, or inline for servers that take string content only",
    "tool_placement": "after tool results: a user message of its own, or tool_part for servers that refuse one",
    "capture_content": "prompts and replies on spans, events, both or neither; true is SPAN_ONLY",
    "capture_injected": "export the injected text too, in an attribute of its own",
    "max_attribute_chars": "characters of one exported attribute",
    "max_context_chars": "characters of hook context; more is cut, and says so",
    "redact": "regular expressions whose matches are blotted out before export, beside the built-in rules",
    "coexist": "leave the spans of other instrumentors on: two a call",
    "request_usage": "ask for token counts in streams of chat.completions",
    "strict": "a transcript that cannot be written fails the call",
    "layout": "plain: <transcripts>/<session>.jsonl; qwen: <transcripts>/<project>/chats/<session>.jsonl",
    "prices": "TOML file of prices a model, for firsthand dashboard",
}


_WIDEST: Final = 100_000
_SECRET: Final = re.compile(r"([?&](?:password|sslpassword|oauth_client_secret)=)[^&]*")


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print a list of {name, value, default, source, meaning}.")
def settings(as_json: bool) -> None:
    """List every setting, its value, where it came from and what it means."""
    loaded = Settings.load()
    rows = [_row(loaded, item.name, item.default) for item in fields(Settings) if item.name in MEANINGS]
    if as_json:
        from .screen import print_json

        print_json(rows)
        return
    _print(rows)


def _row(loaded: Settings, name: str, default: object) -> dict[str, Any]:
    value = getattr(loaded, name)
    if name == "store" and isinstance(value, str):
        value = _without_password(value)
    return {
        "name": name,
        "value": value,
        "default": default,
        "source": loaded.sources.get(name, "default"),
        "meaning": MEANINGS[name],
    }


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    login, at, host = rest.rpartition("@")
    name, colon, _ = login.partition(":")
    shown = f"{scheme}{separator}{name}:***@{host}" if at and colon else url
    # libpq takes them as parameters, too.
    return _SECRET.sub(r"\1***", shown)


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from .screen import console, safe

    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    table.add_column("meaning", overflow="fold")
    for row in rows:
        given = row["source"] != "default"
        table.add_row(
            safe(row["name"]),
            safe(_shown(row["value"]), "bold green" if given else ""),
            safe(row["source"], "" if given else "dim"),
            safe(row["meaning"], "dim"),
        )
    if not out.is_terminal:
        # One line a setting, whatever its length: what reads a pipe looks for whole names and values.
        out.width = max(out.width, out.measure(table, options=out.options.update(max_width=_WIDEST)).maximum)
    out.print(table)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
