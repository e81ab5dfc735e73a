"""`firsthand demo`: the main job on real parts, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from middleware.cli.demo_model import answer

from .conftest import ROOT, Spawn
from .loopback import LoopbackModel

TYPED = [
    "why is CI red?",
    "rerun the test that fails on brontes",
    "which runner has more memory than that one?",
]
HOOK = "<qwen:user-prompt-submit-context>"
MEMORY = "<firsthand:recalled-memory>"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `demo --json` prints, run once, where its settings must not count."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "firsthand.toml").write_text("this is no TOML")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "middleware", "demo", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(folder),
            "OTEL_SDK_DISABLED": "true",
            "http_proxy": "http://127.0.0.1:9",
        },
    )
    assert (result.returncode, result.stderr) == (0, "")
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def sources(turn: dict[str, Any]) -> list[str]:
    texts = [part["text"] for part in turn["sent_parts"]]
    return ["hook" if text.startswith(HOOK) else "memory" if text.startswith(MEMORY) else text for text in texts]


def test_json_has_exactly_the_promised_keys(shown: dict[str, Any]) -> None:
    assert list(shown) == ["turns", "transcript"]
    assert [list(turn) for turn in shown["turns"]] == [
        ["typed", "sent_parts", "span_prompt", "recall_query", "recalled", "displayed", "origin", "trace_id"]
    ] * 3


@pytest.mark.parametrize("key", ["typed", "span_prompt", "recall_query", "displayed"])
def test_everything_that_remembers_has_what_was_typed(shown: dict[str, Any], key: str) -> None:
    assert [turn[key] for turn in shown["turns"]] == TYPED


def test_the_model_received_it_with_tagged_parts_after_it(shown: dict[str, Any]) -> None:
    assert [sources(turn) for turn in shown["turns"]] == [
        ["why is CI red?", "memory", "hook"],
        ["rerun the test that fails on brontes", "hook"],
        ["which runner has more memory than that one?", "memory", "hook"],
    ]


def test_a_tag_in_the_hooks_output_is_escaped(shown: dict[str, Any]) -> None:
    assert "branch: fix/upload &lt;2 ahead of main&gt;" in shown["turns"][0]["sent_parts"][-1]["text"]


def test_recall_found_what_was_seeded_and_once(shown: dict[str, Any]) -> None:
    assert [turn["recalled"] for turn in shown["turns"]] == [
        ["The CI runner is called brontes and has 4 GB of memory."],
        [],
        ["The runner argus has more memory: 64 GB, ask Priya first."],
    ]


def test_the_traces_are_the_transcripts(shown: dict[str, Any]) -> None:
    records = [json.loads(line) for line in Path(shown["transcript"]).read_text().splitlines()]
    assert [turn["origin"] for turn in shown["turns"]] == ["user_query"] * 3
    assert [turn["trace_id"] for turn in shown["turns"]] == [
        record["traceId"] for record in records if record["type"] == "user"
    ]


def test_one_turn_is_a_tool_loop(shown: dict[str, Any]) -> None:
    records = [json.loads(line) for line in Path(shown["transcript"]).read_text().splitlines()]
    assert [record["type"] for record in records] == [
        "user", "assistant", "user", "assistant", "tool_result", "assistant", "user", "assistant"
    ]  # fmt: skip


def test_its_screen_fits_80_columns_without_colour_when_piped(spawn: Spawn) -> None:
    result = spawn("demo", COLUMNS="80")
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    # The temporary folder of a test is a long way down.
    assert max(len(line) for line in result.stdout.splitlines() if "/demo.jsonl" not in line) == 80
    assert "They are in 0 of " in result.stdout


def test_a_folded_line_keeps_its_bar(spawn: Spawn) -> None:
    left = [line[2:39].strip() for line in spawn("demo", COLUMNS="80").stdout.splitlines() if line.startswith("│")]
    start = left.index(f"| {MEMORY}")
    assert left[start : start + 5] == [
        "| <firsthand:recalled-memory>",
        "| Background recalled from earlier",
        "| conversations; it may be out of",
        "| date and is not part of the",
        "| request.",
    ]


def test_it_says_why_nothing_new_is_recalled(spawn: Spawn) -> None:
    out = spawn("demo", COLUMNS="200").stdout
    assert out.count("recalled     nothing new: the memory is in this request already ") == 1
    assert "recalled     nothing " in out
    assert out.count("recalled     nothing ") == 1


def test_its_screen_has_both_sides_at_200_columns(spawn: Spawn) -> None:
    lines = spawn("demo", COLUMNS="200").stdout.splitlines()
    [both] = [line for line in lines if "recall asked why is CI red?" in line]
    assert "| <firsthand:recalled-memory>" in both


def test_the_transcript_that_it_names_can_be_shown(spawn: Spawn) -> None:
    command = spawn("demo", COLUMNS="80").stdout.partition("resume it\n")[2].partition("start\n")[0]
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"session demo, user ada\n\n> why is CI red?\n  | {MEMORY}\n")


def test_it_runs_against_a_real_server(spawn: Spawn) -> None:
    with LoopbackModel(answer) as server:
        result = spawn("demo", "--json", "--base-url", server.url, "--model", "big", OPENAI_API_KEY="k")
    assert (result.returncode, result.stderr) == (0, "")
    assert [turn["span_prompt"] for turn in json.loads(result.stdout)["turns"]] == TYPED
    assert [(body["model"], len(body["messages"])) for body in server.bodies] == [
        ("big", 2), ("big", 4), ("big", 7), ("big", 9)
    ]  # fmt: skip


def test_a_server_needs_a_key(spawn: Spawn) -> None:
    result = spawn("demo", "--model", "big")
    assert result.returncode == 2
    assert result.stderr.startswith("firsthand: a real server needs a key: set OPENAI_API_KEY")


def test_a_server_that_is_not_there_is_one_line_and_leaves_no_files(spawn: Spawn, tmp_path: Path) -> None:
    result = spawn("demo", "--model", "big", "--base-url", "http://127.0.0.1:9/v1", OPENAI_API_KEY="k")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "firsthand: the server did not answer: Connection error.; check --base-url, --model and OPENAI_API_KEY\n"
    )
    assert list(tmp_path.glob("firsthand-demo-*")) == []


def test_a_picture_that_cannot_be_saved_is_told_before_anything_is_done(spawn: Spawn, place: Path) -> None:
    result = spawn("demo", "--svg", "nowhere/x.svg")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "firsthand: nowhere/x.svg: No such file or directory; check the path and its permissions\n"


def test_a_picture_that_was_not_made_leaves_what_there_was(spawn: Spawn, place: Path) -> None:
    (place / "there.svg").write_text("mine")
    (place / "link.svg").symlink_to("new.svg")
    for name in ("there.svg", "link.svg", "other.svg"):
        asked = ("demo", "--svg", name, "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
        assert spawn(*asked, OPENAI_API_KEY="k").returncode == 1
    assert sorted(path.name for path in place.glob("*.svg")) == ["link.svg", "there.svg"]
    assert (place / "there.svg").read_text() == "mine"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_picture_fetches_nothing(spawn: Spawn, place: Path, more: list[str]) -> None:
    result = spawn("demo", "--svg", "demo.svg", *more)
    assert (result.returncode, result.stderr) == (0, "")
    assert not more or len(json.loads(result.stdout)["turns"]) == 3
    svg = (place / "demo.svg").read_text()
    assert svg.startswith("<svg ")
    assert "url(http" not in svg
    assert "recalled-memory" in svg


def test_its_sides_are_stacked_on_a_narrow_screen(spawn: Spawn) -> None:
    result = spawn("demo", COLUMNS="50")
    assert "│ recall asked why is CI red?                    │\n" in result.stdout
    assert result.stdout.startswith("Above: what the model received. Below: what ")
