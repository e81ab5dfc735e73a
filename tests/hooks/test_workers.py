"""Calls that may hang."""

import contextvars
import threading

import pytest

from middleware.hooks.abort import abortable
from middleware.hooks.workers import call_in_worker
from tests.pace import HANG


def test_a_call_that_raises_is_a_failed_result_and_keeps_its_thread():
    def leaves():
        raise SystemExit(3)

    threads = set()
    for _ in range(20):
        result = call_in_worker(leaves, 5)
        threads |= {thread.ident for thread in threading.enumerate() if thread.name == "firsthand-function-hook"}
        assert (result.success, result.error) == (False, "the hook failed: it raised SystemExit")
    assert len(threads) <= 9


class Cancelled(BaseException):
    pass


def test_whoever_waits_for_a_call_that_hangs_is_free_once_the_turn_is_cancelled():
    hangs, entered, answers = threading.Event(), threading.Event(), []

    def call():
        entered.set()
        hangs.wait(60)

    with pytest.raises(Cancelled), abortable():
        waiter = threading.Thread(
            target=contextvars.copy_context().run, args=(lambda: answers.append(call_in_worker(call, 60)),)
        )
        waiter.start()
        assert entered.wait(60)
        raise Cancelled
    waiter.join(HANG / 2)
    assert not waiter.is_alive()
    hangs.set()
    assert answers == [None]
