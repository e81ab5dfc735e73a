"""`firsthand demo --dashboard` in a process of its own: its turns are on the pages of that process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


def asked(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def soon(pattern: str, url: str, count: int) -> list[str]:
    """What the page at `url` has of `pattern`, once it has `count`: texts come by the transcripts, beside the spans."""
    deadline = time.monotonic() + 60
    while len(found := re.findall(pattern, asked(url))) < count:
        assert time.monotonic() < deadline, found
    return found


def test_the_demos_turns_are_on_its_dashboard_until_ctrl_c(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "middleware", "demo", "--dashboard"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = next(found[0] for line in process.stdout if (found := re.search(r"http://localhost:\d+", line)))
        turn = soon(r'href="(/turn/[0-9a-f]{48})"', f"{url}/turns?q=why+is+CI", 1)[0]
        assert [mark.strip() for mark in soon(r'class="mark">([a-z ]+)<', url + turn, 3)] == ["typed", "memory", "hook"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
