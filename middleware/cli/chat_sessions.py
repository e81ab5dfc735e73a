"""Which session `firsthand chat` goes on with, and what of it is shown again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .failures import Failure

if TYPE_CHECKING:
    from ..app import Middleware
    from ..session import Session
    from ..settings import Settings
    from ..transcript.listing import SessionInfo
    from .chat_screen import Screen

__all__ = ["last_session", "opened", "sessions_of", "show_past"]

_MOST_ROWS = 40


def sessions_of(settings: Settings) -> list[SessionInfo]:
    """The person's sessions, the last used first; those of other users are left out."""
    from ..transcript.listing import list_sessions

    folder = Path(settings.transcripts or "")
    if settings.transcripts is None or not folder.is_dir():
        return []
    users = (None, settings.user)
    return [info for info in list_sessions(folder) if info.program is None and info.user in users]


def last_session(settings: Settings) -> str:
    """The session that was used last. Raises `Failure` when there is none."""
    for info in sessions_of(settings):
        return info.session_id
    raise Failure(f"no session to go on with in {settings.transcripts}; start one with `firsthand chat`")


def opened(app: Middleware, id: str) -> Session:
    """The stored session of this id. Raises `Failure` when there is none, or it is another user's."""
    if all(info.session_id != id for info in sessions_of(app.settings)):
        where = app.settings.transcripts
        raise Failure(f"no session {id} of yours in {where}; `firsthand transcript list {where}` names them")
    try:
        return app.open(id, user=app.settings.user, resume=True)
    except ValueError as error:
        raise Failure(str(error)) from error


async def show_past(screen: Screen, session: Session) -> None:
    """Print the end of a session as a resumed screen shows it: what was typed, never what was injected."""
    rows = session.shown()
    if len(rows) > _MOST_ROWS:
        await screen.say(f"({len(rows) - _MOST_ROWS} earlier rows: firsthand transcript show)", "dim")
    for row in rows[-_MOST_ROWS:]:
        if row.type == "user":
            await screen.typed(row.text)
        elif row.type == "assistant":
            await screen.markdown(row.text)
        else:
            await screen.say(" ".join([*row.type.split("_"), *filter(None, [row.name, row.text])]), "dim")
