"""CPU of importing the library over `import opentelemetry.sdk.trace`, in fresh interpreters, interleaved.

The limit is 100 ms; `python -m tests.benchmarks.bench_import [ROUNDS]`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

BASE = "opentelemetry.sdk.trace"
STATEMENTS = {
    "nothing": "pass",
    BASE: f"import {BASE}",
    "middleware": f"import {BASE}, middleware",
    "recall_store": "import recall_store",
    "openai": "import openai",
}


def cpu_ms(statement: str) -> float:
    """User and system time of one interpreter that runs the statement, in milliseconds."""
    process = subprocess.Popen([sys.executable, "-c", statement])
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    taken: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for number in range(rounds + 1):
        for name, statement in STATEMENTS.items():
            value = cpu_ms(statement)
            if number:
                taken[name].append(value)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    print("| import | CPU ms | over opentelemetry.sdk.trace |\n|---|---|---|")
    for name, value in medians.items():
        print(f"| {name} | {value:.0f} | {value - medians[BASE]:+.0f} |")
    over = medians["middleware"] - medians[BASE]
    print(f"\nmiddleware over {BASE}: {over:.0f} ms, limit 100 ms, ratio {over / 100:.2f}")


if __name__ == "__main__":
    main()
