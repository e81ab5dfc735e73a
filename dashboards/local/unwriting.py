"""Forgets what a transcript said: the turns that only it told of go, the others stay as their spans have them."""

from __future__ import annotations

import sqlite3

from .stored import bundles_of, pieces
from .tally import Tally
from .writing import write_turns

__all__ = ["forget_file"]


def forget_file(connection: sqlite3.Connection, file: int) -> None:
    """Take a followed file's part out of the turns, and their counts, inside the caller's transaction."""
    keys = [key for (key,) in connection.execute("SELECT key FROM turns WHERE file = ?", (file,))]
    for some in pieces(keys):
        tally = Tally(connection)
        kept = []
        for bundle in bundles_of(connection, some).values():
            tally.add(bundle, -1)
            bundle.written = None
            if bundle.end is None and not (bundle.calls or bundle.hooks or bundle.recalls):
                connection.execute("DELETE FROM turns WHERE id = ?", (bundle.id,))
                continue
            tally.add(bundle, 1)
            kept.append(bundle)
        write_turns(connection, kept)
        tally.write()
    connection.execute("DELETE FROM files WHERE id = ?", (file,))
