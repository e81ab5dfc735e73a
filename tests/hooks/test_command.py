"""Real commands: what they are given, how they end, what is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from middleware.hooks import CommandHook, HookResult
from middleware.hooks.aggregate import context_of
from middleware.hooks.command import argv_of, timeout_of
from middleware.turn import HookInput, Scene
from tests.pace import open_descriptors, settled_descriptors


def payload(folder: Path, prompt: str = "hello", **more: object) -> dict[str, object]:
    made = HookInput(scene=Scene(session_id="s", cwd=str(folder)), prompt=prompt).payload("2026-01-02T03:04:05.678Z")
    return {**made, **more}


def run(folder: Path, command: str, prompt: str = "hello", **options: object) -> HookResult:
    return CommandHook(command=command, **options).call(payload(folder, prompt))  # type: ignore[arg-type]


def children() -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(path.parent.name))
    return found


def left_over() -> tuple[set[int], set[str]]:
    """Child processes and open descriptors of this process."""
    return children(), open_descriptors()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def dies(pid: int) -> bool:
    """A killed process closes its pipes a moment before it is gone."""
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def test_a_hook_is_given_the_payload_and_nothing_after_it(tmp_path: Path) -> None:
    run(tmp_path, "cat > seen")
    assert (tmp_path / "seen").read_bytes() == (
        f'{{"session_id":"s","transcript_path":"","cwd":"{tmp_path}","hook_event_name":"UserPromptSubmit",'
        '"timestamp":"2026-01-02T03:04:05.678Z","permission_mode":"default","prompt":"hello"}'
    ).encode()


def test_invalid_unicode_anywhere_in_the_payload_is_replaced(tmp_path: Path) -> None:
    hook = CommandHook(command="cat > seen")
    assert hook.call(payload(tmp_path, "a\ud83dz", session_id="s\ud800\x00")).success
    seen = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))
    assert (seen["prompt"], seen["session_id"]) == ("a\ufffdz", "s\ufffd\ufffd")


def test_a_payload_that_is_no_json_is_a_failed_hook(tmp_path: Path) -> None:
    result = CommandHook(command="true").call(payload(tmp_path, x=b"bytes"))
    assert (result.outcome, result.error) == ("non_blocking_error", "Hook could not be started: TypeError")


def test_the_prompt_is_never_in_the_command_line_or_the_environment(tmp_path: Path) -> None:
    prompt = '$(touch pwned) `touch pwned` "; touch pwned; #' + "A" * 200_000
    result = run(
        tmp_path, "tr '\\0' '\\n' < /proc/$$/cmdline | wc -c; env | wc -c; cat >/dev/null; : $ARGUMENTS", prompt
    )
    assert result.success
    assert not (tmp_path / "pwned").exists()
    assert all(int(line) < 100_000 for line in str(context_of(result.output)).split())


def test_a_hook_runs_in_the_payloads_folder_with_the_project_variables_and_its_own_last(tmp_path: Path) -> None:
    command = 'echo "$(pwd) $GEMINI_PROJECT_DIR $CLAUDE_PROJECT_DIR $QWEN_PROJECT_DIR $A"'
    result = run(tmp_path, command, env={"A": "1", "QWEN_PROJECT_DIR": "own"})
    assert context_of(result.output) == f"{tmp_path} {tmp_path} {tmp_path} own 1"


def test_without_a_folder_a_hook_runs_where_the_program_does(tmp_path: Path) -> None:
    result = CommandHook(command="pwd").call({"cwd": ""})
    assert context_of(result.output) == str(Path.cwd())


@pytest.mark.parametrize("cwd", ["/no/such/folder", "/etc/passwd", "a\0b", 5])
def test_a_folder_that_is_none_is_a_failed_hook(cwd: object) -> None:
    result = CommandHook(command="true").call({"cwd": cwd})
    assert (result.success, result.outcome, result.output) == (False, "non_blocking_error", None)
    assert result.error == "Hook could not be started: cwd is no directory"


def test_a_closed_hook_that_cannot_start_refuses(tmp_path: Path) -> None:
    result = CommandHook(command="true", name="guard", fail_closed=True).call({"cwd": "/no/such"})
    assert result.output is not None
    assert (result.output["decision"], "guard" in str(result.output["reason"])) == ("deny", True)


def test_a_command_too_long_to_start_is_a_failed_hook(tmp_path: Path) -> None:
    result = run(tmp_path, "true #" + "x" * 200_000)
    assert result.error == "Hook could not be started: Argument list too long"


def test_a_file_that_is_not_executable_is_a_failed_hook(tmp_path: Path) -> None:
    (tmp_path / "not-exec.sh").write_text("echo x", encoding="utf-8")
    result = run(tmp_path, "./not-exec.sh")
    assert (result.success, result.exit_code, context_of(result.output)) == (False, 126, None)


def test_a_megabyte_in_and_out_at_once_does_not_deadlock(tmp_path: Path) -> None:
    result = run(tmp_path, "tee /dev/stderr", "A" * 1_000_000, timeout_ms=10_000)
    assert result.success
    assert result.output_chars > 1_000_000


def test_output_over_a_megabyte_is_dropped_with_a_warning(tmp_path: Path) -> None:
    result = run(tmp_path, "head -c 100000000 /dev/zero | tr '\\0' x", timeout_ms=30_000)
    assert (result.output_chars, len(context_of(result.output) or "")) == (1024 * 1024, 1024 * 1024)
    assert result.warnings == ("output over 1048576 bytes a stream was dropped",)


def test_endless_output_does_not_grow_the_memory() -> None:
    script = (
        "import resource\n"
        "from middleware.hooks import CommandHook\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "CommandHook(command='true').call({'cwd': ''})\n"
        "before = peak()\n"
        "print(CommandHook(command='yes AAAAAAAA; yes >&2', timeout_ms=1000).call({'cwd': ''}).outcome)\n"
        "print((peak() - before) / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    outcome, megabytes = done.stdout.split()
    assert outcome == "timeout"
    assert float(megabytes) < 16


def test_exactly_a_megabyte_is_not_cut(tmp_path: Path) -> None:
    assert run(tmp_path, "head -c 1048576 /dev/zero | tr '\\0' x", timeout_ms=30_000).warnings == ()


def test_a_hook_that_never_stops_printing_ends_by_its_timeout(tmp_path: Path) -> None:
    result = run(tmp_path, "yes AAAAAAAA", timeout_ms=300)
    assert (result.outcome, result.output, result.exit_code) == ("timeout", None, None)
    assert result.duration_ms >= 300


def test_a_timeout_leaves_no_process_and_no_descriptor(tmp_path: Path) -> None:
    before = children(), settled_descriptors()
    result = run(tmp_path, "sleep 93 & echo $! > pid; wait", timeout_ms=500)
    assert (result.outcome, result.error) == ("timeout", "Hook timed out after 0.5s")
    assert dies(int((tmp_path / "pid").read_text(encoding="utf-8")))
    assert left_over() == before


def test_a_hook_that_ignores_sigterm_is_killed_two_seconds_later(tmp_path: Path) -> None:
    result = run(tmp_path, "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done", timeout_ms=500)
    assert result.outcome == "timeout"
    assert result.duration_ms > 2400
    assert dies(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_grandchild_that_ignores_sigterm_is_killed_too(tmp_path: Path) -> None:
    result = run(
        tmp_path, "(trap '' TERM; echo $BASHPID > pid; while :; do sleep 0.05; done) & sleep 30", timeout_ms=300
    )
    assert result.outcome == "timeout"
    assert dies(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_hook_that_handles_sigterm_may_finish_but_stays_timed_out(tmp_path: Path) -> None:
    command = "trap 'echo tidy > tidied; exit 0' TERM; while :; do sleep 0.05; done"
    result = run(tmp_path, command, timeout_ms=500)
    assert (result.outcome, (tmp_path / "tidied").exists()) == ("timeout", True)


def test_an_orphan_that_holds_stdout_does_not_hold_the_turn_and_lives_on(tmp_path: Path) -> None:
    result = run(tmp_path, "sleep 90 & echo $! > pid; echo ctx")
    assert context_of(result.output) == "ctx"
    orphan = int((tmp_path / "pid").read_text(encoding="utf-8"))
    assert is_alive(orphan)
    os.kill(orphan, signal.SIGKILL)


def test_a_hook_that_closes_its_pipes_is_still_waited_for(tmp_path: Path) -> None:
    result = run(tmp_path, "exec <&- >&- 2>&-; sleep 0.3; exit 2")
    assert (result.outcome, result.exit_code) == ("blocking", 2)


def test_many_hooks_at_once_from_many_threads_keep_their_own_results(tmp_path: Path) -> None:
    before = children(), settled_descriptors()
    results: dict[int, object] = {}

    def one(number: int) -> None:
        results[number] = context_of(run(tmp_path, f"cat >/dev/null; echo {number}", "A" * 100_000).output)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: str(number) for number in range(24)}
    assert left_over() == before


def test_a_hook_works_without_pidfds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children(), settled_descriptors()
    monkeypatch.delattr(os, "pidfd_open")
    assert context_of(run(tmp_path, "echo ctx").output) == "ctx"
    assert run(tmp_path, "sleep 30", timeout_ms=200).outcome == "timeout"
    assert left_over() == before


def test_a_lost_exit_status_is_a_failure_not_a_pass(tmp_path: Path) -> None:
    script = (
        "import signal, sys\n"
        "from middleware.hooks import CommandHook\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "result = CommandHook(command='exit 2', fail_closed=True).call({'cwd': ''})\n"
        "print(result.success, result.output['decision'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False deny\n"


def test_ctrl_c_ends_the_hook_and_reaches_the_caller(tmp_path: Path) -> None:
    script = (
        "import signal, sys, time\n"
        "from middleware.hooks import CommandHook\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.5)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "try:\n"
        "    CommandHook(command='echo $$ > pid; sleep 32').call({'cwd': sys.argv[1]})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    assert dies(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_hooks_that_run_when_the_program_ends_are_killed(tmp_path: Path) -> None:
    script = (
        "import sys, threading, time\n"
        "from pathlib import Path\n"
        "from middleware.hooks import CommandHook\n"
        "hook = CommandHook(command='echo $$ > pid.new; mv pid.new pid; sleep 33')\n"
        "threading.Thread(target=hook.call, args=({'cwd': sys.argv[1]},), daemon=True).start()\n"
        "while not Path(sys.argv[1], 'pid').exists():\n"
        "    time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    assert dies(pid)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (0.5, (500, False)),
        (60, (60_000, False)),
        (999, (999_000, False)),
        (999.5, (999_500, False)),
        (1000, (1000, True)),
        (60_000, (60_000, True)),
        (0.0001, (1, False)),
        (" 30 ", (30_000, False)),
        ("2000", (2000, True)),
        ("1e1", (10_000, False)),
        ("1_0", (60_000, False)),
        ("0x10", (60_000, False)),
        ("٣", (60_000, False)),
        ("inf", (60_000, False)),
        (" ", (60_000, False)),
        (None, (60_000, False)),
        (True, (60_000, False)),
        (0, (60_000, False)),
        (-1, (60_000, False)),
        (float("nan"), (60_000, False)),
        (float("inf"), (60_000, False)),
        (10**400, (60_000, False)),
        ([1], (60_000, False)),
    ],
)
def test_a_timeout_is_seconds_or_old_milliseconds_or_the_default(value: object, answer: tuple[int, bool]) -> None:
    assert timeout_of(value) == answer


def test_a_timeout_longer_than_any_clock_still_runs(tmp_path: Path) -> None:
    assert run(tmp_path, "true", timeout_ms=timeout_of(1e300)[0]).success


def test_powershell_is_given_the_folder_in_the_command() -> None:
    argv = argv_of("powershell", "& $CLAUDE_PROJECT_DIR/x.ps1", "/it's")
    assert argv[1:] == ["-NoProfile", "-Command", "& '/it''s'/x.ps1"]


def test_bash_is_given_the_command_unchanged() -> None:
    assert argv_of("bash", 'echo "$CLAUDE_PROJECT_DIR"', "/w")[1:] == ["-c", 'echo "$CLAUDE_PROJECT_DIR"']
