"""From any text to index words, and from any query to an FTS5 expression that is only ever words.

Everything here is pure. Words are NFKC, lower case, without stop words; a run of Chinese, Japanese or Korean is cut
into overlapping pairs, because FTS5's own tokenizer makes the whole run one word that nothing but itself matches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

REPLACEMENT = "\ufffd"
MAX_WORD = 48
"""Characters kept of one word: a pasted base64 blob is not a word, and FTS5's stemmer stops at 64 bytes."""
QUERY_WORDS = 64
QUERY_BYTES = 1000

_STOP = """
    a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing don down during each few for from further had has have having he her here hers
    him his how i if in into is it its itself just ll me might more most must my myself no nor not of off on once only
    or other our ours out over own re s same shall she should so some such t than that the their theirs them then
    there these they this those through to too under until up us ve very was we were what when where which while who
    whom whose why will with would you your yours d m
    hello hey hi bye please thank thanks ok okay yes yeah sorry"""
STOP_WORDS = frozenset(_STOP.split())

_CJK_RANGES = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Combining marks that are no `\w` but sit inside words: accents, Hebrew and Arabic points, the Indic and Thai blocks.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0e3e\u0e40-\u109f"
# Emoji and dingbats, each a word; two letters of a flag are one. Colours of skin are none: they change a word's look.
_SYMBOLS = "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa"
_SYMBOLS += "\U0001f400-\U0001faff"
_SYMBOL = re.compile(rf"[\U0001f1e6-\U0001f1ff]{{2}}|[{_SYMBOLS}]")
_RUN = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|{_SYMBOL.pattern}")
_ASCII_RUN = re.compile(r"[a-z0-9]+")
_CJK = re.compile(rf"[{_CJK_RANGES}]+")
_CJK_OR_NOT = re.compile(rf"[{_CJK_RANGES}]+|[^{_CJK_RANGES}]+")
_BLOB = re.compile(r"\S*[A-Za-z0-9+/=_-]{100,}\S*")
# Unicode's Default_Ignorable_Code_Point: nothing is drawn for them.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
# The same between letters of a word; but in Thai and its like a zero-width space is what stands between words.
_BETWEEN = re.compile(rf"(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b|(?!\u200b){_UNSEEN.pattern}")
_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with every NUL and lone surrogate as U+FFFD, so that every engine and JSON can hold it."""
    return _UNSAFE.sub(REPLACEMENT, text)


def as_seen(text: str) -> str:
    """NFKC without what nobody sees (zero-width characters, marks of direction, controls), case and blanks kept.

    `text` itself if it is that already.
    """
    seen = _CONTROL.sub("", text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKC", _UNSEEN.sub("", seen))
    return text if seen == text else seen


def normalise(text: str) -> str:
    """Clean, NFKC and lower case: the form in which two spellings of a word are the same string."""
    return _composed(text).lower()


def fold(text: str) -> str:
    """Clean, NFKC, blanks collapsed, case kept: the form in which two memories are the same memory."""
    return " ".join(_composed(text).split())


def _composed(text: str) -> str:
    whole = clean(text)
    return whole if whole.isascii() else unicodedata.normalize("NFKC", whole)


def words(text: str, *, stop: bool = True) -> list[str]:
    """The index words of `text`, in order and with repetitions; `stop=False` keeps stop words.

    A border between Chinese, Japanese or Korean and any other script is a border between words. A single CJK
    character is no word; an emoji is one.
    """
    normal = normalise(_seen(text))
    found: list[str] = []
    ascii_only = normal.isascii()
    for run in (_ASCII_RUN if ascii_only else _RUN).findall(normal):
        if ascii_only or run.isascii() or not _CJK.search(run):
            found.append(run[:MAX_WORD])
            continue
        for piece in _CJK_OR_NOT.findall(run):
            if _CJK.match(piece):
                found.extend(piece[i : i + 2] for i in range(len(piece) - 1))
            else:
                found.append(piece[:MAX_WORD])
    return [word for word in found if word not in STOP_WORDS] if stop else found


def is_symbol(word: str) -> bool:
    """True for an index word that is an emoji."""
    return not word.isascii() and _SYMBOL.fullmatch(word) is not None


def is_of_new_words(text: str) -> bool:
    """True for a text with emoji or with characters that nobody sees: it was indexed by other words until schema 3."""
    return not text.isascii() and (_SYMBOL.search(normalise(text)) or _UNSEEN.search(text)) is not None


def _seen(text: str) -> str:
    return text if text.isascii() else _BETWEEN.sub("", text)


def clip(query: str) -> str:
    """At most 64 words and 1,000 bytes of `query`, half from each end.

    The question of a long prompt stands at its start or its end; what is between is mostly paste. Runs of 100
    letters and digits (base64, hashes) are left out, if there is anything else.
    """
    short = query
    if len(short) > QUERY_BYTES:
        short = f"{short[: QUERY_BYTES // 2]} {short[-QUERY_BYTES // 2 :]}"
    raw = clean(short).encode()
    if len(raw) > QUERY_BYTES:
        half = QUERY_BYTES // 2
        head, tail = raw[:half], raw[-half + 1 :]
        raw = head.decode(errors="ignore").encode() + b" " + tail.decode(errors="ignore").encode()
    kept = raw.decode()
    pieces = _BLOB.sub(" ", kept).split() or kept.split()
    if len(pieces) > QUERY_WORDS:
        pieces = pieces[: QUERY_WORDS // 2] + pieces[-QUERY_WORDS // 2 :]
    return " ".join(pieces)


def too_short(query: str) -> bool:
    """True for a query that asks nothing: blank, one or two visible characters, or one CJK character."""
    bare = "".join(_UNSEEN.sub("", query).split())
    return len(bare) < 2 or (len(bare) == 2 and not (_CJK.fullmatch(unicodedata.normalize("NFKC", clean(bare)))))


def keywords_only(query: str) -> bool:
    """True for a query of nothing but index words, each one to be looked for: no stop word makes a sentence of it."""
    found = words(query, stop=False)
    return bool(found) and STOP_WORDS.isdisjoint(found)


def index_text(text: str, prefix: str) -> str:
    """`text` as the blank-separated words that FTS5 is given, each with `prefix`."""
    return " ".join([prefix + word for word in words(text)])


def match_expression(query_words: Iterable[str], prefix: str, *, every: bool = False) -> str:
    """An FTS5 expression that is true for a row with any of the words, or with `every` one; empty for no words.

    Each word is a quoted string, so `NEAR(`, `*`, `-`, `:` and quotes are never syntax. `prefix` makes the words of
    one namespace other words than those of the next.
    """
    unique = list(dict.fromkeys(query_words))
    if len(unique) > QUERY_WORDS:
        unique = unique[: QUERY_WORDS // 2] + unique[-QUERY_WORDS // 2 :]
    return (" AND " if every else " OR ").join('"' + prefix + word.replace('"', '""') + '"' for word in unique)
