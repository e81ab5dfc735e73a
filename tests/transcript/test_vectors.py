"""The handed-over vectors and field cases about transcripts all pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vectors import runner, transcripts

FOLDER = Path(runner.__file__).parent


@pytest.mark.parametrize(("file", "listed"), [("hooks_transcripts", "vectors"), ("field_cases", "cases")])
def test_every_case_about_transcripts_passes(file: str, listed: str) -> None:
    path = FOLDER / f"{file}.json"
    ours = {*transcripts.AREAS, *transcripts.KINDS}
    cases = json.loads(path.read_text(encoding="utf-8"))[listed]
    mine = [case for case in cases if case.get("kind", case["area"]) in ours]
    ids = {case["id"] for case in mine}
    areas = frozenset(case["area"] for case in mine)
    results = [result for result in runner.run_file(path, areas=areas) if result.id in ids]
    assert len(results) > 40
    assert [(result.id, result.failures) for result in results if result.failures] == []
