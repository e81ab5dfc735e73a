"""The sessions of one `Middleware`: which conversation a call belongs to."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable

from .forked import renew_in_child
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
        self._named: OrderedDict[str, Session] = OrderedDict()
        self._held: weakref.WeakValueDictionary[str, Session] = weakref.WeakValueDictionary()
        self._anonymous: OrderedDict[str, Session] = OrderedDict()
        self._by_thread: OrderedDict[str, str] = OrderedDict()
        self._by_reply: dict[Identity, set[str]] = {}
        self._listed: dict[str, tuple[Identity, ...]] = {}
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Start with nobody inside; see `forked`."""
        self._lock = threading.Lock()

    def named(self, id: str, user: str | None) -> Session:
        """The session of this id, made if it is new; `user` fills in a session that had none.

        One that somebody still holds is found however many came after it. Raises ValueError when the session, or
        the transcript of a new one, belongs to another user.
        """
        with self._lock:
            session = self._named.get(id) or self._held.get(id)
            if session is None or session.is_anothers:
                session = self._held[id] = self._make(id, user)
            self._named[id] = session
            self._named.move_to_end(id)
            if len(self._named) > self._kept:
                self._named.popitem(last=False)
        session.check_user(user)
        return session

    def anonymous(self, thread: Thread, user: str | None, kept: str | None = None) -> Session:
        """The one anonymous session whose last request and reply this thread extends, or a new one (rule 7).

        `kept` names what the provider keeps of the conversation: it says which session it is (rule 10).
        """
        with self._lock:
            known = self._anonymous.get(self._by_thread.get(kept, "")) if kept is not None else None
            session = known if kept is not None else self._extended(thread)
            if session is None:
                session = self._make(None, user)
                self._anonymous[session.id] = session
                if len(self._anonymous) > self._kept:
                    oldest, _ = self._anonymous.popitem(last=False)
                    self._unlist(oldest)
            self._anonymous.move_to_end(session.id)
            if kept is not None:
                self._link(kept, session)
            return session

    def heard(self, session: Session, reply_id: str | None = None) -> None:
        """Note an anonymous session's reply, by what it said and by the id that the provider keeps it under."""
        with self._lock:
            if session.id not in self._anonymous:
                return
            if reply_id is not None:
                self._link(reply_id, session)
            self._unlist(session.id)
            ends = tuple(said[-1] for said in session.said)
            self._listed[session.id] = ends
            for end in ends:
                self._by_reply.setdefault(end, set()).add(session.id)

    def _link(self, kept: str, session: Session) -> None:
        self._by_thread[kept] = session.id
        self._by_thread.move_to_end(kept)
        if len(self._by_thread) > 4 * self._kept:
            self._by_thread.popitem(last=False)

    def _extended(self, thread: Thread) -> Session | None:
        said = thread.identities
        for end in range(len(said) - 1, 0, -1):
            begun = said[:end] if said[end - 1] in self._by_reply else None
            if begun is None:
                continue
            found = [self._anonymous[id] for id in self._by_reply[said[end - 1]] if id in self._anonymous]
            matching = [session for session in found if begun in session.said]
            if matching:
                return matching[0] if len(matching) == 1 else None
        return None

    def _unlist(self, id: str) -> None:
        for end in self._listed.pop(id, ()):
            ids = self._by_reply.get(end)
            if ids is not None:
                ids.discard(id)
                if not ids:
                    del self._by_reply[end]
