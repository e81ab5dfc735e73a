"""A named session lives in its transcript: other workers and later processes go on where it was left."""

import itertools
import json

import pytest

from middleware import Middleware, TranscriptError
from tests.test_prefix import MODELS, OpenAIModel, assert_prefixes, counting_hook, sync_client


def records_of(folder, session="s"):
    return [json.loads(line) for line in (folder / f"{session}.jsonl").read_text().splitlines()]


def worker(tmp_path, hook, **settings):
    return Middleware.from_settings(hooks=[hook], transcripts=tmp_path, **settings)


@pytest.mark.parametrize("model_class", MODELS)
def test_two_workers_of_one_session_share_its_chain_and_its_ledger(model_class, tmp_path):
    model, history, hook = model_class(), [], counting_hook()
    with worker(tmp_path, hook) as one, worker(tmp_path, hook) as two, sync_client(model) as plain:
        clients = [app.wrap(plain, session=app.open("s")) for app in (one, two)]
        serving = itertools.cycle(clients)
        for number in range(10):
            history.append({"role": "user", "content": f"question {number}"})
            while model.turn(history, model.call(next(serving), history)):
                pass
    assert_prefixes(model)
    records = records_of(tmp_path)
    assert [record["parentUuid"] for record in records] == [None, *(record["uuid"] for record in records[:-1])]
    assert len({record["uuid"] for record in records}) == 40


@pytest.mark.parametrize("model_class", MODELS)
def test_a_later_process_goes_on_with_the_same_bytes(model_class, tmp_path):
    model, history, hook = model_class(), [], counting_hook()
    with sync_client(model) as plain:
        for number in range(10):
            with worker(tmp_path, hook) as app:
                client = app.wrap(plain, session=app.open("s"))
                history.append({"role": "user", "content": f"question {number}"})
                while model.turn(history, model.call(client, history)):
                    pass
    assert_prefixes(model)


def test_resuming_writes_nothing_into_old_records(tmp_path):
    model, history, hook = OpenAIModel(), [], counting_hook()
    before = b""
    with sync_client(model) as plain:
        for number in range(3):
            with worker(tmp_path, hook) as app:
                client = app.wrap(plain, session=app.open("s"))
                history.append({"role": "user", "content": f"question {number}"})
                while model.turn(history, model.call(client, history)):
                    pass
            after = (tmp_path / "s.jsonl").read_bytes()
            assert after.startswith(before)
            before = after
    users = [record for record in records_of(tmp_path) if record["type"] == "user"]
    assert [len(record["message"]["parts"]) for record in users] == [2, 2, 2]
    assert [record["promptId"] for record in users] == ["s########0", "s########1", "s########2"]


def test_a_transcript_that_cannot_be_written_costs_no_turn(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    model = OpenAIModel()
    with Middleware.from_settings(transcripts=blocked) as app, sync_client(model) as plain:
        session = app.open("s")
        client = app.wrap(plain, session=session)
        for _ in range(2):
            assert model.call(client, [{"role": "user", "content": "hi"}])
    assert isinstance(session.transcript_error, OSError)
    assert [record.message.rpartition(": ")[0] for record in caplog.records] == [
        f"firsthand: transcript {blocked / 's.jsonl'} cannot be written"
    ]


def test_with_strict_a_transcript_that_cannot_be_written_raises(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    model = OpenAIModel()
    with Middleware.from_settings(transcripts=blocked, strict=True) as app, sync_client(model) as plain:
        client = app.wrap(plain, session=app.open("s"))
        with pytest.raises(TranscriptError, match="cannot be written"):
            model.call(client, [{"role": "user", "content": "hi"}])
    assert model.requests == []
