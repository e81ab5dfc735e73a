"""What is public is in `__all__`, typed and documented, and importing it is light."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import middleware
import recall_store

PACKAGES = (
    "middleware",
    "middleware.chat",
    "middleware.hooks",
    "middleware.sdks",
    "middleware.telemetry",
    "middleware.transcript",
    "recall_store",
)


def names_of(package):
    """What the package's `__init__` defines, or takes from its own modules."""
    names = set()
    for node in ast.parse(Path(package.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_exactly_the_public_names(name):
    package = importlib.import_module(name)
    assert names_of(package) == set(package.__all__)
    assert sorted(package.__all__) == sorted(set(package.__all__))


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_function_and_class_is_documented(name):
    package = importlib.import_module(name)
    bare = [
        key
        for key in package.__all__
        if (inspect.isclass(value := getattr(package, key)) or inspect.isfunction(value)) and not inspect.getdoc(value)
    ]
    assert bare == []


def test_the_contract_of_the_design_is_public():
    assert {
        "Middleware",
        "wrap",
        "project",
        "strip",
        "HookBlocked",
        "Settings",
        "Submission",
        "Origin",
        "Session",
        "telemetry",
    } <= set(middleware.__all__)
    assert "open_store" in recall_store.__all__


def test_importing_middleware_loads_no_sdk_and_nothing_heavy():
    code = "import sys, json, middleware; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))
    assert loaded.isdisjoint(
        {"openai", "anthropic", "google.genai", "sqlite_utils", "grpc", "urllib3", "rich", "numpy", "wrapt", "requests"}
    )
