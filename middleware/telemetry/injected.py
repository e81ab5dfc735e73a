"""What is exported about injected text: how many parts, how long, from where, whether cut; never the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..injection import HOOK_TAG, MEMORY_TAG, SESSION_TAG, SUBAGENT_TAG, Block, wrap_text
from . import names
from .content import Attributes
from .labels import status_code

__all__ = ["metadata", "sizes", "suspected", "too_long"]

_FRAMES = tuple(
    (source, len(wrap_text("", tag)))
    for source, tag in (("memory", MEMORY_TAG), ("hook", HOOK_TAG), ("hook", SUBAGENT_TAG), ("hook", SESSION_TAG))
)
_ORDER = ("memory", "hook")
_REFUSED = frozenset({400, 422})


def sizes(block: Block) -> Iterator[tuple[str, int]]:
    """Source and characters, tags included, of each part; unlike `block.chars` it builds no text."""
    for (source, frame), body in zip(_FRAMES, (block.memory, block.hook, block.subagent, block.session), strict=True):
        if body:
            yield source, frame + len(body)


def metadata(blocks: Mapping[int, Block]) -> Attributes:
    """The `firsthand.injection.*` attributes over everything that the request carries; none for none."""
    count = chars = 0
    sources: set[str] = set()
    truncated = False
    for block in blocks.values():
        truncated = truncated or block.truncated
        for source, size in sizes(block):
            count += 1
            chars += size
            sources.add(source)
    if not count:
        return {}
    return {
        names.INJECTION_COUNT: count,
        names.INJECTION_CHARS: chars,
        names.INJECTION_SOURCES: tuple(source for source in _ORDER if source in sources),
        names.INJECTION_TRUNCATED: truncated,
    }


def suspected(error: BaseException, found: Attributes) -> bool:
    """True when a failed call carried injected text and failed as one does that is too long or of a wrong shape."""
    return names.INJECTION_COUNT in found and (status_code(error) in _REFUSED or too_long(error))


def too_long(error: BaseException) -> bool:
    """True when a call failed because its request was too long, by its status, its code or its class."""
    code = getattr(error, "code", None)
    said = f"{type(error).__name__} {code if isinstance(code, str) else ''}".lower().replace("_", "")
    return status_code(error) == 413 or "contextlength" in said or "contextwindow" in said
