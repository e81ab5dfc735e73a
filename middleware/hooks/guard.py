"""Where an HTTP hook may send a prompt: the rules for its URL, and for every address that its name has.

An address is checked before anything connects, and only checked addresses are handed on: whoever connects must
connect to one of them, never to the name again, so that a name cannot change its answer in between (rebinding).
Loopback is allowed: a policy server on this machine is what most HTTP hooks are. Source: hooks-and-transcripts 1.11.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import SettingsError
from .weburl import WebUrl, parse

__all__ = ["Refused", "Resolver", "Security", "addresses_of", "admitted", "is_metadata", "is_private", "resolve"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""From a name and a port to all its addresses; raises `OSError` when there are none."""

_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::/128",
        "64:ff9b:1::/48",  # NAT64 of the local network
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)
_METADATA = frozenset(
    ipaddress.ip_address(address)
    for address in (
        "169.254.169.254",  # AWS, Google, Azure, Oracle, OpenStack and others
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's wire server
        "169.254.170.2",  # AWS container credentials
        "169.254.170.23",
        "169.254.0.23",  # Tencent
        "169.254.42.42",  # Scaleway
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",
        "fd20:ce::254",  # Google
        "fd00:42::42",  # Scaleway
    )
)
_METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog", "metadata.azure.internal"})
_BLOCKED_NAMES = frozenset({"localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_LOOPBACK_V6 = ipaddress.IPv6Address("::1")


class Refused(Exception):
    """A hook's URL, or an address of its host, may not be asked. The text quotes nothing of the URL.

    `allowed_by` is the key of `security` that decides it, "" where nothing allows it.
    """

    def __init__(self, text: str, *, allowed_by: str = "") -> None:
        super().__init__(text)
        self.allowed_by = allowed_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The `security` of a settings file.

    `allowed_urls` are patterns in which `*` is any run of characters; none means every URL. `allow_private` opens
    the private ranges, never a metadata endpoint; a project's own file may not set it (1.11).
    """

    allowed_urls: tuple[str, ...] = ()
    allow_private: bool = False

    @classmethod
    def configured(cls, value: object, *, where: str) -> Security:
        """Read a `security` object; None is an empty one. Raises `SettingsError`."""
        if value is None:
            return cls()
        if not isinstance(value, Mapping):
            raise SettingsError(f"{where}: `security` is no object; write allowedHttpHookUrls into one")
        urls, private = value.get("allowedHttpHookUrls"), value.get("allowPrivateNetworkHooks", False)
        urls = [] if urls is None else urls
        if not isinstance(urls, (list, tuple)) or not all(isinstance(url, str) for url in urls):
            raise SettingsError(f"{where}: `security.allowedHttpHookUrls` is no list of strings; write patterns")
        if not isinstance(private, bool):
            raise SettingsError(f"{where}: `security.allowPrivateNetworkHooks` is neither true nor false")
        return cls(allowed_urls=tuple(urls), allow_private=private)


def admitted(url: str, security: Security) -> WebUrl:
    """Read the URL of a hook and hold it against the rules that need no lookup, in the order of 1.11.

    Raises `Refused`.
    """
    try:
        parsed = parse(url)
    except ValueError as error:
        raise Refused(f"its URL is refused: {error}") from None
    name = parsed.host.rstrip(".")
    if name in _METADATA_NAMES:
        raise Refused("its URL is refused: its host is a cloud metadata endpoint")
    if name in _BLOCKED_NAMES:
        raise Refused("its URL is refused: its host is another name of this machine; write localhost or 127.0.0.1")
    if parsed.address is not None:
        _check(parsed.address, security, "its URL is refused: its host is")
    if security.allowed_urls and not any(_matches(pattern, url) for pattern in security.allowed_urls):
        why = "its URL is refused: no pattern of security.allowedHttpHookUrls matches it"
        raise Refused(why, allowed_by="allowedHttpHookUrls")
    return parsed


def addresses_of(url: WebUrl, security: Security, resolver: Resolver) -> tuple[str, ...]:
    """All addresses of an admitted URL, each of them allowed; one that is not refuses them all.

    Raises `Refused`, and `OSError` when the name has none.
    """
    if url.address is not None:
        return (url.host,)
    found = tuple(resolver(url.host, url.port))
    if not found:
        raise OSError("the name has no address")
    for text in found:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            raise Refused("its host is refused: it resolves to what is no address") from None
        _check(address, security, "its host is refused: it resolves to")
    return found


def resolve(host: str, port: int) -> tuple[str, ...]:
    """Ask the system for the addresses of an ASCII name, in its order of preference. Raises `OSError`."""
    # As bytes: for a str Python encodes the name once more and raises for labels that no name server has.
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def is_private(address: Address) -> bool:
    """Whether the address, or an IPv4 address that it carries, is in a blocked range; loopback is not."""
    return any(form in network for form in _forms(address) for network in _PRIVATE if form.version == network.version)


def is_metadata(address: Address) -> bool:
    """Whether the address, or an IPv4 address that it carries, hands out a machine's credentials."""
    return any(form in _METADATA for form in _forms(address))


def _check(address: Address, security: Security, what: str) -> None:
    if is_metadata(address):
        raise Refused(f"{what} a cloud metadata endpoint")
    if not security.allow_private and is_private(address):
        why = f"{what} in a private network; security.allowPrivateNetworkHooks in your own settings allows it"
        raise Refused(why, allowed_by="allowPrivateNetworkHooks")


def _forms(address: Address) -> Iterator[Address]:
    """The address and the IPv4 addresses that a router or the kernel would take out of it."""
    yield address
    if address.version == 6 and address != _LOOPBACK_V6:
        yield from (ipaddress.IPv4Address(carried) for carried in _carried(int(address)))


def _carried(n: int) -> Iterator[int]:
    head, low = n >> 32, n & 0xFFFFFFFF
    # Compatible, mapped (::ffff:a.b.c.d), translated (::ffff:0:a.b.c.d), NAT64.
    if (head == 0 and low) or head in (0xFFFF, 0xFFFF0000, 0x64FF9B << 64):
        yield low
    if n >> 80 == 0x64FF9B0001:  # NAT64 of the local network, in each of its layouts (RFC 6052)
        yield low
        yield (n >> 64 & 0xFFFF) << 16 | n >> 40 & 0xFFFF
        yield (n >> 64 & 0xFF) << 24 | n >> 32 & 0xFFFFFF
        yield n >> 24 & 0xFFFFFFFF
    if n >> 112 == 0x2002:  # 6to4
        yield n >> 80 & 0xFFFFFFFF
    if n >> 96 == 0x20010000:  # Teredo: server, client
        yield n >> 64 & 0xFFFFFFFF
        yield low ^ 0xFFFFFFFF
    if n >> 32 & 0xFDFFFFFF == 0x5EFE:  # ISATAP
        yield low


def _matches(pattern: str, url: str) -> bool:
    """Whether all of `url` matches, in any case. In time linear in both: no pattern can hold a turn."""
    # The reference takes patterns with escaped dots as well.
    first, *rest = pattern.replace("\\.", ".").lower().split("*")
    text = url.lower()
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in middle:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return len(text) - len(last) >= at and text.endswith(last)
