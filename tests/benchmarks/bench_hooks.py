"""`python -m tests.benchmarks.bench_hooks`: what a hook costs on top of the work that it does.

A command hook against a bare `subprocess.run` of the same script with the same input (ratio, target 1.25 or less), and
the hand-off of a function hook to its worker thread (target 150 µs or less). Medians of interleaved rounds.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from middleware.drive import Fetch
from middleware.hooks import CommandHook, FunctionHook, HookSet
from middleware.hooks.command import argv_of
from middleware.provenance import Origin
from middleware.telemetry import Options, Signals
from middleware.turn import HookInput, RunHooks, Scene

SAY = 'printf %s \'{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"ctx"}}\''
SCRIPTS = {
    "printf, 1 kB prompt": (f"cat >/dev/null; {SAY}", 1_000, 300),
    "printf, 1 MB prompt": (f"cat >/dev/null; {SAY}", 1_000_000, 60),
    "unread, 1 kB prompt": (SAY, 1_000, 300),
    "python script": (f"{sys.executable} -S -c 'import sys; sys.stdin.read(); print(1)'", 1_000, 40),
}


def medians(rounds: int, *functions: Callable[[], object]) -> list[float]:
    """Median seconds of each function, run in turns so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


def command_rows(cwd: str) -> None:
    print(f"{'command hook':24}{'bare ms':>10}{'hook ms':>10}{'ratio':>8}")
    for title, (script, size, rounds) in SCRIPTS.items():
        payload = HookInput(scene=Scene(session_id="s", cwd=cwd), prompt="A" * size).payload("2026-01-02T03:04:05.678Z")
        data = json.dumps(payload).encode()
        argv, environment = argv_of("bash", script, cwd), dict(os.environ)
        hook = CommandHook(command=script)

        def bare(argv: list[str] = argv, data: bytes = data, environment: dict[str, str] = environment) -> object:
            return subprocess.run(argv, input=data, capture_output=True, cwd=cwd, env=environment, check=True)

        def hooked(hook: CommandHook = hook, payload: dict[str, object] = payload) -> object:
            result = hook.call(payload)
            assert result.success, result
            return result

        plain, ours = medians(rounds, bare, hooked)
        print(f"{title:24}{plain * 1e3:10.2f}{ours * 1e3:10.2f}{ours / plain:8.2f}")


def function_rows() -> None:
    payload = HookInput(scene=Scene(session_id="s"), prompt="A" * 1000).payload("2026-01-02T03:04:05.678Z")
    hook = FunctionHook(lambda given: "ctx")

    async def answer(given: dict[str, object]) -> str:
        return "ctx"

    waiting = FunctionHook(answer)
    (sync,) = medians(5000, lambda: hook.call(payload))

    async def awaited(rounds: int) -> float:
        taken = []
        for _ in range(rounds):
            started = time.perf_counter()
            await waiting.call_async(payload)
            taken.append(time.perf_counter() - started)
        return statistics.median(taken)

    print(f"\n{'function hook':24}{'µs':>10}")
    print(f"{'sync, in a worker':24}{sync * 1e6:10.0f}")
    print(f"{'async, on the loop':24}{asyncio.run(awaited(5000)) * 1e6:10.0f}")


def parallel_rows() -> None:
    """Four hooks of 100 ms in one turn, beside one of them; the limit is 1.3."""

    def turn(count: int) -> float:
        hooks = HookSet(hooks=tuple(CommandHook(command=f"sleep 0.1; echo {number}") for number in range(count)))
        trace = Signals(Options()).start_turn(conversation_id=None, origin=Origin.USER_QUERY)
        fetch = Fetch(trace=trace, hooks=hooks)
        started = time.perf_counter()
        fetch.perform(RunHooks(input=HookInput(scene=Scene(session_id="s"), prompt="hi")))
        return time.perf_counter() - started

    one, four = (statistics.median(turn(count) for _ in range(7)) for count in (1, 4))
    ratio = f"ratio {four / one:.2f} (limit 1.3)"
    print(f"\nfour parallel 100 ms hooks: {four * 1e3:.0f} ms, one: {one * 1e3:.0f} ms, {ratio}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        command_rows(str(Path(folder)))
    function_rows()
    parallel_rows()
