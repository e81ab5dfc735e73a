"""Calls that may hang."""

import threading

from middleware.hooks.workers import call_in_worker


def test_a_call_that_raises_is_a_failed_result_and_keeps_its_thread():
    def leaves():
        raise SystemExit(3)

    threads = set()
    for _ in range(20):
        result = call_in_worker(leaves, 5)
        threads |= {thread.ident for thread in threading.enumerate() if thread.name == "firsthand-function-hook"}
        assert (result.success, result.error) == (False, "the hook failed: it raised SystemExit")
    assert len(threads) <= 9
