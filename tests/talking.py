"""A hand-fed conversation: requests go through real sessions and ledgers, the test answers every step."""

from __future__ import annotations

from middleware.errors import HookBlocked
from middleware.ledger import Wait, thread_of
from middleware.parts import Message, Part, Reply, Request
from middleware.sdks.reading import current_of
from middleware.session import Pipeline, Session
from middleware.sessions import Sessions
from middleware.turn import HookOutcome, Recall, RunHooks


def said(role, text="", *, calls=(), results=()):
    parts = [Part(kind="text", text=text)] if text else []
    parts += [Part(kind="tool_call", id=call, name="tool", text="{}") for call in calls]
    parts += [Part(kind="tool_response", id=result, name="tool", text="ok") for result in results]
    return Message(role=role, parts=tuple(parts))


def user(text):
    return said("user", text)


def assistant(text="", *, calls=()):
    return said("assistant", text, calls=calls)


def tool(*results):
    return said("tool", results=results)


def system(text):
    return said("system", text)


def request(*messages):
    current, tool_result = current_of(messages)
    return Request(messages=messages, current=current, tool_result=tool_result)


class Talk:
    """Sends requests and answers hooks with `ctx-1`, `ctx-2`, ... (or `outcome`), memories with `memories`."""

    def __init__(self):
        self.sessions = Sessions(lambda id, user: Session(id=id, user=user))
        self.hook_inputs = []
        self.recalls = []
        self.outcome = None
        self.memories = ()

    def send(self, *messages, session=None, **how):
        """Send; returns the admitted turn, not answered yet."""
        what = request(*messages)
        session = session or self.sessions.anonymous(thread_of(what), None)
        steps = session.steps(what, pipeline=Pipeline(fires=True, recalls=bool(self.memories)), **how)
        return Sent(self, session, self._run(steps))

    def ask(self, *messages, session=None, reply="ok", **how):
        """Send and deliver a reply (a text or a message)."""
        sent = self.send(*messages, session=session, **how)
        sent.answer(reply)
        return sent

    def _run(self, steps):
        try:
            step = next(steps)
            while True:
                step = steps.send(self._perform(step))
        except StopIteration as end:
            return end.value

    def _perform(self, step):
        if isinstance(step, RunHooks):
            self.hook_inputs.append(step.input)
            return self.outcome or HookOutcome(additional_context=f"ctx-{len(self.hook_inputs)}")
        if isinstance(step, Recall):
            self.recalls.append(step)
            return tuple(memory for memory in self.memories if memory.id not in step.delivered)
        assert isinstance(step, Wait)
        step.flight.landed.result(timeout=60)
        return True


class Sent:
    """One admitted turn; `blocks` are the hook contexts on its messages by index."""

    def __init__(self, talk, session, admitted):
        self.talk = talk
        self.session = session
        self.admitted = admitted
        self.origin = admitted.turn.origin
        self.blocks = {index: block.hook for index, block in admitted.prepared.blocks.items()}

    def answer(self, reply, outcome="sent"):
        message = assistant(reply) if isinstance(reply, str) else reply
        self.session.settled(self.admitted, Reply(messages=(message,)), outcome)
        if not self.session.named:
            self.talk.sessions.heard(self.session)

    def fail(self):
        self.session.settled(self.admitted, None, "error")


BLOCKED = HookOutcome(blocked=True, reason="no", blocked_by=("guard",))
__all__ = ["BLOCKED", "HookBlocked", "Sent", "Talk", "assistant", "request", "said", "system", "tool", "user"]
