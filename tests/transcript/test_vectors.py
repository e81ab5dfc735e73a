"""The handed-over vectors and field cases about transcripts all pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import runner, transcripts

FOLDER = Path(runner.__file__).parent


def cases(name: str, listed: str, key: str, known: dict[str, Any]) -> list[Any]:
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["id"]) for case in document[listed] if case[key] in known]


@pytest.mark.parametrize("vector", cases("hooks_transcripts.json", "vectors", "area", transcripts.AREAS))
def test_a_vector_passes(vector: dict[str, Any]) -> None:
    assert runner.differences(vector["expect"], transcripts.AREAS[vector["area"]](vector["input"])) == []


@pytest.mark.parametrize("case", cases("field_cases.json", "cases", "kind", transcripts.KINDS))
def test_a_field_case_meets_its_expectations(case: dict[str, Any]) -> None:
    observed = transcripts.KINDS[case["kind"]](runner.expand(case["input"]))
    assert runner.met(case["expect"], observed) == []
