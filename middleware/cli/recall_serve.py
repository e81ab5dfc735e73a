"""`firsthand recall serve`: one namespace's memories for agents, by the Model Context Protocol."""

from __future__ import annotations

import errno
import signal

import click

from .failures import Command, Failure
from .recall_places import opening, place, resolved

__all__ = ["serve"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(cls=Command)
@place
@click.option("--http", is_flag=True, help="Serve over streamable HTTP; else on standard input and output.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8365, show_default=True, help="With --http; 0: any free."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen at.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME[:PORT]", help="With --http: another name to be asked by."
)
def serve(namespace: str | None, store: str | None, http: bool, port: int, host: str, hosts: tuple[str, ...]) -> None:
    """Serve the memories of one namespace to an agent: search_memory, upsert_memory, delete_memory, list_memories.

    There is no log-in. Over HTTP only this machine is answered, and only requests that name it, unless --host and
    --allow-host say otherwise.
    """
    url, name, embedder = resolved(store, namespace)
    if hosts and not http:
        raise click.UsageError("--allow-host is about --http")
    from recall_store.server import serve_http, serve_stdio

    from .screen import warn

    with opening(url, embedder, make=True) as opened:
        if not http:
            # What waits for a line of standard input can only be ended so; the store is sound after any end.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            serve_stdio(opened, name)
            return
        if host not in _LOOPBACK:
            warn(f"firsthand: whoever reaches {host} can read and write the memories of {name}: there is no log-in")
        try:
            serve_http(
                opened,
                name,
                host=host,
                port=port,
                allowed_hosts=hosts,
                ready=lambda at: warn(f"Serving the memories of {name} at {at} (Ctrl+C ends)"),
            )
        except OSError as error:
            raise Failure(_cannot_be_had(error, host, port)) from None


def _cannot_be_had(error: OSError, host: str, port: int) -> str:
    # A name that is nobody's has a negative number, which the system has no words for.
    why = str(error.strerror or error).partition(" (while")[0]
    if error.errno == errno.EADDRNOTAVAIL or (error.errno or 0) < 0:
        return f"{host} is no address of this machine ({why}); name another with --host"
    return f"{host}:{port} cannot be had: {why}; name another with --port"
