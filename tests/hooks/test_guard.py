"""What an HTTP hook may reach: every spelling of a blocked address is blocked, and loopback is not."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.hooks.guard import Refused, Security, addresses_of, admitted, is_metadata, is_private, resolve
from tests.pace import no_hang

CLOSED = Security()
OPEN = Security(allow_private=True)
METADATA = ("169.254.169.254", "100.100.100.200")
BLOCKED = ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.1.1",
    "11.0.0.0",
)
FULL_WIDTH = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(0x21, 0x7F)})
DOTS = (".", "\u3002", "\uff0e", "\uff61", "%2e", "%2E", "%E3%80%82")


def allowed(url: str, security: Security = CLOSED) -> bool:
    try:
        admitted(url, security)
    except Refused:
        return False
    return True


def addresses(networks: tuple[str, ...]) -> st.SearchStrategy[ipaddress.IPv4Address]:
    given_ = st.sampled_from(networks).flatmap(lambda network: st.ip_addresses(v=4, network=network))
    return given_.map(lambda address: ipaddress.IPv4Address(int(address)))


@st.composite
def numbers(draw: st.DrawFn, value: int) -> str:
    """A number of an IPv4 host: decimal, octal or hex, perhaps with zeros in front."""
    zeros = "0" * draw(st.integers(0, 3))
    return draw(st.sampled_from([f"{value}", f"0{zeros}{value:o}", f"0x{zeros}{value:x}", f"0X{zeros}{value:X}"]))


@st.composite
def spellings(draw: st.DrawFn, address: ipaddress.IPv4Address) -> str:
    """Any way to write an IPv4 address as the host of a URL."""
    n = int(address)
    parts = draw(st.integers(1, 4))
    values = [n >> 8 * (3 - i) & 255 for i in range(parts - 1)] + [n & (1 << 8 * (5 - parts)) - 1]
    written = [draw(numbers(value)) for value in values]
    text = written[0] + "".join(draw(st.sampled_from(DOTS)) + part for part in written[1:])
    text += draw(st.sampled_from(["", ".", "\u3002"]))
    how = draw(st.sampled_from(["as is", "full width", "percent", "soft"]))
    if how == "full width" and "%" not in text:
        return text.translate(FULL_WIDTH)
    if how == "percent":
        at = draw(st.integers(0, len(text) - 1))
        if text[at].isascii() and "%" not in text[max(0, at - 2) : at + 1]:
            return f"{text[:at]}%{ord(text[at]):02x}{text[at + 1 :]}"
    if how == "soft" and "%" not in text:
        at = draw(st.integers(0, len(text)))
        return f"{text[:at]}\u00ad{text[at:]}"
    return text


@st.composite
def embeddings(draw: st.DrawFn, address: ipaddress.IPv4Address) -> ipaddress.IPv6Address:
    """An IPv6 address from which a router or the kernel takes this one."""
    n = int(address)
    layouts = {
        "mapped": 0xFFFF << 32 | n,
        "translated": 0xFFFF << 48 | n,
        "nat64": 0x64FF9B << 96 | n,
        "nat64 local": 0x64FF9B0001 << 80 | n,
        "nat64 local /48": 0x64FF9B0001 << 80 | n >> 16 << 64 | (n & 0xFFFF) << 40,
        "6to4": 0x2002 << 112 | n << 80 | 1,
        "teredo": 0x20010000 << 96 | n ^ 0xFFFFFFFF,
        "isatap": 0x20010DB8 << 96 | 0x5EFE << 32 | n,
    }
    return ipaddress.IPv6Address(layouts[draw(st.sampled_from(sorted(layouts)))])


def urls(host: str) -> st.SearchStrategy[str]:
    return st.tuples(
        st.sampled_from(["http", "https", "HTTP", "hTTps", " http", "\x00https"]),
        st.sampled_from(["://", ":", ":/", ":///", ":\\\\", ":/\\"]),
        st.just(host),
        st.sampled_from(["", ":", ":80", ":08080"]),
        st.sampled_from(["", "/", "/x?y#z", "?x", "#x", "\\x", "/\t"]),
    ).map("".join)


@given(st.data())
def test_any_spelling_of_a_private_address_is_blocked(data: st.DataObject) -> None:
    address = data.draw(addresses(BLOCKED))
    url = data.draw(urls(data.draw(spellings(address))))
    assert not allowed(url)
    assert allowed(url, OPEN) is not is_metadata(address)


@given(st.data())
def test_any_spelling_of_a_metadata_address_is_blocked_whatever_is_allowed(data: st.DataObject) -> None:
    address = ipaddress.IPv4Address(data.draw(st.sampled_from(METADATA)))
    assert not allowed(data.draw(urls(data.draw(spellings(address)))), OPEN)
    inside = data.draw(embeddings(address))
    assert not allowed(f"http://[{inside.exploded}]/", OPEN)


@given(st.data())
def test_any_spelling_of_loopback_is_allowed(data: st.DataObject) -> None:
    address = data.draw(addresses(("127.0.0.0/8",)))
    url = data.draw(urls(data.draw(spellings(address))))
    assert admitted(url, CLOSED).host == str(address)


@given(st.data())
def test_a_private_address_inside_an_ipv6_address_is_blocked(data: st.DataObject) -> None:
    address = data.draw(embeddings(data.draw(addresses(BLOCKED))))
    assert is_private(address)
    for text in (address.compressed, address.exploded, address.exploded.upper()):
        assert not allowed(f"http://[{text}]:8080/")
        url = admitted("http://name.example/", CLOSED)
        with pytest.raises(Refused):
            addresses_of(url, CLOSED, lambda host, port, text=text: ["8.8.8.8", text])  # type: ignore[misc]


@given(st.one_of([st.ip_addresses(v=6, network=n) for n in ("fc00::/7", "fe80::/10", "fec0::/10", "64:ff9b:1::/48")]))
def test_private_ipv6_ranges_are_blocked_with_and_without_a_zone(address: ipaddress.IPv6Address) -> None:
    assert not allowed(f"http://[{address}]/")
    url = admitted("http://name.example/", CLOSED)
    with pytest.raises(Refused):
        addresses_of(url, CLOSED, lambda host, port: [f"{address}%eth0"])


@pytest.mark.parametrize("host", ["[::]", "[0:0::0]", "[::ffff:10.0.0.1]", "[::10.0.0.1]", "[::FFFF:a00:1]"])
def test_these_are_blocked(host: str) -> None:
    assert not allowed(f"http://{host}/")


@pytest.mark.parametrize(
    "host", ["[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST.", "127.1"]
)
def test_this_machine_is_allowed(host: str) -> None:
    assert allowed(f"http://{host}:8080/x")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed_also_inside_ipv6(address: str) -> None:
    assert allowed(f"https://{address}/")
    assert not is_private(ipaddress.ip_address(f"64:ff9b::{address}"))
    assert not is_private(ipaddress.ip_address(f"::ffff:{address}"))
    assert allowed("https://[2606:4700::1111]/")


@pytest.mark.parametrize(
    "host",
    [
        "metadata.google.internal",
        "METADATA.Google.Internal.",
        "metadata%2egoogle.internal",
        "ｍetadata.google。internal",
        "meta\u00addata.google.internal",
        "metadata.azure.internal",
        "[fd00:ec2::254]",
        "localhost.localdomain",
        "ip6-localhost",
        "IP6-loopback.",
        "168.63.129.16",
    ],
)
def test_some_hosts_are_blocked_whatever_is_allowed(host: str) -> None:
    assert not allowed(f"http://{host}/", OPEN)
    assert not allowed(f"http://{host}/", Security(allow_private=True, allowed_urls=("*",)))


@pytest.mark.parametrize(
    ("pattern", "url", "is_match"),
    [
        ("https://api.ex.com/*", "https://api.ex.com/a", True),
        ("https://api.ex.com/*", "HTTPS://API.EX.COM/a", True),
        ("https://api.ex.com/*", "https://api.ex.com", False),
        ("https://api.ex.com/*", "https://api.ex.com.evil.com/", False),
        ("https://api.ex.com/*", "http://api.ex.com/a", False),
        ("https://api.ex.com/a", "https://api.ex.com/ab", False),
        ("https://*.ex.com/*/end", "https://a.ex.com/b/end", True),
        ("https://*.ex.com/*/end", "https://a.ex.com/end", False),
        ("https://api\\.ex\\.com/*", "https://api.ex.com/a", True),
        ("https://api.ex.com/*", "https://apiXex.com/a", False),
        ("https://ex.com/a*a", "https://ex.com/a", False),
        ("https://ex.com/[ab]+(c)?$", "https://ex.com/[ab]+(c)?$", True),
        ("*", "https://ex.com/", True),
        ("", "https://ex.com/", False),
    ],
)
def test_patterns_are_for_the_whole_url_in_any_case(pattern: str, url: str, is_match: bool) -> None:
    assert allowed(url, Security(allowed_urls=("nothing", pattern))) is is_match


def test_a_pattern_with_many_stars_is_quick() -> None:
    with no_hang():
        assert not allowed("https://ex.com/" + "a" * 20_000, Security(allowed_urls=("https://" + "*a" * 2_000 + "b",)))


@given(st.text())
def test_any_text_is_a_url_or_refused_without_being_quoted(text: str) -> None:
    for url in (text, f"http://{text}", f"http://h/{text}"):
        try:
            parsed = admitted(url, CLOSED)
        except Refused as refusal:
            assert "\n" not in str(refusal)
            assert len(str(refusal)) < 160
        else:
            assert parsed.host.isascii()
            assert parsed.target.isascii()
            assert not set(parsed.target + parsed.authority) & set(map(chr, range(33)))


def test_what_a_resolver_says_is_checked_as_a_whole() -> None:
    url = admitted("http://name.example:81/", CLOSED)
    assert addresses_of(url, CLOSED, lambda host, port: ["8.8.8.8", "::1"]) == ("8.8.8.8", "::1")
    for bad in ("10.0.0.1", "169.254.169.254", "nonsense", ""):
        with pytest.raises(Refused):
            addresses_of(url, CLOSED, lambda host, port, bad=bad: ["8.8.8.8", bad])  # type: ignore[misc]
    assert addresses_of(url, OPEN, lambda host, port: ["10.0.0.1"]) == ("10.0.0.1",)
    with pytest.raises(Refused, match="metadata"):
        addresses_of(url, OPEN, lambda host, port: ["10.0.0.1", "::ffff:169.254.169.254"])
    with pytest.raises(OSError, match="no address"):
        addresses_of(url, OPEN, lambda host, port: [])


def test_an_address_is_not_looked_up() -> None:
    def never(host: str, port: int) -> list[str]:
        raise AssertionError(host)

    assert addresses_of(admitted("http://0x7f.1/", CLOSED), CLOSED, never) == ("127.0.0.1",)


def test_the_system_knows_this_machine() -> None:
    assert set(resolve("localhost", 80)) <= {"127.0.0.1", "::1"}
    with pytest.raises(OSError):
        resolve("a" * 64 + ".invalid", 80)
