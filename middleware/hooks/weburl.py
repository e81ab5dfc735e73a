"""URLs of http and https, read as browsers and Node read them (the WHATWG URL standard), for nothing but a POST.

`urllib.parse` keeps `http://2852039166/`, `http://0x7f.1/`, `http://１０.0.0.1/` and `http:\\\\host` as they are, while
the program that connects reads addresses in them: what is checked and what is reached must be read by one rule.
Source: hooks-and-transcripts 1.11; https://url.spec.whatwg.org (host parsing, IPv4 parser).
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from ..parts import clean

__all__ = ["WebUrl", "parse"]

_PORTS = {"http": 80, "https": 443}
_AROUND = "".join(map(chr, range(0x21)))
_INSIDE = str.maketrans("", "", "\t\r\n")
_AUTHORITY_END = re.compile(r"[/\\?#]")
_FORBIDDEN = re.compile(r"[\x00-\x20#%/:<>?@\[\\\]^|\x7f]")
_IGNORED = re.compile("[\u00ad\u034f\u180b-\u180d\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff]")
_DOTS = str.maketrans({"\u3002": ".", "\uff61": "."})
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_PATH_SAFE = "!$%&'()*+,-./:;=@[\\]_|~"
_QUERY_SAFE = _PATH_SAFE.replace("'", "") + "?`{}^"
_MOST_DIGITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WebUrl:
    """Where to connect and what to ask for.

    `host` is ASCII in lower case: a name, a dotted IPv4 address or an IPv6 address without brackets. `address` is
    set when it is an address. `target` is the path and the query, percent-encoded, from its `/` on.
    """

    scheme: str
    host: str
    port: int
    target: str
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None = None

    @property
    def authority(self) -> str:
        """The `Host` header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str) -> WebUrl:
    """Read a URL. Raises `ValueError` with a text that quotes nothing of it."""
    scheme, colon, rest = url.strip(_AROUND).translate(_INSIDE).partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in _PORTS:
        raise ValueError("it is no http or https URL; write http:// or https:// in front of the host")
    rest = rest.lstrip("/\\").partition("#")[0]
    end = _AUTHORITY_END.search(rest)
    authority, rest = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    if "@" in authority:
        raise ValueError("it holds a user name or a password, which belong into `headers`")
    host, port = _split(authority)
    try:
        name, address = _host(host)
    except ValueError:
        raise ValueError("its host is no valid name or address") from None
    return WebUrl(
        scheme=scheme,
        host=name,
        port=_PORTS[scheme] if port is None else port,
        target=_target(rest),
        address=address,
    )


def _split(authority: str) -> tuple[str, int | None]:
    if authority.startswith("["):
        host, bracket, after = authority.partition("]")
        host += bracket
        if after and not after.startswith(":"):
            raise ValueError("its host is no valid name or address")
        digits = after[1:]
    else:
        host, _, digits = authority.partition(":")
    if not digits:
        return host, None
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) <= 0xFFFF):
        raise ValueError("its port is no number up to 65535")
    return host, int(digits)


def _host(text: str) -> tuple[str, ipaddress.IPv4Address | ipaddress.IPv6Address | None]:
    if text.startswith("["):
        if not text.endswith("]") or "%" in text:
            raise ValueError
        v6 = ipaddress.IPv6Address(text[1:-1])
        return str(v6), v6
    name = _ascii(unquote_to_bytes(text).decode())
    if not name.strip(".") or _FORBIDDEN.search(name):
        raise ValueError
    v4 = _ipv4(name)
    return (str(v4), v4) if v4 is not None else (name, None)


def _ascii(name: str) -> str:
    """The name in lower case and ASCII: compatibility forms mapped, then punycode (close to UTS 46).

    Where it is not quite UTS 46 another name is looked up than a browser would: the answer is checked all the same.
    """
    if name.isascii():
        return name.lower()
    mapped = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _IGNORED.sub("", name)).lower())
    labels = mapped.translate(_DOTS).split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels)


def _ipv4(name: str) -> ipaddress.IPv4Address | None:
    """The address of a host whose last label is a number: one to four decimal, octal or hex parts, else invalid."""
    labels = name.removesuffix(".").split(".")
    if not _NUMBER.fullmatch(labels[-1]):
        return None
    *firsts, last = [_number(label) for label in labels]
    if len(labels) > 4 or any(part > 255 for part in firsts) or last >= 256 ** (4 - len(firsts)):
        raise ValueError
    return ipaddress.IPv4Address(last + sum(part << 8 * (3 - i) for i, part in enumerate(firsts)))


def _number(label: str) -> int:
    if not _NUMBER.fullmatch(label) or len(label) > _MOST_DIGITS:
        raise ValueError
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _target(rest: str) -> str:
    path, mark, query = clean(rest).partition("?")
    path = path.replace("\\", "/") or "/"
    return quote(path, safe=_PATH_SAFE) + mark + quote(query, safe=_QUERY_SAFE)
