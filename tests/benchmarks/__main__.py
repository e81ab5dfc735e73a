"""`python -m tests.benchmarks`: every benchmark, one after the other, each with a table of ratios."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    failed = 0
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n## {path.stem.removeprefix('bench_')}\n", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"tests.benchmarks.{path.stem}"]).returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
