"""`firsthand dashboard`: pages that say who said what, over an OTLP receiver and the transcripts of a folder."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..settings import Settings
from ..settings.values import duration
from .failures import Command, Failure, lacking, plain

if TYPE_CHECKING:
    from dashboards.local.server import Board

__all__ = ["dashboard"]


class _Duration(click.ParamType[timedelta]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        try:
            return value if isinstance(value, timedelta) else duration(value)
        except ValueError:
            self.fail(f"{value!r} is no time to keep for; write it as 12h, 30d, 8w or 1y", param, ctx)


@click.command(cls=Command)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=4318,
    show_default=True,
    help="Port on this machine, the standard one of OTLP; 0 takes any.",
)
@click.option(
    "--transcripts",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder of transcripts to read and follow; else the setting.",
)
@click.option(
    "--db",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where it is kept; else dashboard.db in your folder for data.",
)
@click.option("--keep", metavar="TIME", type=_Duration(), help="Forget what is older: 12h, 30d, 8w, 1y. Else nothing.")
@click.option(
    "--prices", metavar="FILE", type=click.Path(path_type=Path), help="TOML of prices a model; else the setting."
)
@click.option("--open", "opens", is_flag=True, help="Open it in your browser.")
@click.option("--vacuum", is_flag=True, help="Forget (with --keep), give free room back to the disk, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print {url, db, transcripts, pid} once it runs.")
def dashboard(
    port: int,
    transcripts: Path | None,
    db: Path | None,
    keep: timedelta | None,
    prices: Path | None,
    opens: bool,
    vacuum: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Show every turn as it was typed beside what the model received.

    It takes OpenTelemetry from any wrapped client on this machine, at the address that exporters use when they are
    told nothing, and reads transcripts. It answers to this machine alone, and changes neither.
    """
    place = db if db is not None else _usual_place()
    if vacuum:
        _vacuum(place, keep)
        return
    try:
        from dashboards.local.server import application, listen, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("dashboards", "middleware"):
            raise
        raise lacking("the dashboard", error.name, "dashboard") from error
    from dashboards.local.pages import routes

    sockets = listen(port)
    try:
        board = _board(place, keep, transcripts, prices)
    except BaseException:
        for opened in sockets:
            opened.close()
        raise
    url = f"http://localhost:{sockets[0].getsockname()[1]}"

    def started(_stop: object) -> None:
        _tell(url, board, as_json)
        if opens:
            click.launch(url)

    try:
        serve(application(board, routes(board)), sockets, started=started)
    except KeyboardInterrupt:
        # How a person ends it: everything is written by now.
        pass


def _board(place: Path, keep: timedelta | None, transcripts: Path | None, prices: Path | None) -> Board:
    from dashboards.local.database import Readers
    from dashboards.local.following import Follower, followable
    from dashboards.local.ingest import Ingest
    from dashboards.local.prices import NO_PRICES, load_prices
    from dashboards.local.server import Board

    settings = Settings.load()
    listed = prices if prices is not None else (Path(settings.prices) if settings.prices is not None else None)
    known = load_prices(listed) if listed is not None else NO_PRICES
    folder = transcripts
    if folder is None and settings.transcripts is not None:
        folder = Path(settings.transcripts)
    if folder is not None:
        # Before a file is made: what is refused leaves nothing behind.
        followable(folder)
    ingest = Ingest(place, keep=keep)
    follower = Follower(folder, ingest) if folder is not None else None
    return Board(ingest=ingest, readers=Readers(place), follower=follower, prices=known)


def _usual_place() -> Path:
    """`dashboard.db` in the person's folder for data, made private if it is new."""
    given = os.environ.get("XDG_DATA_HOME", "")
    base = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "share"
    folder = base / "firsthand"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / "dashboard.db"


def _vacuum(place: Path, keep: timedelta | None) -> None:
    from dashboards.local.retention import tidy

    if not place.exists():
        raise Failure(f"{place}: there is no such file; name one with --db")
    gone, freed = tidy(place, keep)
    click.echo(f"{plain(str(place))}: {gone:,} rows forgotten, {freed:,} bytes given back")


def _tell(url: str, board: Board, as_json: bool) -> None:
    if as_json:
        from .screen import print_json

        folder = str(board.transcripts) if board.transcripts is not None else None
        print_json({"url": url, "db": str(board.ingest.path), "transcripts": folder, "pid": os.getpid()})
        sys.stdout.flush()
        return
    click.echo(f"Dashboard: {url}  (Ctrl+C ends it)")
    click.echo(f"Takes OTLP at {url}/v1/traces, /v1/metrics and /v1/logs")
    if board.transcripts is not None:
        yet = "" if board.transcripts.is_dir() else ", once that folder is there"
        click.echo(f"Follows transcripts in {plain(str(board.transcripts))}{yet}")
    else:
        click.echo("Follows no transcripts: name their folder with --transcripts to see what was typed and injected")
    click.echo(f"Keeps it in {plain(str(board.ingest.path))}")
