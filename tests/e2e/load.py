"""Thousands of real turns for a dashboard: `python -m tests.e2e.load --turns 5000 --transcripts FOLDER`.

The real middleware around the real clients of OpenAI and Anthropic talks over HTTP to aimock, which it starts and ends
(node and npm are needed), exports over OTLP to `--endpoint`, and writes transcripts and memories below `--transcripts`.
Several sessions, users and models; hooks that add, block, fail and take too long; recalls that hit, miss, are late and
break; streams, whole, cut off and left early, tool results, cron jobs, calls outside of any session; a server that
refuses and hangs up. With `--hours 48` the turns lie over the last two days: this process's clock is set for it. What
is made is the same each time, but for ids and times.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Load", "main", "run"]

TOPICS = ("upload", "login", "billing", "search", "export", "mail", "queue", "cache", "deploy", "index")
QUESTIONS = (
    "why is the {} job red?",
    "what changed in {} since Friday?",
    "write a test for the {} timeout",
    "is {} green again?",
    "explain the {} retry loop to me, with an example",
)
MODELS = ("gpt-5", "gpt-5-mini", "gpt-5-mini", "gpt-5-mini", "gpt-5-nano")
CLAUDE = "claude-sonnet-4-5"
USERS = ("alice", "bob", "carol", "dave")
_AT_ONCE = 24
STATE = "Repository state: branch main, 3 files changed, CI run 4812 red in test_{}. "


@dataclass(frozen=True, kw_only=True)
class Load:
    """How much: `turns` over `sessions`, made by `threads` at once; `seconds` is what a model takes at least."""

    folder: Path
    turns: int = 2000
    sessions: int = 24
    threads: int = 8
    seconds: float = 0.004
    hours: float = 0.0


class _Clock:
    """The time of this process: real, or moved so that the turns lie over some hours that end now."""

    def __init__(self, hours: float) -> None:
        self._real = time.time_ns
        self._behind = int(hours * 3600e9)
        self._offset = -self._behind

    def now(self) -> int:
        return self._real() + self._offset

    def at(self, share: float) -> None:
        """Go on to a share of the way."""
        self._offset = int(self._behind * (share - 1))

    def install(self) -> None:
        """Before OpenTelemetry is imported, which keeps the function it finds."""
        time.time_ns = self.now


def run(load: Load, **providers: Any) -> dict[str, int]:
    """Make the turns; how many ended how. Providers default to the application's own."""
    import anthropic
    import openai

    from middleware import HookBlocked, Origin

    from .aimock import Aimock

    clock = _CLOCK
    counts: dict[str, int] = {"sent": 0, "blocked": 0, "error": 0, "cancelled": 0}
    lock = threading.Lock()

    def turn(number: int, apps: dict[str, Any], clients: dict[str, tuple[Any, Any]]) -> None:
        draw = random.Random(number)
        kind = draw.choices(("plain", "guarded", "broken", "late", "forgetful"), (0.66, 0.2, 0.04, 0.04, 0.06))[0]
        topic = draw.choice(TOPICS)
        text = draw.choice(QUESTIONS).format(topic)
        if kind == "guarded" and draw.random() < 0.3:
            text = f"drop the {topic} table"
        # Two that are asked the same at once are one turn.
        text += f" Ticket {number}."
        if draw.random() < 0.05:
            text += f" ({draw.choice(tuple(FAULTS))})"
        session = None if number % 37 == 0 else f"session-{draw.randrange(load.sessions):02}"
        user = USERS[(draw.randrange(99) if session is None else int(session[-2:])) % len(USERS)]
        app, (gpt, claude) = apps[kind], clients[kind]
        try:
            with ExitStack() as stack:
                if session is not None:
                    stack.enter_context(app.session(f"{kind}-{session}", user=user))
                if draw.random() < 0.04:
                    stack.enter_context(app.origin(Origin.CRON))
                ended = _ask(draw, gpt, claude, text)
        except HookBlocked:
            ended = "blocked"
        except Exception:
            ended = "error"
        with lock:
            counts[ended] += 1

    load.folder.mkdir(parents=True, exist_ok=True)
    with (
        _apps(load, providers) as apps,
        Aimock(load.folder, _fixtures(load.seconds)) as server,
        openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as gpts,
        anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as claudes,
        ThreadPoolExecutor(load.threads) as pool,
    ):
        clients = {name: (app.wrap(gpts), app.wrap(claudes)) for name, app in apps.items()}
        for first in range(0, load.turns, _AT_ONCE):
            # The clock goes on while no turn is under way: it would be in that turn's duration.
            if clock is not None:
                clock.at(first / load.turns)
            numbers = range(first, min(first + _AT_ONCE, load.turns))
            for done in [pool.submit(turn, number, apps, clients) for number in numbers]:
                done.result()
    return counts


def _ask(draw: random.Random, gpt: Any, claude: Any, text: str) -> str:
    """Ask one of them; how the turn ends when nothing goes wrong."""
    message: dict[str, Any] = {"role": "user", "content": text}
    streams = draw.random() < 0.4 or "cut it off" in text
    if draw.random() < 0.25:
        reply = claude.messages.create(
            model=CLAUDE, max_tokens=500, messages=[message], **({"stream": True} if streams else {})
        )
    else:
        name = draw.choice(MODELS)
        options = {"stream": True, "stream_options": {"include_usage": True}} if streams else {"temperature": 0.2}
        messages = [message]
        if not streams and draw.random() < 0.1:
            call = {"id": "call_1", "type": "function", "function": {"name": "read_log", "arguments": '{"lines": 40}'}}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "ERROR test_upload: timed out after 30 s\n" * 8},
            ]
        reply = gpt.chat.completions.create(model=name, messages=messages, **options)
    if streams:
        has_enough = draw.random() < 0.1
        with reply:
            for _ in reply:
                if has_enough:
                    return "cancelled"
    return "sent"


FAULTS: dict[str, dict[str, Any]] = {
    **{
        f"fail with {status}": {"response": {"error": {"message": "scripted", "type": kind}, "status": status}}
        for status, kind in ((429, "rate_limit_error"), (500, "server_error"), (503, "overloaded_error"))
    },
    "hang up": {"response": {"content": ""}, "chaos": {"disconnectRate": 1}},
    "cut it off": {"response": {"content": "It has been red since noon: the upload test"}, "truncateAfterChunks": 2,
                   "chunkSize": 6},
}  # fmt: skip
"""What goes wrong when the words ask for it."""

SLOWER = (1, 1, 1, 1, 2, 2, 3, 4, 6, 12)
"""How many times longer a model takes for one topic than for another."""


def _fixtures(seconds: float) -> dict[str, Any]:
    """Slow as models are, by topic and model, with as many tokens as that; refused where the words ask for it."""
    found: list[dict[str, Any]] = [{"match": {"userMessage": words}, **fault} for words, fault in FAULTS.items()]
    for number, topic in enumerate(TOPICS):
        for model, times in ((CLAUDE, 3), (None, 1)):
            took = {"chaos": {"latencyMs": max(1, round(seconds * 1000 * SLOWER[number] * times))}}
            names = ("input_tokens", "output_tokens") if model == CLAUDE else ("prompt_tokens", "completion_tokens")
            usage = dict(zip(names, (120 + 37 * number, 20 + 41 * number), strict=True))
            said = f"It has been red since noon: the {topic} test timed out. Raise its limit, and look at run 4812."
            match = {"userMessage": topic, **({"model": model} if model is not None else {})}
            found.append({"match": match, "response": {"content": said, "usage": usage}, **took})
    return {"fixtures": [*found, {"match": {}, "response": {"content": "It is green."}}]}


@contextmanager
def _apps(load: Load, providers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One middleware for each way in which hooks and recall can go."""
    from middleware import Middleware
    from recall_store import Record, open_store
    from recall_store.engines.sqlite import SqliteStore

    class Broken(SqliteStore):
        """Its disk is gone."""

        def search(self, **asked: Any) -> Any:
            raise OSError("the disk is gone")

    class Late(SqliteStore):
        """Answers when the turn has gone on."""

        def search(self, **asked: Any) -> Any:
            time.sleep(0.05)
            return super().search(**asked)

    hooks = load.folder / "hooks.json"
    hooks.write_text(json.dumps({"hooks": HOOKS}))
    path = load.folder / "memories.db"
    with open_store(f"sqlite:///{path}") as made:
        for user in USERS:
            notes = [f"The {topic} job runs on brontes, and {user} wrote it in March." for topic in TOPICS]
            made.upsert(namespace=user, records=[Record(text=note) for note in notes])
    store = {"store": f"sqlite:///{path}", "recall_timeout": 60}
    common = {"transcripts": str(load.folder / "transcripts"), **providers}
    given: dict[str, dict[str, Any]] = {
        "plain": {**store, "user": "alice", "hooks": [_state]},
        "guarded": {**store, "user": "alice", "hooks_file": str(hooks)},
        "broken": {**store, "user": "alice", "hooks": [_state]},
        "late": {**store, "user": "alice", "recall_timeout": 0.01},
        "forgetful": {**store, "user": "nobody", "namespace": "empty"},
    }
    with ExitStack() as stack:
        apps = {name: stack.enter_context(_closing(Middleware.from_settings(**common, **more)))
                for name, more in given.items()}  # fmt: skip
        for name, kind in (("broken", Broken), ("late", Late)):
            apps[name].store.close()
            apps[name]._wiring.store = kind(path)
        yield apps


@contextmanager
def _closing(app: Any) -> Iterator[Any]:
    try:
        yield app
    finally:
        app.close()


def _state(payload: dict[str, Any]) -> str:
    return STATE.format(random.Random(str(payload.get("prompt"))).choice(TOPICS)) * 3


HOOKS = {
    "UserPromptSubmit": [
        {
            "hooks": [
                {
                    "type": "command",
                    "name": "guard",
                    "command": "read -r line; case $line in *'drop the'*) echo 'not on a weekday' >&2; exit 2;; esac",
                },
                {"type": "command", "name": "branch", "command": "echo 'On branch main, 3 files changed.'"},
                {"type": "command", "name": "lint", "command": "echo 'no such file' >&2; exit 1"},
                {"type": "command", "name": "weather", "command": "sleep 5", "timeout": 0.05},
            ]
        }
    ]
}

_CLOCK: _Clock | None = None


def main(arguments: list[str]) -> None:
    global _CLOCK
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.load", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=24)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--hours", type=float, default=0.0, help="spread the turns over this many hours, up to now")
    parser.add_argument("--endpoint", default="http://127.0.0.1:4318")
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder; transcripts are in its transcripts/")
    said = parser.parse_args(arguments)
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = said.endpoint
    os.environ.setdefault("OTEL_BSP_SCHEDULE_DELAY", "500")
    os.environ.setdefault("OTEL_METRIC_EXPORT_INTERVAL", "2000")
    if said.hours:
        _CLOCK = _Clock(said.hours)
        _CLOCK.install()
    from middleware import telemetry

    # What goes wrong in it goes wrong on purpose, thousands of times.
    logging.getLogger("firsthand").setLevel(logging.ERROR)
    telemetry.configure(service_name="load")
    began = time.perf_counter()
    counts = run(
        Load(folder=said.transcripts, turns=said.turns, sessions=said.sessions, threads=said.threads, hours=said.hours)
    )
    arrived = telemetry.shutdown(60)
    print(json.dumps({**counts, "seconds": round(time.perf_counter() - began, 1), "arrived": arrived}))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
