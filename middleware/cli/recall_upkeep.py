"""`firsthand recall reindex` and `vacuum`: another embedder, and files without what was deleted."""

from __future__ import annotations

from pathlib import Path

import click

from .failures import Command, Failure
from .recall_places import opening, progress, resolved_store, store_option

__all__ = ["reindex", "vacuum"]


@click.command(cls=Command)
@store_option
@click.option(
    "--embedder", metavar="NAME", help="The embedder from now on, such as hash; else the setting, or the same."
)
def reindex(store: str | None, embedder: str | None) -> None:
    """Embed every memory of the store again, of all namespaces.

    Until it is done the store goes on with the embedder that it had. Interrupted, the same command goes on.
    """
    url, configured = resolved_store(store)
    # The store's own embedder may be one that is not installed any more: it is opened without naming any.
    with opening(url, None) as opened, progress("embedding") as advance:
        try:
            count = opened.reindex(embedder=embedder or configured, progress=advance)
        except KeyboardInterrupt:
            raise Failure("interrupted; nothing has changed, and the same command goes on where it stopped") from None
    click.echo(f"Embedded {count:,} {'memory' if count == 1 else 'memories'} again.")


@click.command(cls=Command)
@store_option
def vacuum(store: str | None) -> None:
    """Remove expired memories of all namespaces, and from every file what was deleted."""
    url, embedder = resolved_store(store)
    with opening(url, embedder) as opened:
        before = _bytes_of(url)
        opened.vacuum()
    after = _bytes_of(url)
    freed = f" {before:,} bytes before, {after:,} after." if before is not None and after is not None else ""
    click.echo(f"Vacuumed.{freed}")


def _bytes_of(url: str) -> int | None:
    """What the files of an embedded store take; None for one that is elsewhere."""
    if not url.startswith("sqlite:///"):
        return None
    path = Path(url.removeprefix("sqlite:///"))
    files = [*path.parent.glob(f"{path.name}*")]
    files += [inner for file in files if file.is_dir() for inner in file.rglob("*")]
    return sum(file.stat().st_size for file in files if file.is_file())
