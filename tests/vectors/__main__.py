"""`python -m tests.vectors FILE...`: run any file of vectors, scenarios or cases; exit 1 if any failed."""

from __future__ import annotations

import sys
from pathlib import Path

from .runner import run_file


def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: python -m tests.vectors FILE...", file=sys.stderr)
        return 2
    passed, failed = 0, []
    for name in arguments:
        try:
            for result in run_file(Path(name)):
                if result.failures:
                    failed.append(result.id)
                    print(f"FAILED {result.id}: {'; '.join(result.failures)[:600]!a}")
                else:
                    passed += 1
        except (OSError, ValueError, KeyError) as error:
            print(f"{name}: cannot be run: {error}; give a file of a firsthand format", file=sys.stderr)
            return 2
    if failed:
        print("failing ids: " + " ".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
