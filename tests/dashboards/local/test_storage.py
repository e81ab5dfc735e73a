"""The file: private, one program's, forgetful when told so; what a process exports into itself comes the same way."""

import logging
import sqlite3
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult

from dashboards.local import measures
from dashboards.local.database import Readers, open_writer, vacuum, words_for_errors
from dashboards.local.errors import DatabaseError
from dashboards.local.exporting import LogIngester, MetricIngester, SpanIngester
from dashboards.local.ingest import Closed, Ingest
from dashboards.local.queries import Filter, metric_sums, overview, status, turns
from dashboards.local.retention import forget_old
from dashboards.local.schema import APPLICATION_ID
from middleware import Middleware
from middleware.testing import LocalModel

from .sending import NOON, NS, Trace, histogram, log


def test_the_file_is_its_owners_alone(board):
    board.send(Trace().turn(1))
    modes = {path.name: path.stat().st_mode & 0o777 for path in board.path.parent.iterdir()}
    assert modes == {"board.db": 0o600, "board.db-wal": 0o600, "board.db-shm": 0o600, "board.db.lock": 0o600}


def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE t (x)")
    made.close()
    before = other.read_bytes()
    with pytest.raises(DatabaseError, match="is a SQLite file of another program; name another with --db"):
        open_writer(other)
    text = tmp_path / "notes.txt"
    text.write_text("notes " * 1000)
    with pytest.raises(DatabaseError, match="is no SQLite file, or damaged; name another with --db"):
        open_writer(text)
    assert (other.read_bytes(), text.read_text()) == (before, "notes " * 1000)


def test_a_file_of_a_newer_version_is_refused(tmp_path):
    open_writer(tmp_path / "new.db").close()
    with sqlite3.connect(tmp_path / "new.db") as made:
        made.execute("PRAGMA user_version = 99")
        assert made.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    made.close()
    with pytest.raises(DatabaseError, match="was written by a newer firsthand"):
        open_writer(tmp_path / "new.db")


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(DatabaseError, match="No such file or directory; name another with --db"):
        Ingest(tmp_path / "nowhere" / "board.db")


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "a%20b.db", "\u00fc #?.db"])
def test_every_name_is_the_name_of_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    ingest, readers = Ingest(Path(name)), Readers(Path(name))
    ingest.receive("traces", Trace().turn(1).body)[1].result(60)
    with readers.reading() as connection:
        assert turns(connection).total == 1
    readers.close()
    ingest.close()
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}.lock"}
    assert (tmp_path / name).stat().st_size > 4_096


def test_what_can_be_no_database_is_one_line(tmp_path):
    with pytest.raises(DatabaseError, match=r"^/dev/null: disk I/O error; name another with --db$"):
        open_writer(Path("/dev/null"))
    with pytest.raises(DatabaseError, match=r"unable to open database file; name another with --db$"):
        open_writer(tmp_path)


def test_a_file_has_one_dashboard(board):
    with pytest.raises(DatabaseError, match="is another dashboard's; stop that one, or name another with --db"):
        Ingest(board.path)
    board.ingest.close()
    Ingest(board.path).close()


def test_a_link_to_a_file_is_that_file_and_has_no_dashboard_of_its_own(board, tmp_path):
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(board.path)
    with pytest.raises(DatabaseError, match="is another dashboard's; stop that one, or name another with --db"):
        Ingest(link)


def test_a_file_that_is_removed_takes_nothing_more_and_that_is_said_once(board, caplog):
    board.send(Trace().turn(1))
    board.path.rename(board.path.with_name("moved.db"))
    for number in (2, 3):
        refused, done = board.ingest.receive("traces", Trace().turn(number).body)
        assert str(done.exception(60)) == "it was removed or replaced while the dashboard ran; start it again"
        assert refused.rejected == 0
    board.path.with_name("moved.db").rename(board.path)
    board.send(Trace().turn(2))
    assert board.rows("SELECT count(*) FROM turns") == [(2,)]
    why = "it was removed or replaced while the dashboard ran; start it again"
    assert caplog.messages == [f"dashboard: what comes cannot be written to {board.path}: {why}"]


def test_a_disk_that_fills_up_in_the_middle_of_a_request_loses_nothing_of_it_and_doubles_nothing(board, caplog):
    trace = Trace()
    for number in range(1, 4_001):
        trace.call(number).turn(number, said={"x": "y" * 500})
    pages = board.ask(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    board.ingest.submit(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages + 600}"), 0).result(60)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        board.ingest.receive("traces", trace.body)[1].result(60)
    [(some,)] = board.rows("SELECT count(*) FROM spans")
    assert 0 < some < 8_000
    board.ingest.submit(lambda connection: connection.execute("PRAGMA max_page_count = 1000000"), 0).result(60)
    board.send(trace)
    assert board.rows("SELECT count(*) FROM spans") == [(8_000,)]
    assert board.rows("SELECT sum(count) FROM cells WHERE width = 60 AND series = 'turn'") == [(4_000,)]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "attempt to write a readonly database",
            "x.db cannot be written; change its permissions, or name another --db",
        ),
        ("database or disk is full", "x.db: its disk is full; make room, or name another --db"),
        ("database is locked", "x.db is in use by another process; stop that one, or name another --db"),
        ("database disk image is malformed", "x.db is no SQLite file, or damaged; name another with --db"),
    ],
)
def test_what_sqlite_says_is_said_with_what_to_do(said, line):
    with pytest.raises(DatabaseError) as told, words_for_errors(Path("x.db")):
        raise sqlite3.OperationalError(said)
    assert str(told.value) == line


def test_a_file_that_is_damaged_while_it_is_used_says_so_once_and_refuses_no_item(board, caplog):
    board.send(Trace().turn(1))
    board.ingest.submit(lambda connection: connection.execute("PRAGMA writable_schema = 1"), 0).result(60)
    board.ingest.submit(
        lambda connection: connection.execute("UPDATE sqlite_master SET rootpage = 1 WHERE name = 'spans_ids'"), 0
    ).result(60)
    board.close()
    ingest = Ingest(board.path)
    try:
        for _ in range(2):
            refused, done = ingest.receive("traces", Trace().turn(2).body)
            assert isinstance(done.exception(60), sqlite3.DatabaseError)
            assert refused.rejected == 0
    finally:
        ingest.close()
    [told] = caplog.messages
    assert told.endswith("; move it away and start the dashboard again")


def test_series_without_end_are_refused_with_a_reason_and_those_that_are_there_go_on(board, monkeypatch, caplog):
    monkeypatch.setattr(measures, "_MOST_SERIES", 3)
    for label in "abc":
        assert board.send(histogram("m", [1], [], 1.0, label=label), "metrics").rejected == 0
    more = histogram("m", [2], [], 2.0, at=NOON + 60, label="a")
    for label in "de":
        more.MergeFrom(histogram("m", [1], [], 1.0, label=label))
    with caplog.at_level(logging.CRITICAL):
        refused = board.send(more, "metrics")
    assert (refused.rejected, refused.why) == (
        2, "metric 'm' cannot be stored: there are 3 series already; give its attributes fewer values",
    )  # fmt: skip
    assert sorted(one.total for one in board.ask(metric_sums, "m")) == [1.0, 1.0, 2.0]


def test_an_exporter_whose_file_cannot_be_written_fails_and_raises_nothing(board, caplog):
    pages = board.ask(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    board.ingest.submit(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}"), 0).result(60)
    tracer = TracerProvider()
    span = tracer.get_tracer("x").start_span("y", attributes={"x": "y" * 60_000})
    span.end()
    assert SpanIngester(board.ingest).export([span]) is SpanExportResult.FAILURE
    tracer.shutdown()


def test_readers_cannot_write(board):
    with pytest.raises(DatabaseError, match="cannot be written; change its permissions, or name another --db"):
        board.rows("DELETE FROM turns")


def test_readers_see_one_moment_while_more_is_written(board):
    board.send(Trace().turn(1))
    readers = Readers(board.path)
    with readers.reading() as connection:
        before = turns(connection).total
        board.send(Trace().turn(2))
        assert (before, turns(connection).total) == (1, 1)
    with readers.reading() as connection:
        assert turns(connection).total == 2
    readers.close()


def test_what_is_older_than_it_is_kept_is_forgotten_and_its_room_given_back(board):
    for number in range(1, 400):
        at = NOON - 90_000 if number % 2 else NOON
        board.send(Trace().hook(number, at=at).call(number, at=at, said={"x": "y" * 5000}).turn(number, at=at))
    board.send(log("old", number=1, at=NOON - 90_000), "logs")
    board.send(histogram("m", [1], [], 1.0, at=NOON - 90_000), "metrics")
    board.ingest.submit(lambda connection: None, 0).result(60)
    size = board.ask(status).bytes
    board.close()
    connection = open_writer(board.path)
    forget_old(connection, (NOON - 50_000) * NS)
    connection.close()
    readers = Readers(board.path)
    with readers.reading() as connection:
        assert turns(connection).total == 199
        assert overview(connection, Filter(start=NOON - 600, end=NOON + 600)).turns == 199
        for table in ("logs", "metrics", "metric_sums"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
        assert (
            connection.execute("SELECT count(*) FROM cells WHERE start + width < ?", (NOON - 50_000,)).fetchone()[0]
            == 0
        )
        assert status(connection).turns == 199
        assert status(connection).bytes < 0.7 * size
    readers.close()


def test_an_ingest_forgets_by_itself(tmp_path):
    ingest = Ingest(tmp_path / "board.db", keep=timedelta(hours=1))
    now = time.time()
    ingest.receive("traces", Trace().turn(1, at=now - 7200).turn(2, at=now).body)[1].result(60)
    ingest.close()
    readers = Readers(tmp_path / "board.db")
    with readers.reading() as connection:
        assert turns(connection).total == 1
    readers.close()


def test_closing_writes_what_was_taken_and_takes_nothing_more(tmp_path):
    ingest = Ingest(tmp_path / "board.db")
    hold = threading.Event()
    ingest.submit(lambda connection: hold.wait(60), 0)
    waiting = [ingest.receive("traces", Trace().turn(number).body)[1] for number in range(1, 20)]
    closer = threading.Thread(target=ingest.close)
    closer.start()
    while not ingest._closing:
        pass
    with pytest.raises(Closed):
        ingest.receive("traces", Trace().turn(99).body)
    hold.set()
    closer.join(60)
    assert all(done.done() and done.exception() is None for done in waiting)
    readers = Readers(tmp_path / "board.db")
    with readers.reading() as connection:
        assert turns(connection).total == 19
    readers.close()


def test_a_batch_that_cannot_be_written_costs_those_beside_it_nothing(board, caplog):
    hold = threading.Event()
    board.ingest.submit(lambda connection: hold.wait(60), 0)
    good = board.ingest.receive("traces", Trace().turn(1).body)[1]
    bad = board.ingest.submit(lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)"), 0)
    more = board.ingest.receive("traces", Trace().turn(2).body)[1]
    hold.set()
    good.result(60)
    more.result(60)
    with caplog.at_level(logging.CRITICAL):
        assert isinstance(bad.exception(60), sqlite3.OperationalError)
    assert board.ask(turns).total == 2


def test_a_process_that_is_its_own_dashboard_feeds_it_through_otlp(board):
    tracer, meter, logger = TracerProvider(), None, LoggerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(SpanIngester(board.ingest)))
    logger.add_log_record_processor(SimpleLogRecordProcessor(LogIngester(board.ingest)))
    reader = PeriodicExportingMetricReader(MetricIngester(board.ingest), export_interval_millis=3_600_000)
    meter = MeterProvider([reader])
    with Middleware.from_settings(
        hooks=[lambda payload: "CI is red"], tracer_provider=tracer, meter_provider=meter, logger_provider=logger
    ) as app:
        client = app.wrap(LocalModel("fine").openai())
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "why?"}])
    logger.get_logger("x").emit(severity_number=SeverityNumber.WARN, body={"a": [1]}, event_name="odd")
    for provider in (tracer, meter, logger):
        provider.shutdown()
    seen = board.ask(overview, Filter())
    assert (seen.turns, seen.outcomes, [model.model for model in seen.models]) == (1, {"sent": 1}, ["gpt-5"])
    assert (seen.characters.typed, seen.characters.basis) == (4, "metrics")
    assert [one.total for one in board.ask(metric_sums, "firsthand.turn.count")] == [1.0]
    assert board.rows("SELECT event, severity, body FROM logs ORDER BY event") == [
        ("firsthand.hook_call", "INFO", None), ("odd", "WARN", '{"a": [1]}'),
    ]  # fmt: skip


def test_an_exporter_of_a_dashboard_that_is_closed_fails_and_raises_nothing(board):
    board.close()
    tracer = TracerProvider()
    exporter = SpanIngester(board.ingest)
    tracer.add_span_processor(SimpleSpanProcessor(exporter))
    tracer.get_tracer("x").start_span("y").end()
    tracer.shutdown()


def test_vacuum_needs_nobody_to_stop_reading(board):
    board.send(Trace().turn(1))
    connection = sqlite3.connect(board.path, isolation_level=None)
    with board._readers.reading() as reading:
        vacuum(connection)
        assert turns(reading).total == 1
    connection.close()


def test_a_program_that_is_started_again_and_again_has_as_many_series_as_one(board, monkeypatch):
    monkeypatch.setattr(measures, "_MOST_SERIES", 3)
    for start in range(6):
        request = histogram("m", [1], [], 5.0, at=NOON + 60 * start)
        [point] = request.resource_metrics[0].scope_metrics[0].metrics[0].histogram.data_points
        point.start_time_unix_nano = (NOON + 60 * start - 1) * NS
        assert board.send(request, "metrics").rejected == 0
    [seen] = {(one.count, one.total) for one in board.ask(metric_sums, "m")}
    assert (seen, len(board.ask(metric_sums, "m"))) == ((1, 5.0), 6)


def test_a_turn_is_forgotten_with_its_later_parts_so_that_none_is_another_turn_s(board):
    board.send(Trace().turn(1, at=NOON, seconds=10.0).call(1, at=NOON + 5).hook(1, at=NOON + 6).recall(1, at=NOON + 7))
    board.send(Trace().call(7, at=NOON + 8, in_turn=False, parent=None))
    board.close()
    connection = open_writer(board.path)
    forget_old(connection, (NOON + 3) * NS)
    kept = {
        table: [turn for (turn,) in connection.execute(f"SELECT turn FROM {table}")]
        for table in ("calls", "hook_calls", "recalls")
    }
    connection.close()
    assert kept == {"calls": [None], "hook_calls": [], "recalls": []}


def test_what_is_deleted_is_overwritten_whatever_sqlite_was_built_with(board):
    board.close()
    connection = open_writer(board.path)
    assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
    connection.close()
