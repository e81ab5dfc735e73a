"""How good recall is: evidence recall on LoCoMo through `store.search`, clean and polluted, and silence.

    python -m tests.benchmarks.bench_quality /path/to/locomo.json [--embedder hash ...] [--choose] [--each]

The path may stand in FIRSTHAND_LOCOMO. The data (Maharana et al. 2024, CC BY-NC 4.0) is not part of this project.
Each turn is a memory in its conversation's namespace; a question of categories 1 to 4 scores the share of its evidence
among the answers. The no-answer set is a fifth of the questions of every *other* conversation, and the sentences of
tests/data/no_answer.txt. `--choose` gives for each conversation the figures with the numbers that were best on the
others: the weights of neighbours, of who and when, of the cosine, and what silence is decided by.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_store import Record, Store, open_store, ranking
from recall_store.embedders import load, names
from recall_store.embedders.base import Embedder
from tests.benchmarks.quality_choice import ALLOWED, Query, tabled

POLLUTION = 2000
"""Characters of text that is not the user's."""
NO_ANSWER = Path(__file__).parent.parent / "data" / "no_answer.txt"
HOOK_TEXT = """
Repository guidelines. Run the formatter before you commit. Tests live beside the module they cover and are named after
it. Never log a token. The deployment pipeline builds one image a commit, pushes it to the staging registry and waits
for the smoke checks; a release is a tag. Feature flags are read at start-up only. Migrations run before the rollout
and must be reversible. On-call rotates on Mondays. Prefer small pull requests; two reviewers for anything under
billing. The cache is warmed from the replica. Alerts go to the channel of the owning team. Current branch: main,
clean. Open issues: flaky integration suite, slow cold start, dependency upgrade blocked by the linter.
"""


class Question(NamedTuple):
    """A question and the ids of the turns that answer it."""

    text: str
    evidence: frozenset[str]


class Conversation(NamedTuple):
    """One namespace: its turns as memories, and what is asked about them."""

    name: str
    records: list[Record]
    questions: list[Question]


class Cached(Embedder):
    """Another embedder that embeds each text once, so that the same questions may be asked often."""

    def __init__(self, inner: Embedder) -> None:
        self.name, self.id, self.dimension = inner.name, inner.id, inner.dimension
        self.weight, self.floor = inner.weight, inner.floor
        self._inner = inner
        self._rows: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows.update(zip(new, self._inner.embed(new), strict=True))
        return np.array([self._rows[text] for text in texts], np.float32).reshape(len(texts), self.dimension)


def read(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file."""
    conversations = []
    for one in json.loads(path.read_text(encoding="utf-8")):
        said = one["conversation"]
        records = [
            Record(
                id=turn["dia_id"],
                text=f"{turn['speaker']}: {turn['text']}",
                source={"session": name, "position": position},
                created_at=datetime.strptime(said[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
            )
            for name, turns in said.items()
            if re.fullmatch(r"session_\d+", name)
            for position, turn in enumerate(turns)
        ]
        known = {record.id for record in records}
        questions = [
            Question(asked["question"], frozenset(set(asked.get("evidence") or ()) & known))
            for asked in one["qa"]
            if asked["category"] != 5
        ]
        conversations.append(Conversation(one["sample_id"], records, [asked for asked in questions if asked.evidence]))
    return conversations


def evidence_recall(
    store: Store, conversation: Conversation, change: Callable[[str], str] = str
) -> tuple[list[float], list[float]]:
    """For each question, as `change` makes it, the share of its evidence among five answers and among ten (0 to 1)."""
    five, ten = [], []
    for text, evidence in conversation.questions:
        found = [match.record.id for match in store.search(namespace=conversation.name, query=change(text), top_k=10)]
        five.append(len(evidence.intersection(found[:5])) / len(evidence))
        ten.append(len(evidence.intersection(found)) / len(evidence))
    return five, ten


def no_answer(conversation: Conversation, conversations: Sequence[Conversation]) -> list[str]:
    """Queries that nothing in the conversation answers."""
    others = [other for other in conversations if other is not conversation]
    lines = NO_ANSWER.read_text(encoding="utf-8").splitlines()
    return [question.text for other in others for question in other.questions[::5]] + [
        line for line in lines if line and not line.startswith("#")
    ]


def false_answers(store: Store, conversation: Conversation, conversations: Sequence[Conversation]) -> list[bool]:
    """For each query without an answer, whether there was one."""
    queries = no_answer(conversation, conversations)
    return [bool(store.search(namespace=conversation.name, query=query)) for query in queries]


def pollutions(conversations: Sequence[Conversation], number: int) -> Mapping[str, Callable[[str], str]]:
    """The queries of the conversation `number`, clean and with text that is not the user's."""
    rng = random.Random(7)

    def turns(conversation: Conversation) -> str:
        return "\n".join(record.text for record in rng.sample(conversation.records, k=60))[:POLLUTION]

    hook = (HOOK_TEXT * 4)[:POLLUTION]
    another = turns(conversations[(number + 1) % len(conversations)])
    same = turns(conversations[number])
    return {
        "clean (what the middleware asks with)": lambda query: query,
        "unrelated hook text": lambda query: f"{query}\n{hook}",
        "another user's chat": lambda query: f"{query}\n{another}",
        "the same user's memories": lambda query: f"{query}\n{same}",
        "hook text put in front": lambda query: f"{hook}\n{query}",
    }


def mean(values: Sequence[Sequence[float]]) -> float:
    """The mean over all of them."""
    return statistics.mean(itertools.chain.from_iterable(values))


def report(store: Store, conversations: Sequence[Conversation], name: str, *, each: bool) -> None:
    """Print the figures with what is shipped."""
    five, ten = zip(*(evidence_recall(store, one) for one in conversations), strict=True)
    wrong = [false_answers(store, one, conversations) for one in conversations]
    print(f"| {name} | {mean(five):.3f} | {mean(ten):.3f} | {mean(wrong):.3f} |", flush=True)
    if each:
        for one, few, many, mistaken in zip(conversations, five, ten, wrong, strict=True):
            figures = " | ".join(f"{statistics.mean(values):.3f}" for values in (few, many, mistaken))
            print(f"| {name}: {one.name} | {figures} |", flush=True)


def polluted(store: Store, conversations: Sequence[Conversation], name: str) -> None:
    """Print recall@5 for each kind of pollution."""
    row = []
    for kind in pollutions(conversations, 0):
        shares = [
            evidence_recall(store, one, pollutions(conversations, number)[kind])[0]
            for number, one in enumerate(conversations)
        ]
        row.append(f"{mean(shares):.3f}")
    print(f"| {name} | {' | '.join(row)} |", flush=True)


def left_out(store: Store, embedder: Embedder, conversations: Sequence[Conversation]) -> None:
    """Print the figures of each conversation with the numbers that the others chose."""
    asked = [
        (
            one.name,
            [Query(*question) for question in one.questions],
            [Query(text, frozenset()) for text in no_answer(one, conversations)],
        )
        for one in conversations
    ]
    table = tabled(store, embedder, asked)
    names = "neighbours, mention, cosine, words, floor"
    print(f"\n| {embedder.name}, allowed | recall@5 | recall@10 | false answers | {names} |\n{'|---' * 5}|")
    for allowed in ALLOWED:
        found, chosen = table.left_out(allowed)
        print(f"| {allowed:.1%}, each with the numbers of the others | {_row(found)} | |")
        for one, choice in zip(conversations, chosen, strict=True):
            print(f"| without {one.name} | | | | {', '.join(f'{value:g}' for value in choice)} |")
        best = table.best(allowed)
        numbers = ", ".join(f"{value:g}" for value in table.choices[best])
        print(f"| {allowed:.1%}, chosen on all | {_row(table.mean(best))} | {numbers} |")
    shipped = (ranking.COLUMN_WEIGHTS[-1], ranking.MENTION, embedder.weight, ranking.WORDS_SHARE, embedder.floor)
    print(f"| shipped | | | | {', '.join(f'{value:g}' for value in shipped)} |", flush=True)


def _row(figures: Sequence[float]) -> str:
    return " | ".join(f"{value:.3f}" for value in figures)


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=os.environ.get("FIRSTHAND_LOCOMO"))
    parser.add_argument("--embedder", action="append", choices=names())
    parser.add_argument("--choose", action="store_true", help="leave one conversation out")
    parser.add_argument("--each", action="store_true", help="a row a conversation")
    parser.add_argument("--no-pollution", action="store_true")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("nothing to measure: give the path of a LoCoMo file, or set FIRSTHAND_LOCOMO")
        return 0
    conversations = read(Path(arguments.data))
    embedders: dict[str, Any] = {
        name: Cached(load(name)) for name in arguments.embedder or ("hash", "wordllama", "minilm")
    }
    with tempfile.TemporaryDirectory() as folder:
        stores = {name: open_store(f"sqlite:///{folder}/{name}.db", embedder) for name, embedder in embedders.items()}
        for store, conversation in itertools.product(stores.values(), conversations):
            store.upsert(namespace=conversation.name, records=conversation.records)
        count = sum(len(one.questions) for one in conversations)
        print(f"{len(conversations)} conversations, {count} questions\n")
        print("| embedder | recall@5 | recall@10 | false answers |\n|---|---|---|---|")
        for name, store in stores.items():
            report(store, conversations, name, each=arguments.each)
        if not arguments.no_pollution:
            kinds = list(pollutions(conversations, 0))
            print(f"\n| recall@5 | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}")
            for name, store in stores.items():
                polluted(store, conversations, name)
        if arguments.choose:
            for name, store in stores.items():
                left_out(store, embedders[name], conversations)
        for store in stores.values():
            store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
