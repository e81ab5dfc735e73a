"""`@file` mentions in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mention", "mentions", "reference"]

_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{"'`,;]))@(?:"([^"\n]+)"|((?:\\.|[^\s\\"])+))""")
_ODD = re.compile(r"""[\s\\"]""")
_AFTER_A_NAME = ".,;:!?)]}'`>"


@dataclass(frozen=True, slots=True)
class Mention:
    """A path as it was written, without the `@`, quotes and escapes.

    `paths` are what it may mean, the likeliest first: as written, then without the punctuation behind it.
    """

    written: str
    paths: tuple[str, ...]


def mentions(text: str) -> Iterator[Mention]:
    r"""Find them in order. A blank in a name is written `\ `, or the name is quoted; an e-mail address is none.

    >>> [mention.paths for mention in mentions("see @notes.txt, please")]
    [('notes.txt,', 'notes.txt')]
    """
    for found in _MENTION.finditer(text):
        quoted, bare = found[1], found[2]
        if quoted is not None:
            yield Mention(quoted, (quoted,))
            continue
        name = re.sub(r"\\(.)", r"\1", bare)
        shorter = name.rstrip(_AFTER_A_NAME)
        yield Mention(name, (name, shorter) if shorter and shorter != name else (name,))


def reference(path: str) -> str:
    r"""How a path is mentioned; a name with a line end cannot be, and is written as it is.

    >>> reference("a.png"), reference("my notes.txt")
    ('@a.png', '@"my notes.txt"')
    """
    if not _ODD.search(path):
        return f"@{path}"
    if '"' not in path:
        return f'@"{path}"'
    return "@" + _ODD.sub(lambda found: f"\\{found[0]}", path)
