"""The handed cases of the areas that are built, and the runner that runs any file of their formats."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vectors.runner import ABSENT, differences, expand, met, run_file

FOLDER = Path(__file__).parent / "vectors"
VECTORS = json.loads((FOLDER / "hooks_transcripts.json").read_text())["vectors"]
AREAS = {
    "hooks_transcripts.json": {vector["area"] for vector in VECTORS},
    "field_cases.json": {"resume", "write", "load", "hook-exec", "hook-output"},
    "submitted_prompt.json": {"hook_chain", "scenario"},
}
RESULTS = [
    pytest.param(result, id=result.id)
    for name, areas in AREAS.items()
    for result in run_file(FOLDER / name, areas=frozenset(areas))
]


@pytest.mark.parametrize("result", RESULTS)
def test_a_handed_case_holds(result):
    assert result.failures == ()


def run(*files):
    command = [sys.executable, "-m", "tests.vectors", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parent.parent)


def test_the_runner_closes_with_counts_and_the_failing_ids(tmp_path):
    wrap = {"area": "wrap", "input": {"context": "x"}}
    right = {"text": "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"}
    vectors = [
        {"id": "right", **wrap, "expect": right},
        {"id": "wrong", **wrap, "expect": {"text": "y"}},
        {"id": "new", "area": "no-such-area", "input": {}, "expect": {}},
    ]
    (tmp_path / "f.json").write_text(json.dumps({"format": "firsthand.vectors/1", "vectors": vectors}))
    done = run(tmp_path / "f.json")
    assert done.stdout.splitlines()[-2:] == ["failing ids: wrong new", "1 passed, 2 failed"]
    assert done.returncode == 1


def test_the_runner_refuses_another_format_in_one_line(tmp_path):
    (tmp_path / "f.json").write_text('{"format": "other"}')
    done = run(tmp_path / "f.json")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "f.json" in done.stderr


def test_expected_objects_are_subsets_and_the_rest_is_exact():
    assert differences({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}) == []
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["a: expected [1], got [1, 2]"]
    assert differences({"a": ABSENT}, {"a": None}) == ["a: present, expected absent"]
    assert differences({"a": None}, {}) == ["a: missing"]
    assert differences(True, 1) == ["result: expected True, got 1"]


def test_an_expectation_that_nobody_observes_fails():
    assert met({"new_thing": True}, {}) == ["new_thing: nobody observes this"]


def test_repeats_in_an_input_are_written_out():
    assert expand({"a": [{"repeat": ["x", 3]}]}) == {"a": ["xxx"]}
