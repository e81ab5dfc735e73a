"""Regular expressions as JavaScript reads them, searched for in bounded time. Pure.

Python's `re` has no timeout, and a few characters (`(a+)+$`) in a settings file hold it for ever. Here an expression
is followed as the set of all positions that it can have reached, one bit each: there is no backtracking, and a budget
ends what is slow all the same. What it matched is not known, only whether it did.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ..parts import trim

__all__ = ["found", "is_readable"]

_LONGEST = 1000
_DEEPEST = 50
_BUDGET = 200_000


class _Unreadable(ValueError):
    """No expression that is understood here."""


class _Exhausted(Exception):
    """The budget is spent."""


class _Text:
    """A subject and what may still be spent on it."""

    __slots__ = ("_found", "every", "left", "subject")

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.every = (1 << (len(subject) + 1)) - 1
        self.left = _BUDGET
        self._found: dict[_Test, int] = {}

    def where(self, test: _Test) -> int:
        """The positions whose character passes."""
        if test not in self._found:
            self.spend(len(self.subject))
            self._found[test] = sum(1 << i for i, char in enumerate(self.subject) if test(char))
        return self._found[test]

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise _Exhausted


_Test: TypeAlias = Callable[[str], bool]
_Step: TypeAlias = Callable[[_Text, int], int]
"""From the positions that have been reached to those reached next; bit i stands for the place before character i."""


def found(expression: str, subject: str) -> bool:
    """Search for `expression` in `subject`; never raises, and is back within a fraction of a second.

    False for an expression that `is_readable` refuses, a subject of over 1,000 characters, and one that took too long.
    """
    step = _expression(expression)
    if step is None or len(subject) > _LONGEST:
        return False
    text = _Text(subject)
    try:
        return step(text, text.every) != 0
    except (_Exhausted, RecursionError):
        return False


def is_readable(expression: str) -> bool:
    """True for what JavaScript reads too, without back-references, of at most 1,000 characters."""
    return _expression(expression) is not None


@functools.lru_cache(maxsize=256)
def _expression(source: str) -> _Step | None:
    if len(source) > _LONGEST:
        return None
    try:
        return _Reader(source).whole()
    except (_Unreadable, RecursionError):
        return None


def _one(test: _Test) -> _Step:
    return lambda text, at: (at & text.where(test)) << 1


def _in_turn(steps: list[_Step]) -> _Step:
    def run(text: _Text, at: int) -> int:
        for step in steps:
            text.spend()
            if not at:
                break
            at = step(text, at)
        return at

    return run


def _either(branches: list[_Step]) -> _Step:
    return lambda text, at: functools.reduce(lambda found, branch: found | branch(text, at), branches, 0)


def _repeated(step: _Step, least: int, most: int | None) -> _Step:
    def run(text: _Text, at: int) -> int:
        for _ in range(least):
            text.spend()
            before, at = at, step(text, at)
            if at == before:
                break
        reached = new = at
        rounds = most - least if most is not None else -1
        while new and rounds:
            text.spend()
            new = step(text, new) & ~reached
            reached |= new
            rounds -= 1
        return reached

    return run


def _looking(step: _Step, *, behind: bool, wanted: bool) -> _Step:
    def run(text: _Text, at: int) -> int:
        found = step(text, text.every) if behind else 0
        if not behind:
            for i in range(at.bit_length()):
                text.spend()
                if at >> i & 1 and step(text, 1 << i):
                    found |= 1 << i
        return at & (found if wanted else ~found)

    return run


def _boundary(text: _Text, at: int) -> int:
    words = text.where(_is_word)
    return at & (words ^ (words << 1))


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _is_space(char: str) -> bool:
    return not trim(char)


def _is_no_break(char: str) -> bool:
    return char not in "\n\r\u2028\u2029"


def _not(test: _Test) -> _Test:
    return lambda char: not test(char)


_CLASSES: Final[Mapping[str, _Test]] = {
    "d": _is_digit,
    "w": _is_word,
    "s": _is_space,
    "D": _not(_is_digit),
    "W": _not(_is_word),
    "S": _not(_is_space),
}
_CONTROLS: Final[Mapping[str, str]] = {"t": "\t", "n": "\n", "r": "\r", "v": "\v", "f": "\f", "0": "\0"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|c([a-zA-Z])")
_COUNT = re.compile(r"\{([0-9]{1,9})(,([0-9]{1,9})?)?\}")
_GROUP = re.compile(r"\(\?(?::|(<?)([=!])|<[A-Za-z_$][\w$]*>)")


class _Reader:
    """Reads an expression from left to right."""

    __slots__ = ("_at", "_depth", "_source")

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0

    def whole(self) -> _Step:
        step = self._choice()
        if self._at < len(self._source):
            raise _Unreadable("a closing parenthesis without an opening one")
        return step

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._next()
        if not char:
            raise _Unreadable("ends too early")
        self._at += 1
        return char

    def _accept(self, char: str) -> bool:
        found = self._next() == char
        self._at += found
        return found

    def _choice(self) -> _Step:
        branches = [self._sequence()]
        while self._accept("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _either(branches)

    def _sequence(self) -> _Step:
        steps = []
        while self._next() not in ("", "|", ")"):
            steps.append(self._quantified(*self._atom()))
        return _in_turn(steps)

    def _quantified(self, step: _Step, repeatable: bool) -> _Step:
        counted = _COUNT.match(self._source, self._at)
        if counted:
            self._at = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
        elif self._next() in ("*", "+", "?") and self._next():
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self._take()]
        else:
            return step
        if not repeatable or (most is not None and most < least):
            raise _Unreadable("cannot be repeated so")
        self._accept("?")
        return _repeated(step, least, most)

    def _atom(self) -> tuple[_Step, bool]:
        if self._next() == "(":
            return self._group()
        char = self._take()
        if char in "*+?" or _COUNT.match(self._source, self._at - 1):
            raise _Unreadable("nothing to repeat")
        if char == "^":
            return lambda text, at: at & 1, False
        if char == "$":
            return lambda text, at: at & (1 << len(text.subject)), False
        if char == "\\" and self._accept("b"):
            return _boundary, False
        if char == "\\" and self._accept("B"):
            return lambda text, at: at & ~_boundary(text, at), False
        if char == "[":
            return _one(self._class()), True
        if char == ".":
            return _one(_is_no_break), True
        return _one(self._escape() if char == "\\" else char.__eq__), True

    def _group(self) -> tuple[_Step, bool]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unreadable("nested too deep")
        kind = _GROUP.match(self._source, self._at)
        self._at = kind.end() if kind else self._at + 1
        if self._next() == "?":
            raise _Unreadable("a group of a kind that is not known here")
        step = self._choice()
        if not self._accept(")"):
            raise _Unreadable("a parenthesis is not closed")
        self._depth -= 1
        if kind and kind[2]:
            return _looking(step, behind=bool(kind[1]), wanted=kind[2] == "="), False
        return step, True

    def _escape(self) -> _Test:
        coded = _HEX.match(self._source, self._at)
        if coded:
            self._at = coded.end()
            return chr(ord(coded[3]) % 32 if coded[3] else int(coded[1] or coded[2], 16)).__eq__
        char = self._take()
        if char in "123456789k":
            raise _Unreadable("a back-reference")
        return _CLASSES.get(char) or _CONTROLS.get(char, char).__eq__

    def _class(self) -> _Test:
        negated = self._accept("^")
        tests: list[_Test] = []
        while not self._accept("]"):
            first = self._member()
            # A hyphen at the end, or beside a class such as \d, stands for itself.
            if self._next() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._member()
                if isinstance(first, str) and isinstance(last, str):
                    if first > last:
                        raise _Unreadable("a range that ends before it begins")
                    tests.append(functools.partial(_is_between, first, last))
                    continue
                tests += [_test(first), "-".__eq__, _test(last)]
            else:
                tests.append(_test(first))
        return lambda char: any(test(char) for test in tests) is not negated

    def _member(self) -> str | _Test:
        char = self._take()
        if char != "\\":
            return char
        if self._accept("b"):
            return "\b"
        test = self._escape()
        found = getattr(test, "__self__", None)
        return found if isinstance(found, str) else test


def _is_between(first: str, last: str, char: str) -> bool:
    return first <= char <= last


def _test(member: str | _Test) -> _Test:
    return member.__eq__ if isinstance(member, str) else member
