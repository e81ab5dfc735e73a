"""`firsthand recall`: the memories of one person or project, on the command line and for agents."""

from __future__ import annotations

import click

from .failures import Commands
from .recall_add import add
from .recall_find import history, list_, search
from .recall_forget import forget
from .recall_serve import serve
from .recall_transfer import export, import_
from .recall_upkeep import reindex, vacuum

__all__ = ["recall"]


@click.group(cls=Commands)
def recall() -> None:
    """Add, find, list, export and import memories, have them forgotten, and serve them to agents."""


for _command in (add, search, list_, forget, history, import_, export, reindex, vacuum, serve):
    recall.add_command(_command)
