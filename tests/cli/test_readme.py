"""The README's quickstart works as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from opentelemetry.metrics import Counter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from middleware.cli.demo_model import answer
from middleware.hooks import load_hooks
from middleware.telemetry import names
from middleware.telemetry.metrics import instruments

from .conftest import ROOT
from .loopback import LoopbackModel

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def ran(code: str, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program, run in the folder `place`; a warning is an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )


def test_the_quickstart_runs_and_the_model_gets_the_tagged_part(place: Path) -> None:
    with LoopbackModel(answer) as server:
        result = ran(BLOCKS[0], place, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="k")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "your hook says: CI run 4812: red, test_upload failed.\n"
    assert server.bodies[0]["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "why is CI red?"},
                {
                    "type": "text",
                    "text": "<qwen:user-prompt-submit-context>\nCI run 4812: red, test_upload failed\n"
                    "</qwen:user-prompt-submit-context>",
                },
            ],
        }
    ]
    [transcript] = (place / "transcripts").iterdir()
    assert '"displayText":"why is CI red?"' in transcript.read_text(encoding="utf-8").replace('": "', '":"')


def test_the_second_block_runs(place: Path) -> None:
    result = ran(BLOCKS[1], place, ANTHROPIC_API_KEY="k")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_names_that_it_uses_can_be_imported() -> None:
    namespace: dict[str, object] = {}
    exec(BLOCKS[2], namespace)
    assert {"HookBlocked", "Origin", "Submission", "project", "strip", "telemetry"} <= set(namespace)


def test_the_sample_of_a_test_passes(place: Path) -> None:
    [sample] = [block for block in BLOCKS if "capture(" in block]
    exec(sample, {"__name__": "sample"})


def test_the_sample_of_a_store_runs(place: Path) -> None:
    [sample] = [block for block in BLOCKS if "open_store(" in block]
    result = ran(sample, place)
    found, changes = result.stdout.splitlines()
    assert (result.returncode, result.stderr) == (0, "")
    assert found.startswith("[('The CI runner is called brontes.', ")
    assert re.findall(r"\('(\w+)', datetime", changes) == ["added", "updated"]


def test_its_hooks_file_loads_without_a_warning(place: Path) -> None:
    [sample] = re.findall(r"^```json\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (place / "hooks.json").write_text(sample, encoding="utf-8")
    loaded = load_hooks(place / "hooks.json")
    assert loaded.warnings == ()
    assert [hook.type for hook in loaded.hooks] == ["command", "command", "http", "prompt", "command"]


def test_its_links_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^a-z -]", "", line.lower()).strip().replace(" ", "-")
        for line in README.splitlines()
        if line.startswith("#")
    }
    assert set(re.findall(r"\]\(#([a-z-]+)\)", README)) <= headings


@pytest.mark.parametrize("name", ["README.md", "dashboards/README.md"])
def test_each_row_of_a_table_has_as_many_cells_as_its_header(name: str) -> None:
    """As GitHub splits them: a `|` without a backslash parts two cells, inside of code too."""
    tables, columns = 0, None
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            columns = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        tables += columns is None
        columns = cells if columns is None else columns
        assert (name, number, cells) == (name, number, columns)
    assert tables >= 10


def test_its_pictures_are_there() -> None:
    assert set(re.findall(r"\]\((docs/[^)#]+)\)", README)) >= {"docs/demo.svg", "docs/chat.svg", "docs/export.png"}
    assert all((ROOT / name).is_file() for name in re.findall(r"\]\((docs/[^)#]+)\)", README))


def test_its_commands_are_the_command_lines() -> None:
    table = README[README.index("## Command line") :]
    said = re.findall(r"^\| `firsthand (\w+(?: [a-z]+)?)[ `]", table, re.MULTILINE)
    transcript = ("show", "list", "search", "export", "check", "stats", "import", "erase")
    transcripts = [f"transcript {name}" for name in transcript]
    hooks = [f"hooks {name}" for name in ("list", "test", "schema", "trust")]
    assert said == [
        "init",
        "demo",
        "chat",
        *transcripts,
        *(f"recall {name}" for name in ("add", "search", "list", "forget", "history")),
        *(f"recall {name}" for name in ("import", "export", "reindex", "vacuum", "serve")),
        *hooks,
        "dashboard",
        "settings",
    ]


def test_its_tables_of_telemetry_have_every_span_metric_and_event_with_its_unit() -> None:
    section = README[README.index("## Traces and metrics") : README.index("## What leaves the process")]
    told = {value for name, value in vars(names).items() if name.startswith(("SPAN_", "METRIC_", "EVENT_"))}
    assert {name for name in told if f"`{name}" not in section} == set()
    reader = InMemoryMetricReader()
    made = instruments(MeterProvider([reader], shutdown_on_exit=False).get_meter("t"))
    for instrument in (getattr(made, field.name) for field in fields(made)):
        (instrument.add if isinstance(instrument, Counter) else instrument.record)(1)
    data = reader.get_metrics_data()
    assert data is not None
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        [unit] = [row[1] for row in rows if f"`{metric.name}`" in row[0]]
        assert (metric.name, metric.unit in unit.split(", ")) == (metric.name, True)
