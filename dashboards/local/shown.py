"""How values look on a page: numbers with units, moments, and text that does nothing but be read."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Final

__all__ = ["ago", "count", "moment", "money", "seconds", "share", "size", "stamp", "visible"]

NOTHING: Final = "–"
"""For what nobody said."""

# Controls other than line ends and tabs, what turns the direction of text, and what cannot be encoded.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def count(value: float | None) -> str:
    """A number of things, in full up to 99,999.

    >>> count(12345), count(1_250_000), count(None)
    ('12,345', '1.25 M', '–')
    """
    if value is None:
        return NOTHING
    for limit, divisor, letter in ((1e5, 1, ""), (1e6, 1e3, " k"), (1e9, 1e6, " M"), (1e12, 1e9, " G")):
        if abs(value) < limit:
            return f"{value:,.0f}" if divisor == 1 else f"{value / divisor:.3g}{letter}"
    return f"{value:.3g}"


def seconds(value: float | None) -> str:
    """A duration with its unit.

    >>> seconds(0.00042), seconds(0.0123), seconds(0.5), seconds(1.5), seconds(75), seconds(7300)
    ('0.42 ms', '12.3 ms', '500 ms', '1.50 s', '1 min 15 s', '2 h 1 min')
    """
    if value is None:
        return NOTHING
    if value < 0.9995:
        places = 2 if value < 0.009_995 else 1 if value < 0.099_95 else 0
        return f"{value * 1000:.{places}f} ms" if value >= 0.000_005 else "0 ms"
    if value < 59.995:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def share(value: float | None) -> str:
    """A part of a whole, 0 to 1.

    >>> share(0.1234), share(1), share(0.0004), share(None)
    ('12.3 %', '100 %', '<0.1 %', '–')
    """
    if value is None:
        return NOTHING
    if 0 < value < 0.001:
        return "<0.1 %"
    return f"{value * 100:.1f} %" if 0 < value < 0.9995 else f"{value * 100:.0f} %"


def size(value: int | None) -> str:
    """A number of bytes.

    >>> size(512), size(1536), size(5_000_000)
    ('512 B', '1.5 KiB', '4.77 MiB')
    """
    if value is None:
        return NOTHING
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1024
    raise AssertionError


def money(value: float | None, currency: str) -> str:
    """A sum of money, to the cent, or to three digits when it is small.

    >>> money(0.00123, "USD"), money(0.0000412, "USD"), money(12.5, "EUR"), money(None, "USD")
    ('USD 0.00123', 'USD 0.0000412', 'EUR 12.50', '–')
    """
    if value is None:
        return NOTHING
    if value == 0 or abs(value) >= 1:
        return f"{currency} {value:,.2f}"
    places = min(12, 2 - math.floor(math.log10(abs(value))))
    return f"{currency} {value:.{places}f}"


def moment(value: float | None) -> str:
    """A moment in this machine's time, to the second."""
    return NOTHING if value is None else datetime.fromtimestamp(value).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def stamp(value: float) -> str:
    """The same for programs, with the offset from UTC."""
    return datetime.fromtimestamp(value).astimezone().isoformat(timespec="seconds")


def ago(value: float | None, now: float) -> str:
    """How long before `now` that was.

    >>> ago(100.0, 130.0), ago(0.0, 7200.0), ago(0.0, 200_000.0)
    ('30 s ago', '2 h ago', '2 d ago')
    """
    if value is None:
        return NOTHING
    passed = max(0.0, now - value)
    for limit, unit, letter in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"), (math.inf, 86_400, "d")):
        if passed < limit:
            return f"{passed // unit:.0f} {letter} ago"
    raise AssertionError


def visible(text: str | None) -> str:
    """The text, with a name in the place of each character that would be unseen or turn the text around.

    >>> visible("a\\u202eb\\x00")
    'a⟨U+202E⟩b⟨U+0000⟩'
    """
    if not text:
        return ""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", text.replace("\r\n", "\n"))
