"""URLs as the WHATWG standard reads them."""

from __future__ import annotations

import pytest

from middleware.hooks.weburl import parse


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("http://h", "h", 80, "/"),
        ("https://H.Example:8443/a/b?c=d#e", "h.example", 8443, "/a/b?c=d"),
        ("https://h:443", "h", 443, "/"),
        ("  http:\\\\h\\a\\b?c\\d  ", "h", 80, "/a/b?c\\d"),
        ("http:h/x", "h", 80, "/x"),
        ("ht\ntp://h\t/x\r", "h", 80, "/x"),
        ("http://h?q", "h", 80, "/?q"),
        ("http://h/ü x\"<>`{}%zz%41?ü'\ud800", "h", 80, "/%C3%BC%20x%22%3C%3E%60%7B%7D%zz%41?%C3%BC%27%EF%BF%BD"),
        ("http://1.2.3.4./", "1.2.3.4", 80, "/"),
        ("http://2852039166", "169.254.169.254", 80, "/"),
        ("http://0300.0xa8.1", "192.168.0.1", 80, "/"),
        ("http://0x", "0.0.0.0", 80, "/"),
        ("http://[2001:DB8::0:1]:81", "2001:db8::1", 81, "/"),
        ("http://a_b-.c", "a_b-.c", 80, "/"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "/"),
        ("http://faß.example", "xn--fa-hia.example", 80, "/"),
        ("http://1.2.3.4.example", "1.2.3.4.example", 80, "/"),
    ],
)
def test_a_url_is_read(url: str, host: str, port: int, target: str) -> None:
    parsed = parse(url)
    assert (parsed.host, parsed.port, parsed.target) == (host, port, target)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h",
        "//h/",
        "ftp://h/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:",
        "http://",
        "http:///",
        "http://?x",
        "http://.",
        "http://h:x/",
        "http://h:65536/",
        "http://h:-1/",
        "http://h:80:80/",
        "http://h:٣/",
        "http://u@h/",
        "http://u:p@h/",
        "http://@h/",
        "http://a b/",
        "http://a%20b/",
        "http://a%00b/",
        "http://a%2Fb/",
        "http://a%ff/",
        "http://a<b/",
        "http://a℀b/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://1.2.3.256/",
        "http://09.1/",
        "http://1.2.a.4/",
        "http://4294967296/",
        "http://" + "9" * 5000 + "/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[::1%25eth0]/",
        "http://[1.2.3.4]/",
        "http://::1/",
        "http://\ud800/",
    ],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^it"):
        parse(url)


def test_the_host_header_has_brackets_and_the_port_where_it_must() -> None:
    urls = ("http://h:80", "http://h:443", "https://h:443", "https://[::1]:8443", "http://[::1]")
    assert [parse(url).authority for url in urls] == ["h", "h:443", "h", "[::1]:8443", "[::1]"]
