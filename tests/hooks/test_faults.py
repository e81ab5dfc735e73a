"""What goes wrong with hooks in the wild never hurts the application: the turn goes on in time, nothing is left."""

import contextlib
import json
import os
import resource
import threading
import time
from pathlib import Path

import pytest

from middleware import Middleware
from middleware.testing import LocalModel
from tests.hooks.http_server import answer, saying, serving
from tests.pace import HANG, open_descriptors, settled_descriptors
from tests.test_prefix import OpenAIModel, sync_client

HI = [{"role": "user", "content": "hi"}]


def children():
    """Process ids of our living or unreaped children."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # A thread that has just ended.
            found += (task / "children").read_text().split()
    return found


def running(marker):
    """Processes whose command line holds a marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(entry.name)
            except OSError:
                continue
    return found


@pytest.fixture
def turn(tmp_path):
    """Runs one turn with command hooks; returns what was sent, and the seconds that it took."""
    model = OpenAIModel()
    with sync_client(model) as plain:

        def run(*entries, prompt="hi"):
            path = tmp_path / "hooks.json"
            hooks = [{"type": "command", "timeout": 1, **entry} for entry in entries]
            path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": hooks}]}}))
            client = Middleware.from_settings(hooks_file=path).wrap(plain)
            started = time.monotonic()
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
            return model.requests[-1], time.monotonic() - started

        yield run


FAULTS = {
    "fifty grandchildren": "for i in $(seq 50); do (sleep 93.5 &) ; done; sleep 93.5",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 0.05; done",
    "never reads its input": "exec sleep 93.5",
    "a hundred megabytes": "head -c 100000000 /dev/zero | tr '\\0' 'x'; sleep 93.5",
    "prints without end": "exec yes AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "stops itself": "kill -STOP $$",
    "a child that holds the output": "(setsid sleep 2 &) ; exit 0",
}


@pytest.mark.parametrize("command", FAULTS.values(), ids=FAULTS)
def test_the_turn_goes_on_long_before_the_hook_would_have_ended(turn, command):
    before, others = settled_descriptors(), children()
    sent, seconds = turn({"command": command}, prompt="A" * 10_000_000 if "sleep 93.5" in command else "hi")
    assert len(sent) == 1 and seconds < HANG
    assert open_descriptors() == before
    assert children() == others
    assert running("93.5") == []


def test_a_hook_without_its_exec_bit_is_an_error_and_the_turn_goes_on(turn, tmp_path, caplog):
    script = tmp_path / "hook.sh"
    script.write_text("#!/bin/sh\necho ctx\n")
    script.chmod(0o644)
    assert turn({"command": str(script), "name": "plain-file"})[0] == HI
    assert "hook plain-file: failed with exit code 126, found and not executable; the turn goes on" in caplog.text


def test_a_deleted_working_directory_costs_the_hook_and_not_the_turn(turn, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert turn({"command": "echo ctx"})[0][0]["role"] == "user"


def test_without_descriptors_the_turn_goes_on(turn):
    turn({"command": "true"})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(open_descriptors()) + 8, hard))
        while True:
            try:
                held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                break
        os.close(held.pop())
        sent, _ = turn({"command": "echo ctx"})
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sent == HI


def test_a_thousand_turns_leave_no_descriptor_no_zombie_and_no_memory(tmp_path):
    path = tmp_path / "hooks.json"
    hook = {"type": "command", "command": "echo c"}
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    model = OpenAIModel()
    with sync_client(model) as plain:
        client = Middleware.from_settings(hooks_file=path).wrap(plain)

        def turns(count):
            for number in range(count):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"hi {number}"}])
                model.requests.clear()

        turns(300)
        before, others, size = settled_descriptors(), children(), rss()
        turns(1000)
    assert open_descriptors() == before
    assert children() == others
    assert rss() - size < 8_000_000


def test_a_thousand_turns_with_the_other_hooks_leave_nothing_either(tmp_path):
    path = tmp_path / "hooks.json"
    said = json.dumps({"hookSpecificOutput": {"additionalContext": "c"}}).encode()
    with serving(saying(answer(said))) as server:
        entries = [
            {"type": "http", "url": server.url()},
            {"type": "prompt", "prompt": "$ARGUMENTS", "debugLog": str(tmp_path / "log")},
            {"type": "command", "command": "echo later", "async": True},
        ]
        path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": entries}]}}))
        model = LocalModel(default='{"ok": true}')
        app = Middleware.from_settings(hooks_file=path, hooks=[lambda payload: "f"])
        client = app.wrap(model.openai())

        def turns(count):
            for number in range(count):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"hi {number}"}])
                for kept in (model.requests, model.headers, model.paths_asked, server.requests):
                    kept.clear()

        others = children()
        turns(300)
        settled(lambda: children() != others)
        before, size, threads = len(settled_descriptors()), rss(), threading.active_count()
        turns(1000)
        settled(lambda: children() != others)
        assert len(open_descriptors()) - before < 8  # the server's side of the last connections
        assert children() == others
        assert threading.active_count() - threads < 16
        assert rss() - size < 8_000_000


def settled(running):
    """Wait until nothing is running any more."""
    deadline = time.monotonic() + 60
    while running() and time.monotonic() < deadline:
        time.sleep(0.01)


def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
