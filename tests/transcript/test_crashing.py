"""Processes that are killed while they append; `python -m tests.transcript.crashing` does the same 200 times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_no_record_that_append_returned_for_is_lost_to_20_kills_and_none_is_corrupt(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.transcript.crashing import crash\n"
        "found = crash(Path(sys.argv[1]), 20)\n"
        "print(found.lost, found.corrupt, found.flaws, found.acknowledged > 100, found.torn <= 22)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=120, check=False)
    nothing = "{'one': [], 'two': [], 'three': []}"
    assert (done.stderr, done.stdout.decode()) == (b"", f"{nothing} {nothing} {nothing} True True\n")
