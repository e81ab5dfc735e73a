"""`firsthand settings`, and the README's table of settings."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from middleware.cli.settings import MEANINGS
from middleware.settings import Settings

from .conftest import ROOT, Run

NAMES = [item.name for item in fields(Settings) if item.name != "sources"]


def test_every_setting_has_a_meaning() -> None:
    assert list(MEANINGS) == NAMES


def test_a_value_says_where_it_came_from(run: Run, place: Path, monkeypatch) -> None:
    (place / "firsthand.toml").write_text('user = "ada"\nstrict = true\n')
    monkeypatch.setenv("FIRSTHAND_USER", "bob")
    rows = {row["name"]: row for row in json.loads(run("settings", "--json").stdout)}
    assert (rows["user"]["value"], rows["user"]["source"]) == ("bob", "FIRSTHAND_USER")
    assert (rows["strict"]["value"], rows["strict"]["source"]) == (True, "firsthand.toml")
    assert (rows["layout"]["value"], rows["layout"]["source"]) == ("plain", "default")


def test_json_has_every_setting(run: Run) -> None:
    rows = json.loads(run("settings", "--json").stdout)
    assert [row["name"] for row in rows] == NAMES
    assert list(rows[0]) == ["name", "value", "default", "source", "meaning"]


def test_the_table_has_every_setting(run: Run) -> None:
    out = run("settings").stdout
    assert [name for name in NAMES if f"\n{name} " not in out] == []


def test_what_is_piped_is_one_whole_line_a_setting(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "sqlite:///" + "folder/" * 40 + "memories.db"
    monkeypatch.setenv("FIRSTHAND_STORE", long)
    monkeypatch.setenv("COLUMNS", "40")
    lines = run("settings").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == NAMES
    assert [line.split()[1:3] for line in lines if line.startswith("store ")] == [[long, "FIRSTHAND_STORE"]]


def test_a_password_is_not_shown(run: Run, monkeypatch) -> None:
    monkeypatch.setenv("FIRSTHAND_STORE", "postgresql://ada:hunter2@db/memories")
    assert "hunter2" not in run("settings").stdout
    [row] = [row for row in json.loads(run("settings", "--json").stdout) if row["name"] == "store"]
    assert row["value"] == "postgresql://ada:***@db/memories"
    monkeypatch.setenv("FIRSTHAND_STORE", "postgresql://ada@db/memories?password=hunter2&schema=team")
    [row] = [row for row in json.loads(run("settings", "--json").stdout) if row["name"] == "store"]
    assert row["value"] == "postgresql://ada@db/memories?password=***&schema=team"


def test_the_readmes_table_has_the_names_and_defaults() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("| setting | default |")[2].partition("\n\n")[0]
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))
    words = {None: "none", True: "true", False: "false", (): "none"}
    assert said == {
        item.name: words[item.default] if item.default in (None, True, False, ()) else str(item.default)
        for item in fields(Settings)
        if item.name != "sources"
    }
