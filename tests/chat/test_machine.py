"""The real composer and queue agree with a model written from the rule book's prose."""

from __future__ import annotations

from tests.chat.machine import run


def test_random_operations_leave_the_chat_and_the_model_in_the_same_state() -> None:
    run(1_500)
