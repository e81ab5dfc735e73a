"""What a model call says and answers, as values that every SDK's adapter reads into.

`PreInjectionText` and `ModelBoundText` are different types on purpose: recall takes the first only, so that
handing it the text with the injected part does not type-check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NewType, TypeAlias

import msgspec

__all__ = [
    "Identity",
    "Message",
    "ModelBoundText",
    "Part",
    "PartKind",
    "PreInjectionText",
    "Reply",
    "Request",
    "Role",
    "Usage",
    "abridged",
    "clean",
    "frozen",
    "is_blank",
    "text_of",
    "trim",
]

PreInjectionText = NewType("PreInjectionText", str)
"""What the request said before we added to it."""

ModelBoundText = NewType("ModelBoundText", str)
"""What the model receives, injected text included."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
PartKind: TypeAlias = Literal["text", "reasoning", "tool_call", "tool_response", "media", "other"]

Identity: TypeAlias = tuple[object, ...]
"""Equal for two messages that are the same one, re-sent: hashable, never a digest of the whole text."""

_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_KEPT_TEXT = 1_000
_DEEPEST = 64
_IGNORED_FIELDS = frozenset({"cache_control"})


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a message.

    `text` is the words of a text or reasoning part and the arguments or output of a tool part; `id` and `name`
    belong to tool parts; `raw` is the wire object that it was read from, not to be changed.
    """

    kind: PartKind
    text: str = ""
    id: str = ""
    name: str = ""
    raw: object = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message as the caller wrote it.

    `parts` leaves out trailing tagged parts (an echo of ours), which are in `echoed`; `injection` marks a
    message that is nothing but our text (D21). `raw` is the wire object, not to be changed.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    echoed: tuple[Part, ...] = ()
    injection: bool = False
    raw: object = None

    @property
    def text(self) -> str:
        """The text parts joined without a separator; other parts contribute nothing."""
        return text_of(self.parts)

    @property
    def tool_ids(self) -> tuple[str, ...]:
        """Ids of the tool calls or tool results in it, in order; names where a provider gives no ids (Google)."""
        return tuple(part.id or part.name for part in self.parts if part.kind in ("tool_call", "tool_response"))

    @property
    def is_tool_result(self) -> bool:
        """True for a tool message and for a user message that holds tool results (Anthropic)."""
        return self.role == "tool" or any(part.kind == "tool_response" for part in self.parts)

    def identity(self) -> Identity:
        """What makes it the same message when it is sent again (ledger rule 1).

        Left out: reasoning (servers and frameworks drop it), null fields, `cache_control`, our own parts. The
        text counts as a transcript holds it (D5).
        """
        tools: list[str] = []
        others: list[object] = []
        for part in self.parts:
            if part.kind in ("tool_call", "tool_response"):
                tools.append(part.id or part.name)
            elif part.kind in ("media", "other"):
                others.append(frozen(part.raw))
        return (self.role, abridged(clean(self.text)), tuple(tools), tuple(others))


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one call; None where the provider did not say, never 0 in its place."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: one message a choice, and what the provider said about it.

    `before` is what the model said, and was told, on the way there inside of the same call: tool calls and their
    results, where the SDK calls the functions itself. `error` is the provider's name for what went wrong with an answer
    that came as one, "" for nothing.
    """

    messages: tuple[Message, ...] = ()
    id: str | None = None
    model: str | None = None
    finish_reasons: tuple[str, ...] = ()
    usage: Usage = msgspec.field(default_factory=Usage)
    before: tuple[Message, ...] = ()
    error: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call.

    `current` is the index of the message that this call is about (ledger rule 3): the last user message, or
    the last message of the tool results when `tool_result` is true; None when there is neither. `system` is
    the text of instructions that travel outside `messages`; `thread` names what the provider keeps of the
    conversation (a previous response, a conversation), when only new input is sent. `options` are request
    parameters for telemetry, by their semantic-convention suffix. `shape` names the kind of wire message that
    `raw` of its messages is: openai (chat.completions), responses, anthropic or google.
    """

    messages: tuple[Message, ...]
    current: int | None
    tool_result: bool
    model: str = ""
    stream: bool = False
    system: str = ""
    thread: str | None = None
    options: Mapping[str, object] = msgspec.field(default_factory=dict)
    shape: str = ""

    def pre_injection_text(self) -> PreInjectionText:
        """The current message's text parts, joined without a separator; "" for tool results (spec 1.2)."""
        if self.current is None or self.tool_result:
            return PreInjectionText("")
        return PreInjectionText(self.messages[self.current].text)

    def tool_group(self) -> tuple[Message, ...]:
        """The run of tool results that ends at `current`, oldest first; empty for a user message."""
        if self.current is None or not self.tool_result:
            return ()
        start = self.current
        if self.messages[start].role != "tool":
            return (self.messages[start],)
        while start > 0 and self.messages[start - 1].role == "tool":
            start -= 1
        return self.messages[start : self.current + 1]


def abridged(text: str) -> object:
    """What stands for a text in an identity: itself, or of a long one its length, `hash()` and both ends.

    A ledger keeps identities for as long as a session lives; a megabyte is not to be kept with them. Python's
    string hash is keyed by a secret of the process, so that nobody can make two texts collide.
    """
    if len(text) <= _KEPT_TEXT:
        return text
    return (len(text), hash(text), text[:64], text[-64:])


def text_of(parts: tuple[Part, ...]) -> str:
    """Join the text parts without a separator; one part's string is returned itself, not a copy."""
    texts = [part.text for part in parts if part.kind == "text"]
    return texts[0] if len(texts) == 1 else "".join(texts)


def trim(text: str) -> str:
    """Trim as JavaScript does (S13): unlike `str.strip`, U+FEFF goes and U+001C-U+001F and U+0085 stay."""
    return text.strip(_BLANKS)


def is_blank(text: str) -> bool:
    """True when nothing is left after `trim`."""
    return not text.strip(_BLANKS)


def clean(text: str) -> str:
    """Replace lone surrogates and NUL by U+FFFD (D5); well-formed text is returned itself.

    >>> clean("a\\ud800b\\x00")
    'a\ufffdb\ufffd'
    """
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Pairs of surrogates that arrived as two halves are one character; what is left over is lone.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def frozen(value: object, depth: int = 0) -> object:
    """A hashable stand-in for a JSON-like value: equal for equal values, null fields left out.

    An SDK's object and the JSON that it was dumped to are the same. What is nested deeper than a message can be is
    told apart no further.
    """
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, str):
        return abridged(value)
    dump = getattr(value, "model_dump", None)
    if dump is not None and not isinstance(value, type):
        value = dump(exclude_none=True)
    if isinstance(value, Mapping):
        return tuple(
            sorted(
                (str(key), frozen(item, depth + 1))
                for key, item in value.items()
                if item is not None and key not in _IGNORED_FIELDS
            )
        )
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item, depth + 1) for item in value)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
