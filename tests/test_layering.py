"""Imports only point down the line that DESIGN.md draws."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TIERS = (
    ("__main__",),
    ("cli", "__init__"),
    ("chat", "testing"),
    ("app",),
    ("seam", "arguments"),
    ("call",),
    ("remember", "sessions", "session", "recorded", "drive", "responses", "streams", "settle", "told"),
    ("hooks", "sdks", "transcript", "telemetry", "ledger", "settings"),
    ("context", "crew", "facts", "matches", "parroted", "replies"),
    ("turn", "resume"),
    ("records",),
    ("injection",),
    ("provenance",),
    ("plain",),
    ("parts",),
    ("errors",),
    ("forked", "locks"),
)
SESSION = next(names for names in TIERS if "session" in names)
TIER_OF = {name: tier for tier, names in enumerate(TIERS) for name in names}
PURE = ("errors", "parts", "plain", "records", "provenance", "injection", "turn", "resume")
MODULES = sorted((ROOT / "middleware").rglob("*.py"))
DASHBOARDS = sorted((ROOT / "dashboards").rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT / "middleware").parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    """Dotted names that a file imports, relative ones from the root of `middleware`."""
    names = []
    package = ["middleware", *path.relative_to(ROOT / "middleware").parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names += [stem] if node.module and stem != "middleware" else [f"{stem}.{a.name}" for a in node.names]
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    here = room(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] != "middleware" or len(parts) < 2 or parts[1] == here:
            continue
        same_line = (
            TIER_OF[parts[1]] == TIER_OF[here] and here in SESSION and SESSION.index(parts[1]) > SESSION.index(here)
        )
        assert TIER_OF[parts[1]] > TIER_OF[here] or same_line, f"{here} imports {parts[1]}, which is not below it"


@pytest.mark.parametrize("path", [p for p in MODULES if room(p) in PURE], ids=lambda p: p.stem)
def test_the_core_knows_no_io_and_no_telemetry(path):
    forbidden = {"asyncio", "opentelemetry", "io", "os", "socket", "subprocess", "threading", "pathlib", "logging"}
    assert forbidden.isdisjoint(name.split(".")[0] for name in imported(path))


@pytest.mark.parametrize("path", sorted((ROOT / "recall_store").rglob("*.py")), ids=lambda p: p.stem)
def test_the_store_never_imports_the_middleware(path):
    assert not any(
        (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("middleware"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("middleware") for alias in node.names))
        for node in ast.walk(ast.parse(path.read_text()))
    )


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_dashboards_import_public_names_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] in ("middleware", "recall_store") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("middleware", "recall_store"):
            public = importlib.import_module(node.module).__all__
            assert {alias.name for alias in node.names} <= set(public)


@pytest.mark.parametrize(
    "path", [*MODULES, *sorted((ROOT / "recall_store").rglob("*.py")), *DASHBOARDS], ids=lambda p: p.stem
)
def test_no_file_is_longer_than_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400
