"""One child process with its three pipes: fed, drained, timed, and never left behind.

POSIX. The child leads a process group of its own. All pipes are pumped in one loop, so that neither side waits for the
other; what is over the limit is read and thrown away. The child is reaped only after the last signal was sent: until
then its pid, which is the group's id too, cannot belong to anybody else.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .abort import abort_descriptor

__all__ = ["LIMIT", "Ran", "kill_live", "run"]

LIMIT = 1024 * 1024
"""Bytes kept of stdout, and of stderr."""

_TERM_SECONDS = 2.0
_KILL_SECONDS = 1.0
_ORPHAN_SECONDS = 0.1
_CHUNK = 64 * 1024
_LONGEST_POLL = 3600.0
_POLL_WITHOUT_PIDFD = 0.02

_live: set[int] = set()
_starting = threading.RLock()
_ended = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a child ended: `exit_code` is negative for a signal, None when it timed out or its status was lost.

    `cut` is true when more than `LIMIT` bytes came on one of the pipes.
    """

    exit_code: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    cut: bool


def run(argv: Sequence[str], *, data: bytes, cwd: str, env: Mapping[str, str], timeout: float) -> Ran:
    """Run `argv`, write `data` to its standard input and close it; back within `timeout` plus 3 seconds.

    A timeout sends SIGTERM to the group, SIGKILL 2 seconds later, and waits one more second for the pipes. A process
    that left the group (a daemon) and holds a pipe open delays nothing and lives on. Raises `OSError` or `ValueError`
    when the child cannot be started; whatever interrupts the wait (Ctrl-C) stops the group first. An abort counts as a
    timeout that has come.
    """
    with abort_descriptor() as abort, _Child(argv, data=data, cwd=cwd, env=env, abort=abort) as child:
        in_time = child.pump(time.monotonic() + timeout)
        if not in_time:
            child.stop()
        code = child.reap()
        return Ran(
            exit_code=code if in_time else None,
            timed_out=not in_time,
            stdout=bytes(child.kept[child.stdout]),
            stderr=bytes(child.kept[child.stderr]),
            cut=child.cut,
        )


class _Child:
    """A started process and what is still open of it. Used by one thread."""

    def __init__(
        self, argv: Sequence[str], *, data: bytes, cwd: str, env: Mapping[str, str], abort: int | None
    ) -> None:
        self._process = _start(argv, cwd, env)
        self._pid = self._process.pid
        self._exited = self._reaped = False
        pipes = [pipe for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe is not None]
        self._stdin, self.stdout, self.stderr = (pipe.fileno() for pipe in pipes)
        self._open = dict(zip((self._stdin, self.stdout, self.stderr), pipes, strict=True))
        self._unsent = memoryview(data)
        self.kept: dict[int, bytearray] = {self.stdout: bytearray(), self.stderr: bytearray()}
        self.cut = False
        self._abort, self._aborted = abort, False
        self._poll = select.poll()
        if abort is not None:
            self._poll.register(abort, select.POLLIN)
        self._poll.register(self._stdin, select.POLLOUT)
        for fd in (self.stdout, self.stderr):
            self._poll.register(fd, select.POLLIN)
        for fd in self._open:
            os.set_blocking(fd, False)
        self._pidfd = _pidfd(self._pid)
        if self._pidfd is not None:
            self._poll.register(self._pidfd, select.POLLIN)

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is not None and not self._reaped:
                self.stop()
        finally:
            if not self._reaped:
                self._signal(signal.SIGKILL)
                self.reap()
            for fd in list(self._open):
                self._close(fd)
            if self._pidfd is not None:
                os.close(self._pidfd)

    def pump(self, deadline: float) -> bool:
        """Feed and drain until the child has exited; False when the deadline or an abort came first.

        What it wrote before it exited is in the pipes by then; a pipe that stays open belongs to an orphan.
        """
        self._send()
        while not self._exited:
            if self._aborted or not self._turn(deadline):
                return False
        grace = time.monotonic() + _ORPHAN_SECONDS
        while self._reading() and self._turn(grace):
            pass
        for fd in self.kept:
            if fd in self._open:
                self._receive(fd)
        return True

    def stop(self) -> None:
        """End the group: SIGTERM, SIGKILL, and a while for the pipes to close."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + _TERM_SECONDS
        while (not self._exited or self._reading()) and self._turn(deadline):
            pass
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while (not self._exited or self._reading()) and self._turn(deadline):
            pass

    def reap(self) -> int | None:
        """Collect the exit status; None when somebody else did (SIGCHLD ignored) or the kernel still holds it."""
        if self._reaped:
            return self._process.returncode
        code = None
        try:
            pid, status = os.waitpid(self._pid, 0 if self._exited else os.WNOHANG)
            if pid == self._pid:
                code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            pass
        self._reaped = True
        _live.discard(self._pid)
        # Popen would otherwise wait for the pid again, and warn about a process that is still running.
        self._process.returncode = 0 if code is None else code
        return code

    def _turn(self, deadline: float) -> bool:
        """Wait for one of the pipes or the exit, and deal with it; False once the deadline has passed."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        wait = min(left, _LONGEST_POLL if self._pidfd is not None or self._exited else _POLL_WITHOUT_PIDFD)
        for fd, _ in self._poll.poll(wait * 1000):
            if fd == self._pidfd:
                self._exited = True
                self._poll.unregister(fd)
            elif fd == self._stdin:
                self._send()
            elif fd == self._abort:
                self._aborted = True
                self._poll.unregister(fd)
            else:
                self._receive(fd)
        if self._pidfd is None and not self._exited:
            self._exited = _has_exited(self._pid)
        return True

    def _reading(self) -> bool:
        return self.stdout in self._open or self.stderr in self._open

    def _send(self) -> None:
        if self._stdin not in self._open:
            return
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            # The hook closed its input unread: that is its right (EPIPE).
            pass
        self._forget(self._stdin)

    def _receive(self, fd: int) -> None:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(fd)
            return
        kept = self.kept[fd]
        room = LIMIT - len(kept)
        kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room

    def _forget(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._close(fd)

    def _close(self, fd: int) -> None:
        with contextlib.suppress(OSError):
            self._open.pop(fd).close()

    def _signal(self, number: int) -> None:
        if not self._reaped:
            _signal_group(self._pid, number)


def _pidfd(pid: int) -> int | None:
    """A descriptor that is readable once `pid` has exited; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _has_exited(pid: int) -> bool:
    """Look without reaping."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


def _signal_group(pid: int, number: int) -> None:
    if pid > 1:
        with contextlib.suppress(OSError):
            os.killpg(pid, number)


def _start(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # A child is listed before anybody can look for those that run.
    with _starting:
        if _ended:
            raise OSError("this program is ending")
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        _live.add(process.pid)
        return process


def kill_live() -> None:
    """End the group of every child that is running, and start no more: the program is about to end."""
    global _ended
    _ended = True
    in_order = _starting.acquire(timeout=_TERM_SECONDS)
    for pid in list(_live):
        _signal_group(pid, signal.SIGKILL)
    if in_order:
        _starting.release()


def _renew() -> None:
    global _starting
    _starting = threading.RLock()
    _live.clear()


atexit.register(kill_live)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
