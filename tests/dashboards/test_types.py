"""The dashboards' JSON has the types that Grafana's own schema declares, as the TypeScript compiler finds."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from .loaded import NAMES, board, panels
from .programs import DASHBOARDS, node_modules, program

HERE = Path(__file__).parent
OPTIONS = {"bargauge", "heatmap", "stat", "table", "timeseries"}
SETTINGS = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "es2022",
        "types": [],
    },
    "files": ["check.ts"],
}


def checked(folder: Path, source: str) -> str:
    """What the compiler complains of."""
    modules = node_modules()
    shutil.copy(HERE / "schema.ts", folder)
    (folder / "check.ts").write_text('import type { Dashboard, Lines, Of, Plain } from "./schema";\n' + source)
    (folder / "tsconfig.json").write_text(json.dumps(SETTINGS))
    (folder / "node_modules").symlink_to(modules)
    done = subprocess.run(
        [program("node", "nodejs"), str(modules / "typescript" / "lib" / "tsc.js"), "-p", str(folder)],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    return done.stdout


def declarations(name: str) -> str:
    made = board(name)
    for annotation in made["annotations"]["list"]:
        del annotation["expr"]  # Grafana's Prometheus source reads it; only the SDK in Python declares it.
    lines = [f"export const {name}: Plain<Dashboard> = {json.dumps(made)};"]
    for panel in panels(name):
        kind = panel["type"]
        const = f"{name}_{panel['id']}"
        lines.append(f"export const {const}: Plain<Partial<Of['{kind}']>> = {json.dumps(panel.get('options', {}))};")
        if kind == "timeseries":
            custom = panel["fieldConfig"]["defaults"]["custom"]
            lines.append(f"export const {const}_custom: Plain<Lines> = {json.dumps(custom)};")
    return "\n".join(lines) + "\n"


def test_the_types_are_those_of_grafanas_schema(tmp_path: Path) -> None:
    assert {panel["type"] for name in NAMES for panel in panels(name)} <= OPTIONS
    assert checked(tmp_path, "".join(declarations(name) for name in NAMES)) == ""


def test_the_check_finds_a_field_that_is_not_grafanas_and_a_value_that_it_does_not_know(tmp_path: Path) -> None:
    text = (DASHBOARDS / "grafana" / "json" / "recall.json").read_text(encoding="utf-8")
    assert '"displayMode": "table"' in text
    source = declarations("recall")
    wrong = source.replace('"displayMode": "table"', '"displayMode": "tabel"').replace('"uid":', '"udi":', 1)
    said = checked(tmp_path, wrong)
    assert "tabel" in said
    assert "udi" in said
