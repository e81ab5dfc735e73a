"""The pipeline of one turn, as a generator that does no I/O.

`Turn.prepare` yields what must be fetched and returns what must be sent; a driver fetches, in either colour.
The order is the code: the text from before injection is taken first, a block raises before recall, and the
injection comes last. That recall is asked with `PreInjectionText` is checked by the types.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from .errors import HookBlocked
from .injection import Block, Memory, block_of, body_of
from .parts import PreInjectionText, Request, clean, is_blank
from .provenance import Origin

__all__ = [
    "SYSTEM",
    "HookInput",
    "HookOutcome",
    "Opened",
    "Outcome",
    "Prepared",
    "Recall",
    "RunHooks",
    "Scene",
    "Step",
    "Steps",
    "Turn",
    "opened",
    "outcome",
    "shortened",
]

T = TypeVar("T")
SYSTEM = -1
_QUERY_WORDS = 64
_QUERY_BYTES = 1_000
Outcome: TypeAlias = Literal["sent", "blocked", "error", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a turn happens, as a hook is told (hooks-and-transcripts 1.1)."""

    session_id: str
    transcript_path: str = ""
    cwd: str = ""
    prompt_id: str | None = None
    permission_mode: str = "default"
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a hook is given (hooks-and-transcripts 1.1, 1.2).

    `prompt` and `submitted_prompt` are UserPromptSubmit's, None means that the key is left out; `details` are the
    fields of other events.
    """

    event: str = "UserPromptSubmit"
    scene: Scene
    prompt: str | None = None
    submitted_prompt: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    def payload(self, timestamp: str) -> dict[str, object]:
        """The JSON object for standard input, in the reference's order; absent optionals are omitted."""
        scene = self.scene
        payload: dict[str, object] = {
            "session_id": scene.session_id,
            "transcript_path": scene.transcript_path,
            "cwd": scene.cwd,
            "hook_event_name": self.event,
            "timestamp": timestamp,
            "permission_mode": scene.permission_mode,
        }
        if scene.agent_id is not None:
            payload["agent_id"] = scene.agent_id
        if scene.prompt_id is not None:
            payload["prompt_id"] = scene.prompt_id
        payload |= self.details
        if self.prompt is not None:
            payload["prompt"] = clean(self.prompt)
        if self.submitted_prompt is not None:
            payload["submitted_prompt"] = clean(self.submitted_prompt)
        return payload


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOutcome:
    """What all hooks of an event say together.

    `additional_context` is raw and joined in configuration order; `reason` and `blocked_by` (hook names)
    speak only when `blocked`.
    """

    blocked: bool = False
    reason: str = ""
    blocked_by: tuple[str, ...] = ()
    additional_context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """Step: run the hooks of an event. Answered with a `HookOutcome`."""

    input: HookInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Step: ask the store. Answered with memories, best first; late or failed is none.

    `delivered` maps the ids of memories whose block is in this request already to their version, or, where a
    transcript told of them, to the body that holds them.
    """

    query: PreInjectionText
    delivered: Mapping[str, str] = field(default_factory=dict)


Step: TypeAlias = RunHooks | Recall
Steps: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request and the block of each of its messages, by index; `block` is the one made for this turn.

    The block at `SYSTEM` belongs to the system instruction.
    """

    request: Request
    blocks: Mapping[int, Block]
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What the hooks of a session's start left: a block of the system instruction, a raw context for its first
    message."""

    instruction: Block = field(default_factory=Block)
    subagent: str | None = None


def opened(inputs: Sequence[HookInput], *, max_context_chars: int = 100_000) -> Steps[Opened]:
    """Run SessionStart and SubagentStart hooks, in the order of `inputs`; neither can refuse anything."""
    instruction, subagent = Block(), None
    for hook_input in inputs:
        said = yield from _run_hooks(hook_input)
        if hook_input.event == "SubagentStart":
            subagent = said.additional_context
        else:
            body, truncated = body_of(said.additional_context, max_context_chars=max_context_chars)
            instruction = Block(session=body, truncated=truncated)
    return Opened(instruction=instruction, subagent=subagent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One model call on its way out.

    `history` holds the blocks of messages that are re-sent; `sticky` is the block of a retried turn, which
    runs no hook and asks no store (D16). `fires` and `recalls` say what is configured, the origin decides.
    `instruction` is the block of the session's system instruction, `subagent` the raw context that its start
    left for the first message, `pending` what background hooks of earlier turns said.
    """

    request: Request
    scene: Scene
    origin: Origin
    submitted_prompt: str | None = None
    history: Mapping[int, Block] = field(default_factory=dict)
    sticky: Block | None = None
    instruction: Block = field(default_factory=Block)
    subagent: str | None = None
    pending: tuple[str, ...] = ()
    fires: bool = False
    recalls: bool = False
    max_context_chars: int = 100_000

    def prepare(self) -> Steps[Prepared]:
        """Yield what must be fetched; return what must be sent.

        Raises `HookBlocked` before recall: a blocked prompt reaches no embedder.
        """
        if self.sticky is not None:
            return self._with_injection(self.sticky)
        text = self.request.pre_injection_text()
        contexts = list(self.pending)
        if self.fires and self.origin.fires_hooks and self.request.current is not None:
            said = yield from _run_hooks(
                HookInput(scene=self.scene, prompt=text, submitted_prompt=self.submitted_prompt)
            )
            if said.blocked:
                raise HookBlocked(hook=", ".join(said.blocked_by) or "hook", reason=said.reason, prompt=text)
            if said.additional_context is not None:
                contexts.append(said.additional_context)
        memories: tuple[Memory, ...] = ()
        if self.recalls and self.origin.recalls and not is_blank(text):
            memories = yield from _recall(shortened(text), self._delivered())
        context = "\n".join(contexts) if contexts else None
        return self._with_injection(
            block_of(context, memories, subagent=self.subagent, max_context_chars=self.max_context_chars)
        )

    def _with_injection(self, block: Block) -> Prepared:
        blocks = dict(self.history)
        if self.instruction:
            blocks[SYSTEM] = self.instruction
        if block and self.request.current is not None:
            blocks[self.request.current] = block
        return Prepared(request=self.request, blocks=blocks, block=block)

    def _delivered(self) -> Mapping[str, str]:
        return {
            memory.id: memory.version or block.memory for block in self.history.values() for memory in block.recalled
        }


def _run_hooks(hook_input: HookInput) -> Generator[Step, Any, HookOutcome]:
    answer: HookOutcome = yield RunHooks(input=hook_input)
    return answer


def _recall(query: PreInjectionText, delivered: Mapping[str, str]) -> Generator[Step, Any, tuple[Memory, ...]]:
    answer: tuple[Memory, ...] = yield Recall(query=query, delivered=delivered)
    return answer


def shortened(text: PreInjectionText) -> PreInjectionText:
    """At most 64 words and 1,000 bytes, half from each end: a long paste neither stalls nor drowns a search."""
    if len(text) <= _QUERY_BYTES // 4 and len(text.split(None, _QUERY_WORDS)) <= _QUERY_WORDS:
        return text
    # Words are looked for at the ends only: splitting a megabyte costs more than the search.
    half, window = _QUERY_WORDS // 2, _QUERY_BYTES * 4
    if len(text) > 2 * window:
        words = [*text[:window].split()[:half], *text[-window:].split()[-half:]]
    else:
        words = text.split()
        words = words if len(words) <= _QUERY_WORDS else [*words[:half], *words[-half:]]
    encoded = clean(" ".join(words)).encode()
    if len(encoded) > _QUERY_BYTES:
        cut = (_QUERY_BYTES - 1) // 2
        encoded = encoded[:cut] + b" " + encoded[-cut:]
    return PreInjectionText(encoded.decode(errors="ignore"))


def outcome(error: BaseException | None, *, ended_early: bool = False) -> Outcome:
    """Name how a turn ended: a cancel is what is no `Exception`, or a stream that was left before its end."""
    if isinstance(error, HookBlocked):
        return "blocked"
    if error is None:
        return "cancelled" if ended_early else "sent"
    return "error" if isinstance(error, Exception) else "cancelled"
