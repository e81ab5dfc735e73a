"""What auto-memory costs a turn, beside the same turn without it, in one run.

    python -m tests.benchmarks.bench_remember [--turns 300] [--memories 10000]

In process, over a scripted transport that answers at once. A turn's own thread: wall and CPU time until the caller has
its reply. The whole: CPU time of the process until the memory is stored (`flush`). With `model`, a second call to the
model is in it (tokens are counted as the characters of its request over four); four in five of its facts are news.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import openai

from middleware import Middleware, Submission
from recall_store import Record
from tests.benchmarks.bench_recall import sentences

NOTES = "You keep long-term notes"
FACTS = 2
MODES = ("off", "user", "model")


class Scripted:
    """A model that answers turns with a sentence and questions about them with facts; counts what it was asked."""

    def __init__(self, seed: int) -> None:
        self.asked, self.characters = 0, 0
        self._facts = itertools.cycle(sentences(4000, seed=seed))
        self._number = 0

    def client(self) -> openai.OpenAI:
        transport = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        return openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=transport)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        content = "It is on the pier, as you said."
        if NOTES in request.content.decode():
            self.asked += 1
            self.characters += len(request.content)
            facts = []
            for _ in range(FACTS):
                self._number += 1
                text = next(self._facts) if self._number % 5 else "The user likes tea from the harbour"
                facts.append({"type": "user", "text": text})
            content = json.dumps({"facts": facts})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        usage = {"prompt_tokens": 25, "completion_tokens": 50, "total_tokens": 75}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return httpx2.Response(200, json=body)


def turn(app: Middleware, client: openai.OpenAI, text: str) -> tuple[float, float]:
    """One turn of somebody who typed `text`; wall and CPU seconds of the caller."""
    wall, own = time.perf_counter(), time.thread_time()
    with app.session("bench"), app.submitting(Submission(model_parts=text, submitted_prompt=text, producer="bench")):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return time.perf_counter() - wall, time.thread_time() - own


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--memories", type=int, default=10_000)
    arguments = parser.parse_args()
    texts = sentences(arguments.turns + 20, seed=3)
    rng = random.Random(7)
    walls: dict[str, list[float]] = {mode: [] for mode in MODES}
    owns: dict[str, list[float]] = {mode: [] for mode in MODES}
    wholes: dict[str, list[float]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        models = {mode: Scripted(number) for number, mode in enumerate(MODES)}
        apps: dict[str, Middleware] = {}
        for mode in MODES:
            given: Any = {"store": f"sqlite:///{Path(folder) / mode}.db", "user": "bench", "remember": mode}
            app = apps[mode] = Middleware.from_settings(**given)
            assert app.store is not None
            memories = [Record(text=text) for text in sentences(arguments.memories, seed=11)]
            app.store.upsert(namespace="bench", records=memories)
            app.store.warm(namespace="bench")
        clients = {mode: apps[mode].wrap(models[mode].client()) for mode in MODES}
        for number, text in enumerate(texts):
            for mode in rng.sample(MODES, k=len(MODES)):
                before = time.process_time()
                wall, own = turn(apps[mode], clients[mode], text)
                apps[mode].flush(60)
                if number >= 20:
                    walls[mode].append(wall)
                    owns[mode].append(own)
                    wholes[mode].append(time.process_time() - before)
        sizes = {}
        for mode, app in apps.items():
            assert app.store is not None
            sizes[mode] = len(app.store.list(namespace="bench"))
            app.close()
    base = {name: statistics.median(taken["off"]) for name, taken in (("wall", walls), ("own", owns), ("all", wholes))}
    columns = ("caller waits ms", "caller's CPU ms", "CPU in all ms", "to off: waits, in all", "kept", "tokens asked")
    print(f"\n| {arguments.turns} turns beside {arguments.memories:,} memories | {' | '.join(columns)} |")
    print(f"|{'---|' * (len(columns) + 1)}")
    for mode in MODES:
        wall, own, whole = (statistics.median(taken[mode]) * 1e3 for taken in (walls, owns, wholes))
        ratio = f"{wall / base['wall'] / 1e3:.2f}, {whole / base['all'] / 1e3:.2f}"
        tokens = models[mode].characters / 4 / len(texts)
        kept = sizes[mode] - arguments.memories
        print(f"| {mode} | {wall:.2f} | {own:.2f} | {whole:.2f} | {ratio} | {kept} | {tokens:.0f} |")


if __name__ == "__main__":
    main()
