"""What a request and a reply say about themselves, as attributes; text never is one of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ..parts import Reply, Request, Usage, clean
from . import names
from .content import Attributes
from .guard import attempt
from .labels import short
from .redaction import redacted

__all__ = ["call_labels", "request_attributes", "response_attributes", "token_counts"]

_MOST = 64
_LONGEST = 1024


@functools.lru_cache(256)
def call_labels(
    operation: str, provider: str, model: str, server_address: str | None, server_port: int | None
) -> tuple[str, Attributes]:
    """The name of a chat span, and what it and its metrics are labelled with; not to be changed by who gets it."""
    labels: Attributes = {names.OPERATION: short(operation), names.PROVIDER: short(provider)}
    name = short(operation)
    if model:
        labels[names.REQUEST_MODEL] = short(model)
        name = f"{name} {labels[names.REQUEST_MODEL]}"
    if server_address:
        labels[names.SERVER_ADDRESS] = short(server_address)
        if server_port is not None:
            labels[names.SERVER_PORT] = server_port
    return name, labels


def request_attributes(request: Request, labels: Attributes, conversation_id: str | None) -> Attributes:
    """The attributes of a chat span at its start."""
    found = dict(labels)
    if conversation_id:
        found[names.CONVERSATION_ID] = conversation_id
    if request.stream:
        found[names.REQUEST_STREAM] = True
    for suffix, value in request.options.items():
        name = names.REQUEST_OPTIONS.get(suffix)
        if name is None or (suffix == names.CHOICE_COUNT and value == 1):
            continue
        plain = _plain(value)
        if plain is not None:
            found[name] = plain
    return found


def response_attributes(reply: Reply | None, *, broken: bool, first_chunk: float | None) -> Attributes:
    """The attributes at its end; a count that the provider did not give is absent, never 0."""
    found: Attributes = {}
    if first_chunk is not None:
        found[names.TIME_TO_FIRST_CHUNK] = first_chunk
    if broken:
        found[names.FINISH_REASONS] = ("error",)
    if reply is None:
        return found
    if reply.id:
        found[names.RESPONSE_ID] = short(reply.id)
    if reply.model:
        found[names.RESPONSE_MODEL] = short(reply.model)
    reasons = reply.finish_reasons
    if len(reasons) == 1 and reasons[0] and not broken:
        found[names.FINISH_REASONS] = (short(reasons[0]),)
    elif any(reasons) and not broken:
        found[names.FINISH_REASONS] = tuple(short(reason) for reason in reasons)
    usage = reply.usage
    for name, count in (
        (names.INPUT_TOKENS, usage.input_tokens),
        (names.OUTPUT_TOKENS, usage.output_tokens),
        (names.CACHE_READ_TOKENS, usage.cache_read_tokens),
        (names.CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        (names.REASONING_TOKENS, usage.reasoning_tokens),
    ):
        if count is not None:
            found[name] = count
    return found


def token_counts(usage: Usage) -> Iterator[tuple[str, int]]:
    """Token type and count for the usage metric."""
    if usage.input_tokens is not None:
        yield "input", usage.input_tokens
    if usage.output_tokens is not None:
        yield "output", usage.output_tokens


def _plain(value: object) -> str | bool | int | float | tuple[str, ...] | None:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return short(value)
    if isinstance(value, type):
        return short(value.__name__)
    if isinstance(value, (list, tuple)):
        return tuple(_said(item) for item in value[:_MOST] if isinstance(item, str))
    return None


def _said(text: str) -> str:
    """A stop sequence: the caller's words, though no content by the conventions."""
    return attempt("stop_sequences", lambda: short(redacted(clean(text[:_LONGEST]))), "[redacted]")
