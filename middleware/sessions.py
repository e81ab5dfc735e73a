"""The sessions of one `Middleware`: which conversation a call belongs to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from .ledger import Thread
from .parts import Identity
from .session import Session

__all__ = ["Sessions"]

_KEPT_SESSIONS = 1024


class Sessions:
    """The sessions of one `Middleware`: named ones by id, anonymous ones by what was said in them. Bounded."""

    def __init__(self, make: Callable[[str | None, str | None], Session], *, kept: int = _KEPT_SESSIONS) -> None:
        self._make = make
        self._kept = kept
        self._lock = threading.Lock()
        self._named: OrderedDict[str, Session] = OrderedDict()
        self._anonymous: OrderedDict[str, Session] = OrderedDict()
        self._by_id: OrderedDict[str, str] = OrderedDict()
        self._by_reply: dict[Identity, set[str]] = {}

    def named(self, id: str, user: str | None) -> Session:
        """The session of this id, made if it is new; `user` fills in a session that had none.

        Raises ValueError when the session belongs to another user.
        """
        with self._lock:
            session = self._named.get(id)
            if session is None:
                session = self._named[id] = self._make(id, user)
                if len(self._named) > self._kept:
                    self._named.popitem(last=False)
            self._named.move_to_end(id)
        if user is not None and session.user != user:
            if session.user is not None:
                raise ValueError(f"session {id!r} is of user {session.user!r}; open another session for {user!r}")
            session.user = user
        return session

    def anonymous(self, thread: Thread, user: str | None, kept: str | None = None) -> Session:
        """The one anonymous session whose last request and reply this thread extends, or a new one (rule 7).

        `kept` names what the provider keeps of the conversation: it says which session it is (rule 10).
        """
        with self._lock:
            known = self._anonymous.get(self._by_id.get(kept, "")) if kept is not None else None
            session = known if kept is not None else self._extended(thread)
            if session is None:
                session = self._make(None, user)
                self._anonymous[session.id] = session
                if len(self._anonymous) > self._kept:
                    _, oldest = self._anonymous.popitem(last=False)
                    self._unlist(oldest)
            self._anonymous.move_to_end(session.id)
            if kept is not None:
                self._link(kept, session)
            return session

    def heard(self, session: Session, before: tuple[Identity, ...], reply_id: str | None = None) -> None:
        """Note an anonymous session's reply; `before` is what its last request and reply were until then."""
        with self._lock:
            if session.id not in self._anonymous:
                return
            if reply_id is not None:
                self._link(reply_id, session)
            if session.said is before:
                return
            if before:
                self._drop(before[-1], session.id)
            if session.said:
                self._by_reply.setdefault(session.said[-1], set()).add(session.id)

    def _link(self, kept: str, session: Session) -> None:
        self._by_id[kept] = session.id
        self._by_id.move_to_end(kept)
        if len(self._by_id) > 4 * self._kept:
            self._by_id.popitem(last=False)

    def _extended(self, thread: Thread) -> Session | None:
        said = thread.identities
        for end in range(len(said) - 1, 0, -1):
            ids = self._by_reply.get(said[end - 1], ())
            matching = [
                session
                for session in (self._anonymous[id] for id in ids)
                if (len(session.said) == end and session.said == said[:end])
                or (len(session.said_in_full) == end and session.said_in_full == said[:end])
            ]
            if matching:
                return matching[0] if len(matching) == 1 else None
        return None

    def _unlist(self, session: Session) -> None:
        if session.said:
            self._drop(session.said[-1], session.id)

    def _drop(self, reply: Identity, id: str) -> None:
        ids = self._by_reply.get(reply)
        if ids is not None:
            ids.discard(id)
            if not ids:
                del self._by_reply[reply]
