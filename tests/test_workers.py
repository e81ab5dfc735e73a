"""Two worker processes serve one named session: one chain and one ledger between them."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from middleware import transcript

WORKER = """
import json, sys
from middleware import Middleware, Settings
from middleware.testing import Answer, LocalModel, ToolCall

folder, name = sys.argv[1:]
calls = 0

def hook(hook_input):
    global calls
    calls += 1
    return f"context {calls} of {name}"

def answer(body):
    messages = body["messages"]
    if any(message["role"] == "tool" for message in messages[-2:]):
        return "done"
    asked = [m for m in messages if m["role"] == "user" and "question" in json.dumps(m["content"])]
    return Answer(calls=(ToolCall(id=f"call-{len(asked)}", name="clock"),))

model = LocalModel(default=answer)
app = Middleware(Settings(transcripts=folder), hooks=[hook])
client = app.wrap(model.openai())
for line in sys.stdin:
    with app.session("shared", user="alice"):
        reply = client.chat.completions.create(model="m", messages=json.loads(line)).choices[0].message
    print(json.dumps([model.requests[-1]["messages"], reply.model_dump(exclude_none=True)]), flush=True)
app.close()
"""


class Worker:
    """A process that answers one turn a line, as a gunicorn worker answers one request at a time."""

    def __init__(self, folder: Path, name: str) -> None:
        command = [sys.executable, "-c", WORKER, str(folder), name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, messages: list[dict[str, Any]]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(messages) + "\n")
        self._process.stdin.flush()

    def end(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        assert self._process.stdout is not None
        sent, reply = json.loads(self._process.stdout.readline())
        return sent, reply

    def close(self) -> None:
        self._process.communicate(timeout=60)


@contextmanager
def workers(folder: Path) -> Iterator[list[Worker]]:
    started = [Worker(folder, "one"), Worker(folder, "two")]
    try:
        yield started
    finally:
        for worker in started:
            worker.close()


def conversation(serving: Iterator[Worker], turns: int) -> list[list[dict[str, Any]]]:
    """Questions, each with a tool call; every call goes to the next worker. Returns what was sent."""
    history: list[dict[str, Any]] = []
    requests = []
    for number in range(turns):
        history.append({"role": "user", "content": f"question {number}"})
        while True:
            worker = next(serving)
            worker.begin(history)
            sent, reply = worker.end()
            requests.append(sent)
            history.append(reply)
            if not reply.get("tool_calls"):
                break
            history.append({"role": "tool", "tool_call_id": reply["tool_calls"][0]["id"], "content": "noon"})
    return requests


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1, 0, 1)], ids=["in turn", "unevenly"])
def test_what_one_worker_sent_is_a_prefix_of_what_the_next_one_sends(tmp_path: Path, order: tuple[int, ...]) -> None:
    with workers(tmp_path) as both:
        requests = conversation(itertools.cycle([both[index] for index in order]), 6)
    assert len(requests) == 12
    for before, after in itertools.pairwise(requests):
        assert [json.dumps(message) for message in after[: len(before)]] == [json.dumps(message) for message in before]
    said = json.dumps(requests[-1])
    assert ("of one" in said, "of two" in said) == (True, True)
    records = [json.loads(line) for line in (tmp_path / "shared.jsonl").read_text().splitlines()]
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]
    assert [record["type"] for record in records] == ["user", "assistant", "tool_result", "assistant"] * 6
    assert {record["userId"] for record in records} == {"alice"}
    users = [record for record in records if record["type"] == "user"]
    assert [record["promptId"] for record in users] == [f"shared########{number}" for number in range(6)]


def test_workers_that_answer_at_the_same_time_write_one_chain(tmp_path: Path) -> None:
    with workers(tmp_path) as both:
        for number in range(10):
            for worker, name in zip(both, "ab", strict=True):
                worker.begin([{"role": "user", "content": f"question {name}{number}"}])
            for worker in both:
                worker.end()
    read = transcript.read(tmp_path / "shared.jsonl")
    branch, flaws = transcript.walk(read.records)
    assert (len(read.records), read.flaws, len(branch), flaws) == (40, (), 40, [])
