"""The tags around injected text, both ways: escape and wrap, recognise and strip.

What is written is byte-compatible with QwenLM/qwen-code (hooks-and-transcripts D1, 2.1, 2.2); what is
recognised is D20; in which order trailing parts are stripped is D4. Nobody unescapes on read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recall_store import reserved

from .parts import ModelBoundText, clean, is_blank, trim

__all__ = [
    "HOOK_TAG",
    "MEMORY_TAG",
    "SESSION_TAG",
    "SUBAGENT_TAG",
    "Block",
    "Memory",
    "block_from",
    "block_of",
    "body_of",
    "escape",
    "is_line_of",
    "is_tagged",
    "kept_parts",
    "tag_of",
    "wrap_text",
]

HOOK_TAG = reserved.HOOK_CONTEXT
MEMORY_TAG = reserved.RECALLED_MEMORY
SESSION_TAG = reserved.SESSION_START_CONTEXT
SUBAGENT_TAG = reserved.SUBAGENT_START_CONTEXT

_STRIPPED_IN_ORDER = (HOOK_TAG, MEMORY_TAG, SUBAGENT_TAG)
_MEMORY_CHARS = 1200
_MEMORY_HEADING = (
    "Background recalled from earlier conversations; it may be out of date and is not part of the request."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One recalled memory: `text` as stored, `age` as people say it ("3 days ago"), `score` of the search.

    `lexical` and `cosine` are what the score was made of; None where only the score is known.
    """

    id: str
    text: str
    score: float
    age: str = ""
    version: str = ""
    lexical: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What was injected into one message; falsy when nothing was.

    `hook`, `memory`, `subagent` and `session` are the escaped bodies, as they stand between the tags and in
    `hookContext`; `session` is of the system instruction alone.
    """

    hook: str = ""
    memory: str = ""
    subagent: str = ""
    session: str = ""
    recalled: tuple[Memory, ...] = ()
    truncated: bool = False

    def __bool__(self) -> bool:
        return bool(self.hook or self.memory or self.subagent or self.session)

    @property
    def texts(self) -> tuple[ModelBoundText, ...]:
        """The tagged parts in the order in which they are sent: subagent, memories, hook context (D4)."""
        bodies = (
            (self.session, SESSION_TAG),
            (self.subagent, SUBAGENT_TAG),
            (self.memory, MEMORY_TAG),
            (self.hook, HOOK_TAG),
        )
        return tuple(ModelBoundText(wrap_text(body, tag)) for body, tag in bodies if body)

    @property
    def sources(self) -> tuple[str, ...]:
        """`memory`, `hook`: where the parts came from, in the order of `texts`."""
        hooked = self.hook or self.subagent or self.session
        return tuple(name for name, body in (("memory", self.memory), ("hook", hooked)) if body)

    @property
    def chars(self) -> int:
        """Code points added to the message, tags included."""
        return sum(map(len, self.texts))


def block_from(texts: Sequence[str | None], recalled: Sequence[Memory] = ()) -> Block:
    """Read the block of a message that was sent: the trailing tagged parts, in whatever order `kept_parts` takes."""
    bodies: dict[str, str] = {}
    for text in texts[kept_parts(texts) :]:
        tag = tag_of(text or "")
        if tag is not None:
            inner = trim(text or "")[len(tag) + 2 : -len(tag) - 3]
            newline = "\r\n" if inner.startswith("\r\n") else "\n"
            bodies[tag] = inner.removeprefix(newline).removesuffix(newline)
    return Block(
        hook=bodies.get(HOOK_TAG, ""),
        memory=bodies.get(MEMORY_TAG, ""),
        subagent=bodies.get(SUBAGENT_TAG, ""),
        recalled=tuple(recalled),
    )


def escape(text: str) -> str:
    """Make `text` unable to close its tag: `<` and `>` only, `&` stays (D1); invalid Unicode is replaced (D5).

    >>> escape("a<b>c & d")
    'a&lt;b&gt;c & d'
    """
    return clean(text).replace("<", "&lt;").replace(">", "&gt;")


def wrap_text(body: str, tag: str = HOOK_TAG) -> str:
    """Put an escaped body between the tags, each on its own line; nothing is trimmed."""
    return f"<{tag}>\n{body}\n</{tag}>"


def tag_of(text: str) -> str | None:
    """Name the reserved tag that `text` is one whole tagged part of, or None (D20).

    The whole text, trimmed, starts with the opening tag and ends with the closing one, and the body holds
    neither; the inner newlines are optional.
    """
    bare = trim(text)
    for tag in _STRIPPED_IN_ORDER:
        opening, closing = f"<{tag}>", f"</{tag}>"
        if bare.startswith(opening) and bare.endswith(closing) and len(bare) >= len(opening) + len(closing):
            body = bare[len(opening) : -len(closing)]
            if opening not in body and closing not in body:
                return tag
    return None


def is_tagged(text: str, tag: str = HOOK_TAG) -> bool:
    """True when `text` is one whole part of `tag`."""
    return tag_of(text) == tag


def kept_parts(texts: Sequence[str | None]) -> int:
    """Count the leading parts that are the user's: what follows is ours.

    `texts` has one entry a part, None for a part that is not text. At the end one hook part goes, then one
    memory part, then one subagent part (D4); the only part of a message is the user's, whatever it says (D21).
    """
    kept = len(texts)
    for tag in _STRIPPED_IN_ORDER:
        if kept < 2:
            break
        last = texts[kept - 1]
        if last is not None and tag_of(last) == tag:
            kept -= 1
    return kept


def block_of(
    context: object,
    memories: Sequence[Memory] = (),
    *,
    subagent: object = None,
    max_context_chars: int = 100_000,
) -> Block:
    """Make the block for one message from a hook's raw context and the recalled memories.

    A context that is no string, or blank (D6), adds nothing. One over `max_context_chars` code points is cut
    before escaping and says so inside the tag, with both lengths (D15). `subagent` is the raw context of
    SubagentStart hooks, treated alike.
    """
    hook, cut = body_of(context, max_context_chars=max_context_chars)
    started, start_cut = body_of(subagent, max_context_chars=max_context_chars)
    memory = ""
    if memories:
        memory = escape("\n".join([_MEMORY_HEADING, *map(_memory_line, memories)]))
    return Block(hook=hook, memory=memory, subagent=started, recalled=tuple(memories), truncated=cut or start_cut)


def body_of(context: object, *, max_context_chars: int = 100_000) -> tuple[str, bool]:
    """The escaped body of a raw context, "" for none, and whether it was cut (D6, D15)."""
    if not isinstance(context, str) or is_blank(context):
        return "", False
    truncated = len(context) > max_context_chars
    if truncated:
        note = f"\n[context cut by firsthand: {max_context_chars} of {len(context)} characters kept]"
        context = clean(context)[:max_context_chars] + note
    return escape(context), truncated


def is_line_of(text: str, body: str) -> bool:
    """True when `body` is that of a memory part in which a memory of this text stands, of whatever age."""
    line = re.escape(escape(f"\n- {_cut(text)}"))
    return re.search(line + r"(?: \((?:just now|\d+ [a-z]+ ago)\))?(?:\n|\Z)", body) is not None


def _memory_line(memory: Memory) -> str:
    age = f" ({memory.age})" if memory.age else ""
    return f"- {_cut(memory.text)}{age}"


def _cut(text: str) -> str:
    if len(text) <= _MEMORY_CHARS:
        return text
    return f"{text[:_MEMORY_CHARS]} [cut: {_MEMORY_CHARS} of {len(text)} characters]"
