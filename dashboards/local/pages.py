"""The pages: what happened in all, the sessions, the turns of one, and a turn as typed beside what was received."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from . import shown
from .asked import OUTCOMES, PER_PAGE, RANGES, SESSION_SORTS, TURN_SORTS, Asked, BadAddress, asked_in
from .contents import refusal, turn_text
from .drawn import LONGEST, bars, pieces, shares
from .errors import DashboardError
from .queries import Page, Refused, models, overview, refused, sessions, status, turn, turns
from .server import Board

__all__ = ["routes"]

_HERE: Final = Path(__file__).parent
_KEY_DIGITS: Final = 48
_RECENT: Final = 6
_NO_STORE: Final = {"cache-control": "no-store"}

_templates: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(
    {
        name: getattr(shown, name)
        for name in ("count", "seconds", "share", "size", "moment", "stamp", "visible", "money", "ago")
    }
)
_templates.globals.update(ranges=tuple(RANGES), outcomes=OUTCOMES, longest=LONGEST)


def routes(board: Board) -> list[BaseRoute]:
    """The routes of the pages, which read through `board.readers`."""
    made: list[BaseRoute] = [
        Route(path, _page(board, answer))
        for path, answer in (
            ("/", _front),
            ("/sessions", _listed("sessions", sessions, SESSION_SORTS)),
            ("/turns", _listed("turns", turns, TURN_SORTS)),
            ("/turn/{key}", _turn),
            ("/timeline.json", _timeline),
            ("/live.json", _live),
        )
    ]
    return [
        *made,
        Mount("/static", StaticFiles(directory=_HERE / "static")),
        Route("/{rest:path}", _page(board, _none)),
    ]


def _page(board: Board, answer: Callable[[Board, Request, float], Response]) -> Callable[[Request], Response]:
    # A plain function runs on a thread: reading never holds up the receiver.
    def answered(request: Request) -> Response:
        try:
            return answer(board, request, time.time())
        except BadAddress as error:
            return _told(board, 400, "This address asks for something that cannot be", str(error))
        except DashboardError as error:
            return _told(board, 503, "The dashboard's file cannot be read", str(error))

    return answered


def _front(board: Board, request: Request, now: float) -> Response:
    with board.readers.reading() as connection:
        held = status(connection)
        asked = asked_in(request.query_params, now, oldest=held.oldest)
        seen = overview(connection, asked.where, prices=board.prices)
        recent = turns(connection, asked.where, descending=True, limit=_RECENT, prices=board.prices)
        known = models(connection)
        blocked = refused(connection, recent.items)
    return _rendered(
        board,
        "overview.html",
        now,
        asked=asked,
        seen=seen,
        recent=recent,
        reasons=_reasons(blocked),
        models=known,
        held=held,
        path="/",
    )


def _listed(name: str, listed: Callable[..., Page], sorts: tuple[str, ...]) -> Callable[..., Response]:
    """What answers with a list: its page is `name`.html, at the address `/name`."""

    def answer(board: Board, request: Request, now: float) -> Response:
        with board.readers.reading() as connection:
            held = status(connection)
            asked = asked_in(request.query_params, now, sorts, oldest=held.oldest)
            found = listed(
                connection,
                asked.where,
                search=asked.search,
                outcome=asked.outcome,
                sort=asked.sort,
                descending=asked.descending,
                limit=PER_PAGE,
                offset=asked.offset,
                prices=board.prices,
            )
            known = models(connection)
            blocked = refused(connection, found.items) if name == "turns" else {}
        return _rendered(
            board,
            f"{name}.html",
            now,
            asked=asked,
            found=found,
            reasons=_reasons(blocked),
            models=known,
            held=held,
            path=f"/{name}",
        )

    return answer


def _reasons(blocked: Mapping[str, Refused]) -> dict[str, str]:
    """What to say of each blocked turn of a list. Read after the database was let go: files may be slow."""
    return {key: refusal(known, key) for key, known in blocked.items()}


def _turn(board: Board, request: Request, now: float) -> Response:
    key = request.path_params["key"]
    asked = asked_in(request.query_params, now)
    if len(key) == _KEY_DIGITS and set(key) <= set("0123456789abcdef"):
        with board.readers.reading() as connection:
            one = turn(connection, key, prices=board.prices)
        if one is not None:
            text = turn_text(one.place, key)
            return _rendered(
                board,
                "turn.html",
                now,
                asked=asked,
                one=one,
                text=text,
                received=pieces(text.received),
                shares=shares(text.received),
                bars=bars(one.spans),
                path=f"/turn/{key}",
            )
    return _told(board, 404, "There is no such turn", "it may have been forgotten (--keep), or not have come yet")


def _timeline(board: Board, request: Request, now: float) -> Response:
    with board.readers.reading() as connection:
        asked = asked_in(request.query_params, now, oldest=status(connection).oldest)
        line = overview(connection, asked.where, prices=board.prices).timeline
    return JSONResponse({"step": line.step, "starts": line.starts, **line.columns}, headers=_NO_STORE)


def _live(board: Board, request: Request, now: float) -> Response:
    with board.readers.reading() as connection:
        held = status(connection)
    return JSONResponse({"turns": held.turns, "spans": held.spans, "newest": held.newest}, headers=_NO_STORE)


def _none(board: Board, request: Request, now: float) -> Response:
    return _told(board, 404, "There is no such page", "the overview, the sessions and the turns are above")


def _told(board: Board, code: int, title: str, what: str) -> Response:
    return _rendered(board, "told.html", time.time(), code=code, title=title, what=what, asked=_USUAL, path="")


_USUAL: Final[Asked] = asked_in({}, 0.0)


def _rendered(board: Board, name: str, now: float, *, code: int = 200, **values: Any) -> Response:
    page = _templates.get_template(name).render(
        now=now, currency=board.prices.currency, priced=bool(board.prices), transcripts=board.transcripts, **values
    )
    # A lone surrogate in somebody's name for a session is no reason for a page not to come.
    body = page.encode("utf-8", "replace")
    return Response(body, code, media_type="text/html; charset=utf-8", headers=_NO_STORE)
