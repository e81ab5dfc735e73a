"""Random operations on a real chat and on the model of `model.py`, which must agree after every one.

`python -m tests.chat.machine 100000` runs that many steps.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from middleware.chat import State
from tests.vectors.composing import LOCAL, Stage

from .model import Model

BODIES = {"review": "BODY", "git:commit": "COMMIT"}
WORDS = st.sampled_from(
    (
        *("a", "b", " ", "a ", "\n", "two words", "\ufeff", "\x85", "exit", "/help", "/review it", "/git:commit"),
        *("/var/log", "/btw side", "?btw side", "/btw", "?", "[Pasted Content 1001 chars]", " #2", "@a.png", "run it"),
    )
)
LARGE = st.sampled_from(["x" * 1001, "y" * 1001, "\n" * 10, "z" * 1000, "[Pasted Content 1001 chars]" * 40, "small"])
TYPED = ("type", "edit", "complete", "editor_return", "accept_suggestion", "search_accept", "search_submit")
GIVEN = ("rewind", "speculation_ready", "program_submit", "remote", "pending_reminder")
PLAIN = (
    *("submit", "queue", "vim_normal_submit", "search_submit", "clear", "undo", "redo", "history_up", "history_down"),
    *("finish", "restore_queue", "steer_drain", "steer_restore", "admission_failed", "tool_result", "cancel"),
    *("delete_placeholder", "put_away", "take_out"),
)
MODES = ("vim_on", "vim_off", "shell_on", "shell_off", "agent_tab", "main_tab", "stash", "restart")
NAMED = {"queue": "queue_it", "stash": "stash_now"}


class Agreeing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.real = Stage({"commands": {f"/{name}": body for name, body in BODIES.items()}}, Path("/nowhere"))
        self.model = Model([*LOCAL], BODIES)

    def both(self, op: str, **how: Any) -> None:
        self.real.step({"op": op, **how})
        if op in ("agent_tab", "main_tab"):
            self.model.agent = op == "agent_tab"
        else:
            self.model.do(NAMED.get(op, op), **how)

    @rule(op=st.sampled_from(TYPED + GIVEN), text=WORDS)
    def with_a_text(self, op: str, text: str) -> None:
        self.both(op, text=text)

    @rule(text=WORDS)
    def typing(self, text: str) -> None:
        self.both("type", text=text)

    @rule(text=LARGE)
    def pasting(self, text: str) -> None:
        self.both("paste", text=text)

    @rule(text=st.sampled_from(["a.png", "b.png"]))
    def attaching(self, text: str) -> None:
        self.both("attach_image", text=text)

    @rule(text=st.sampled_from(["a.png", "b.png"]))
    def detaching(self, text: str) -> None:
        self.both("detach", text=text)

    @rule(op=st.sampled_from(PLAIN))
    def by_itself(self, op: str) -> None:
        self.both(op)

    @rule(op=st.sampled_from(MODES))
    def in_a_mode(self, op: str) -> None:
        self.both(op)

    @rule(output=st.booleans(), tool_running=st.booleans())
    def cancelling(self, output: bool, tool_running: bool) -> None:
        self.both("cancel", output=output, tool_running=tool_running)

    @invariant()
    def they_agree(self) -> None:
        chat, model = self.real.chat, self.model
        state = State.TAINTED if model.tainted else State.RESTORED if model.side else State.FRESH
        fired = [(e["send_type"], e["prompt"], e.get("submitted_prompt")) for e in self.real.events]
        assert (chat.composer.text, [*chat.composer.chips]) == (model.text, model.chips)
        assert (chat.composer.state, chat.composer.expanded) == (state, model.expanded())
        assert [entry.text for entry in chat.history.entries] == model.log
        waiting = [[i.text, i.submitted_prompt, i.kind == "deferred", i.command] for i in chat.queue.items]
        assert waiting == [[text, value, kind == "deferred", name] for text, value, kind, name in model.queue]
        assert (chat.busy, chat.stash or "", [*chat.shelf]) == (bool(model.turn), model.stash, model.shelf)
        assert fired == model.events


def run(steps: int) -> None:
    """Run about that many steps; raises AssertionError with the shortest sequence that they disagree on."""
    each = 100 if steps >= 10_000 else 50
    run_state_machine_as_test(
        Agreeing,
        settings=settings(
            max_examples=max(1, steps // each),
            stateful_step_count=each,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


if __name__ == "__main__":
    run(int(sys.argv[1]))
    print(f"{sys.argv[1]} steps without a disagreement")
