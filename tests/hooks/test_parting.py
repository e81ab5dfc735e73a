"""Signals to a program of ours while its hooks run."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from middleware.hooks.parting import hooks_end_with_us

ROOT = Path(__file__).parents[2]


def until(true):
    """Wait for what comes soon."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def runs(pid):
    """False also for a dead process that nobody has collected yet."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def said(path):
    return path.read_text().strip() if path.exists() else ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_hooks_test_and_its_hooks_at_once(tmp_path, number):
    pids = [tmp_path / "one", tmp_path / "two"]
    entries = [{"type": "command", "command": f"echo $$ > {pid}; sleep 32.5", "name": pid.name} for pid in pids]
    (tmp_path / "h.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}}))
    # Whoever runs these tests may ignore some of the signals.
    start = (
        f"import signal; signal.signal({int(number)}, signal.default_int_handler if {number == 2} else signal.SIG_DFL)"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", f"{start}; from middleware.cli import firsthand; firsthand()",
         "hooks", "test", "--hooks-file", "h.json"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: all(said(pid) for pid in pids))
    started.send_signal(number)
    assert started.wait(60) == (130 if number is signal.SIGINT else -number)
    until(lambda: not any(runs(said(pid)) for pid in pids))


def test_a_hook_that_is_just_being_started_ends_with_the_others(tmp_path):
    pid = tmp_path / "pid"
    program = f"""
import os, pathlib, subprocess, threading, time
from middleware.hooks.process import kill_live, run

class Slow(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        time.sleep(0.5)

subprocess.Popen = Slow
argv = ["sh", "-c", "echo $$ > {pid}; sleep 32.5"]
threading.Thread(target=run, args=(argv,), daemon=True,
                 kwargs=dict(data=b"", cwd="/", env=dict(os.environ), timeout=60)).start()
while not (pathlib.Path("{pid}").exists() and pathlib.Path("{pid}").read_text().strip()):
    time.sleep(0.001)
kill_live()
os._exit(3)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False)
    assert ended.returncode == 3
    until(lambda: not runs(said(pid)))


def test_no_hook_starts_once_the_program_is_ending():
    program = """
from middleware.hooks.process import kill_live, run
kill_live()
try:
    run(["true"], data=b"", cwd="/", env={}, timeout=60)
except OSError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=True, capture_output=True)
    assert said.stdout == b"this program is ending\n"


def test_a_handler_of_the_application_and_an_ignored_signal_are_left_alone():
    def ours(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, ours), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with hooks_end_with_us():
            assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == (ours, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])


def test_signals_are_as_before_behind_the_block():
    before = signal.getsignal(signal.SIGQUIT)
    with hooks_end_with_us():
        pass
    assert signal.getsignal(signal.SIGQUIT) is before


def test_another_thread_takes_no_signal():
    seen = []

    def run():
        with hooks_end_with_us():
            seen.append(signal.getsignal(signal.SIGQUIT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
