"""The exchange itself, against a real server: broken and endless answers, time, addresses, TLS."""

from __future__ import annotations

import gzip
import json
import resource
import socket
import ssl
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from middleware.hooks.aggregate import context_of
from middleware.hooks.exchange import LIMIT
from middleware.hooks.http import HttpHook
from tests.hooks.asking import CONTEXT, ask, fails, payload
from tests.hooks.http_server import Connection, Script, answer, chunk, saying, serving
from tests.pace import no_hang, open_descriptors, settled_descriptors


def test_chunks_and_compression_are_undone() -> None:
    def chunked(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(0, len(CONTEXT), 7):
            connection.send(chunk(CONTEXT[i : i + 7]))
        connection.send(b"0\r\nX-Trailer: 1\r\n\r\n")

    assert context_of(ask(chunked).output) == "ctx"
    packed = answer(gzip.compress(CONTEXT), more="Content-Encoding: gzip\r\n")
    assert context_of(ask(saying(packed)).output) == "ctx"
    deflated = answer(zlib.compress(CONTEXT), more="Content-Encoding: deflate\r\n")
    assert context_of(ask(saying(deflated)).output) == "ctx"


def test_what_comes_before_the_answer_is_read_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n"
    assert context_of(ask(saying(early + answer(CONTEXT))).output) == "ctx"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 2",
        b"HTTP/1.1 abc OK\r\n\r\n",
        answer(CONTEXT)[:-5],
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 200 + b"\r\n",
        answer(b"no gzip", more="Content-Encoding: gzip\r\n"),
        answer(gzip.compress(CONTEXT)[:-9], more="Content-Encoding: gzip\r\n"),
        answer(gzip.compress(CONTEXT)[:9], more="Content-Encoding: gzip\r\n"),
        answer(CONTEXT, more="Content-Encoding: br\r\n"),
    ],
)
def test_a_broken_answer_is_a_failed_hook(data: bytes) -> None:
    fails(ask(saying(data)), "HTTP hook could not be reached")


def test_a_body_over_the_limit_counts_for_nothing() -> None:
    large = json.dumps({"systemMessage": "x" * LIMIT}).encode()
    fails(ask(saying(answer(large))), str(LIMIT))
    fitting = json.dumps({"reason": "y"}).encode().ljust(LIMIT)
    assert ask(saying(answer(fitting))).output == {"reason": "y"}


def test_an_endless_body_costs_neither_time_nor_memory() -> None:
    def endless(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not connection.stopping.is_set():
            connection.send(chunk(b"x" * 65536))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fails(ask(endless, timeout_ms=60_000), str(LIMIT))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_compressed_gigabyte_costs_no_memory() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b" " * LIMIT) for _ in range(256)) + packer.flush()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fails(ask(saying(answer(bomb, more="Content-Encoding: gzip\r\n"))), str(LIMIT))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_an_answer_to_an_unread_request_counts() -> None:
    with serving(saying(answer(b"{}", status="413 Too Large")), read_body=False) as server:
        result = HttpHook(url=server.url()).call(payload("x" * 8_000_000))
    assert result.output == {"continue": True}
    assert result.outcome == "non_blocking_error"


def _drip_headers(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nX: ")
    connection.drip(b"x")


def _drip_interim(connection: Connection) -> None:
    connection.drip(b"HTTP/1.1 100 Continue\r\n\r\n")


def _drip_body(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    connection.drip(b" ")


def _drip_trailers(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n")
    connection.drip(b"X: 1\r\n")


@pytest.mark.parametrize(
    "script", [Connection.hang, _drip_headers, _drip_interim, _drip_body, _drip_trailers], ids=lambda s: s.__name__
)
def test_the_timeout_is_for_everything_together(script: Script) -> None:
    with no_hang():
        result = ask(script, timeout_ms=200)
    assert (result.success, result.outcome, result.output) == (True, "timeout", {"continue": True})
    assert result.error == "Hook timed out after 0.2s"


def test_a_server_that_never_reads_is_timed_out() -> None:
    with serving(Connection.hang, read_body=False) as server:
        result = HttpHook(url=server.url(), timeout_ms=200).call(payload("x" * 20_000_000))
    assert result.outcome == "timeout"


def test_a_name_server_that_hangs_is_timed_out() -> None:
    def slow(host: str, port: int) -> tuple[str, ...]:
        time.sleep(0.8)
        return ("127.0.0.1",)

    with serving(saying(answer(CONTEXT))) as server:
        result = HttpHook(url=server.url(host="slow.test"), timeout_ms=100, resolver=slow).call(payload())
        assert result.outcome == "timeout"
        time.sleep(0.9)
    assert server.requests == []


def test_a_port_where_nobody_listens_is_a_failed_hook() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    fails(HttpHook(url=f"http://127.0.0.1:{port}/").call(payload()), "Connection refused")


def test_nothing_is_left_open_after_many_calls() -> None:
    with serving(saying(answer(CONTEXT))) as server:
        hook = HttpHook(url=server.url())
        hook.call(payload())
        before = len(settled_descriptors())
        for _ in range(20):
            assert hook.call(payload()).outcome == "success"
        after = len(open_descriptors())
    assert after <= before + 3  # what the server has not closed yet


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    asked = []

    def rebinding(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",) if len(asked) == 1 else ("169.254.169.254",)

    with serving(saying(answer(CONTEXT))) as server:
        hook = HttpHook(url=server.url(host="Rebind.Test."), resolver=rebinding)
        first, second = hook.call(payload()), hook.call(payload())
    assert context_of(first.output) == "ctx"
    assert asked == ["rebind.test.", "rebind.test."]
    assert (second.success, second.outcome, second.output) == (False, "non_blocking_error", None)
    assert "metadata" in (second.error or "")
    assert server.connections == 1
    assert server.requests[0].headers["host"] == f"rebind.test.:{server.port}"


def test_one_private_address_among_good_ones_refuses_the_call() -> None:
    with serving(saying(answer(CONTEXT))) as server:
        hook = HttpHook(url=server.url(host="mixed.test"), resolver=lambda host, port: ("127.0.0.1", "10.0.0.1"))
        result = hook.call(payload())
    assert (result.success, result.outcome) == (False, "non_blocking_error")
    assert "private" in (result.error or "")
    assert server.connections == 0


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with serving(saying(answer(CONTEXT))) as server:
        hook = HttpHook(url=server.url(host="two.test"), resolver=lambda host, port: ("127.0.0.9", "127.0.0.1"))
        assert context_of(hook.call(payload()).output) == "ctx"
    assert len(server.requests) == 1


def _no_name(host: str, port: int) -> tuple[str, ...]:
    raise socket.gaierror(socket.EAI_NONAME, f"no {host}")


@pytest.mark.parametrize("resolver", [_no_name, lambda host, port: (), lambda host, port: 1 / 0])
def test_a_failed_lookup_is_a_failed_connection(resolver: Callable[[str, int], tuple[str, ...]]) -> None:
    fails(HttpHook(url="http://nowhere.test/", resolver=resolver).call(payload()), "no address")


@pytest.mark.parametrize("label", ["a" * 64, "a" * 300])
def test_the_real_resolver_takes_impossible_names(label: str) -> None:
    fails(HttpHook(url=f"http://{label}.invalid/", timeout_ms=5000).call(payload()), "no address")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "hook.test.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=hook.test", "-addext", "subjectAltName=DNS:hook.test", "-days", "2"]
    subprocess.run(
        [*command, *names, "-keyout", path, "-out", path.with_suffix(".crt")], check=True, capture_output=True
    )
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.with_suffix(".crt"), certificate)
    return context


def test_tls_is_for_the_name_though_the_connection_is_to_an_address(
    tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[str] = []
    tls.sni_callback = lambda sock, name, context: named.append(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_suffix(".crt")))
    with serving(saying(answer(CONTEXT)), tls=tls) as server:
        hook = HttpHook(url=server.url(host="HOOK.test"), resolver=lambda host, port: ("127.0.0.1",))
        assert context_of(hook.call(payload()).output) == "ctx"
        other = HttpHook(url=server.url(host="other.test"), resolver=lambda host, port: ("127.0.0.1",))
        fails(other.call(payload()), "TLS failed (CERTIFICATE_VERIFY_FAILED)")
    assert named == ["hook.test", "other.test"]
    assert len(server.requests) == 1


def test_an_unknown_certificate_is_refused(tls: ssl.SSLContext) -> None:
    with serving(saying(answer(CONTEXT)), tls=tls) as server:
        hook = HttpHook(url=server.url(host="hook.test"), resolver=lambda host, port: ("127.0.0.1",))
        fails(hook.call(payload()), "TLS failed")
    assert server.requests == []
