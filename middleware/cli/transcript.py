"""`firsthand transcript`: show, list, search, export, check, count, import and erase transcripts."""

from __future__ import annotations

import click

from .failures import Commands
from .transcript_check import check
from .transcript_erase import erase
from .transcript_export import export
from .transcript_import import import_
from .transcript_list import list_, stats
from .transcript_search import search
from .transcript_show import show

__all__ = ["transcript"]


@click.group(cls=Commands)
def transcript() -> None:
    """Show, list, search, export, check, count, import and erase transcripts."""


for _command in (show, list_, search, export, check, stats, import_, erase):
    transcript.add_command(_command)
