"""Whether a text only says again what was injected: the guard against a memory that feeds on itself.

Pure. A text is compared by its words, without stop words and endings, so that "The user likes green tea" is known
again as "likes green tea". What the user says in the same turn in their own words is theirs, whatever was recalled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from recall_store.text import STOP_WORDS, words

__all__ = ["Parroted", "same_words", "sentences"]

_Stems: TypeAlias = tuple[str, ...]
_END = re.compile(r"((?<=[.!?])\s+|(?<=[。！？;])\s*|\n)")
_AGE = re.compile(r" \((?:just now|\d+ (?:minute|hour|day|month|year)s? ago)\)$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_MOST_CHARS = 200_000
_SAID_OF = frozenset({"user", "person", "assistant", "said", "say", "mention", "note", "ask", "told", "want", "has"})
"""Words in which a fact is told, and which say nothing of what it is."""
_NOT = frozenset({"not", "no", "never", "nor", "cannot", "without", "don", "doesn", "didn", "isn", "aren", "won", "t"})
_NEGATED = "\N{NOT SIGN}"

_COVERED = 0.5
_HELD = 0.8


class Parroted:
    """The sentences that were injected, and the question whether another text repeats them.

    `injected` are bodies of tagged parts, as they were sent; `own` is what the user wrote in this turn.
    """

    def __init__(self, injected: Iterable[str], own: str) -> None:
        self._own = _stems(own)
        self._owned = frozenset(self._own)
        found: dict[_Stems, None] = {}
        left = _MOST_CHARS
        for body in injected:
            plain = body[:left].replace("&lt;", "<").replace("&gt;", ">")
            left -= len(plain)
            for line in plain.splitlines():
                bare = _AGE.sub("", line)
                for piece in {bare: None} | dict.fromkeys(sentences(bare)):
                    if stems := _stems(piece):
                        found[stems] = None
        self._injected = tuple((stems, frozenset(stems)) for stems in found)
        self._holding: dict[str, list[int]] = {}
        for number, (_, its_words) in enumerate(self._injected):
            for stem in its_words:
                self._holding.setdefault(stem, []).append(number)

    def __call__(self, text: str) -> bool:
        """True when `text`, or a sentence of it, is what was injected rather than what the user said."""
        return any(self._repeats(_stems(piece)) for piece in (text, *sentences(text)))

    def without(self, text: str) -> str:
        """`text` without the sentences that repeat what was injected."""
        if not self._injected:
            return text
        pieces = _END.split(text)
        # Every other piece is what stands between two sentences.
        kept = [piece + "".join(pieces[at + 1 : at + 2]) for at, piece in enumerate(pieces) if not at % 2]
        return "".join(piece for piece in kept if not self(piece)).strip()

    def _repeats(self, said: _Stems) -> bool:
        words_of = frozenset(said)
        if not words_of:
            return False
        by_user = len(words_of & self._owned) / len(words_of)
        shared = Counter(number for stem in words_of for number in self._holding.get(stem, ()))
        for number, common in shared.items():
            sentence, its_words = self._injected[number]
            covered, held = common / len(words_of), common / len(its_words)
            if covered >= _COVERED and covered >= by_user and not self._is_reordered(said, sentence):
                return True
            # A whole sentence inside of a longer text; one word alone is no sentence.
            if held >= _HELD and len(its_words) > 1 and not words_of & its_words <= self._owned:
                return True
        return False

    def _is_reordered(self, said: _Stems, sentence: _Stems) -> bool:
        """True for the words of an injected sentence in the user's order: tabs over spaces, spaces over tabs."""
        return _in_order(said, self._own) and not _in_order(said, sentence)


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without their bullets."""
    return [bare for piece in _END.split(text)[::2] if (bare := _BULLET.sub("", piece).strip())]


def same_words(one: str, other: str) -> bool:
    """True when two texts have the same words in the same order, but for endings and stop words."""
    return _stems(one) == _stems(other)


def _in_order(some: _Stems, text: _Stems) -> bool:
    rest = iter(text)
    return all(stem in rest for stem in some)


def _stems(text: str) -> _Stems:
    every = words(text, stop=False)
    told = [stem for word in every if word not in STOP_WORDS and (stem := _stem(word)) not in _SAID_OF]
    return (*told, _NEGATED) if told and not _NOT.isdisjoint(every) else tuple(told)


@lru_cache(4096)
def _stem(word: str) -> str:
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
