"""Whatever bytes come: an answer in 4xx, or values that can be stored; and what is stored is what was sent."""

import copy
import gzip
import json

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboards.local.errors import BadRequest
from dashboards.local.otlp import decode, inflated
from dashboards.local.otlpvalues import LONGEST_TEXT
from dashboards.local.queries import Filter, overview, sessions, turn, turns

from .sending import NOON, NS, Trace, framed, histogram, key, log

SIGNALS = ("traces", "metrics", "logs")
VALID = {
    "traces": Trace().hook(1).recall(1).call(1).turn(1).body,
    "metrics": histogram("firsthand.input.size", [1, 2], [64.0], 300.0).SerializeToString(),
    "logs": log("firsthand.hook_call", number=1, x="y").SerializeToString(),
}
ON_A_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def taken(board, signal, body, encoding="protobuf"):
    """Decoded and on disk, or None for what was refused in one line."""
    try:
        decoded, done = board.ingest.receive(signal, body, encoding)
    except BadRequest as error:
        assert 400 <= error.status < 500
        assert str(error) and "\n" not in str(error)
        return None
    done.result(60)
    return decoded


@ON_A_FIXTURE
@given(signal=st.sampled_from(SIGNALS), body=st.binary(max_size=300), encoding=st.sampled_from(["protobuf", "json"]))
def test_any_bytes_are_taken_or_refused(board, signal, body, encoding):
    taken(board, signal, body, encoding)


@ON_A_FIXTURE
@given(signal=st.sampled_from(SIGNALS), data=st.data())
def test_a_valid_request_with_some_bytes_changed_is_taken_or_refused(board, signal, data):
    body = bytearray(VALID[signal])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(["change", "remove", "insert", "cut"])):
            case "change":
                body[place] = data.draw(st.integers(0, 255))
            case "remove":
                del body[place]
            case "insert":
                body.insert(place, data.draw(st.integers(0, 255)))
            case "cut":
                del body[place + 1 :]
        if not body:
            break
    taken(board, signal, bytes(body))
    board.ask(overview, Filter())


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("\ud800\0"), st.just(10**400),
    st.just([]), st.just({}), st.just([None, {}, 7]), st.just({"stringValue": 3}), st.just("NaN"),
)  # fmt: skip


def document_of(signal):
    kinds = {"traces": Trace().hook(1).call(1).turn(1).request, "metrics": histogram("m", [1], [], 3.0),
             "logs": log("e", number=1, x="y")}  # fmt: skip
    said = MessageToDict(kinds[signal])

    def hexadecimal(value):
        if isinstance(value, dict):
            return {
                name: "0102030405060708" * (1 + (name == "traceId")) if name.endswith(("traceId", "panId")) else
                hexadecimal(item) for name, item in value.items()
            }  # fmt: skip
        return [hexadecimal(item) for item in value] if isinstance(value, list) else value

    return hexadecimal(said)


def places(value, at=()):
    yield at
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*at, name))


@ON_A_FIXTURE
@given(signal=st.sampled_from(SIGNALS), data=st.data())
def test_valid_json_with_any_value_put_anywhere_is_taken_or_refused(board, signal, data):
    document = copy.deepcopy(document_of(signal))
    at = data.draw(st.sampled_from(list(places(document))[1:]))
    holder = document
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = data.draw(ODD)
    taken(board, signal, json.dumps(document).encode(), "json")


@pytest.mark.parametrize("signal", SIGNALS)
def test_every_cut_of_a_valid_request_is_refused_or_taken_as_what_it_is(signal):
    for end in range(len(VALID[signal])):
        try:
            decode(signal, VALID[signal][:end], "protobuf")
        except BadRequest as error:
            assert str(error).startswith(f"the body is no OTLP {signal} request in protobuf: ")


@given(body=st.binary(max_size=200), encoding=st.sampled_from(["gzip", "deflate"]))
def test_what_is_not_compressed_is_refused(body, encoding):
    try:
        inflated(body, encoding)
    except BadRequest as error:
        assert error.status == 400


HOSTILE = [
    "<script>alert(1)</script>",
    "a\0b",
    "\u202egnp.exe",
    "x" * 1_000_000,
    "'; DROP TABLE spans; --",
    "%_\\",
    "\n\r",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_is_kept_as_text(board, text):
    said = {"firsthand.turn.origin": text, "error.type": text, "free": text, text[:100]: "name"}
    board.send(
        Trace(service=text).call(1, model=text).hook(1, name=text).turn(1, session=text, outcome=text, said=said)
    )
    found = board.ask(turn, key(1))
    shown = text[:256].replace("\0", "\ufffd")
    assert (found.turn.session, found.turn.model, found.turn.outcome, found.turn.error_type) == (shown,) * 4
    assert found.hooks[0].name == shown
    root = found.spans[0].attributes
    assert root["free"] == (
        text if len(text) < 1000 else f"{text[:LONGEST_TEXT]} [cut: {LONGEST_TEXT} of 1000000 characters]"
    )
    assert root[text[:100]] == "name"
    assert board.ask(sessions, search=shown[:20]).total == 1
    assert board.ask(turns, Filter(session=shown, model=shown)).total == 1
    assert board.ask(overview, Filter(start=NOON, end=NOON + 60, model=shown)).turns == 1


def test_lone_surrogates_of_json_become_the_replacement_character(board):
    body = json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "01" * 16, "spanId": "02" * 8, "name": "firsthand.turn", "startTimeUnixNano": NOON * NS,
            "endTimeUnixNano": NOON * NS,
            "attributes": [{"key": "a\ud800", "value": {"stringValue": "b\udfff \ud83d\ude00"}}]}]}]}]}
    )  # fmt: skip
    assert taken(board, "traces", body.encode(), "json").rejected == 0
    [(attributes,)] = board.rows("SELECT attributes FROM spans")
    assert json.loads(attributes) == {"a\ufffd": "b\ufffd \U0001f600"}


def test_numbers_that_json_has_no_word_for_are_their_names(board):
    trace = Trace().turn(1, said={"a": float("nan"), "b": float("inf"), "c": 2**62})
    board.send(trace)
    attributes = board.ask(turn, key(1)).spans[0].attributes
    assert (attributes["a"], attributes["b"], attributes["c"]) == ("nan", "inf", 2**62)


@pytest.mark.parametrize("count", [-5, 2**62, 0])
def test_counts_that_cannot_be_are_absent(board, count):
    board.send(
        Trace().call(1, said={"gen_ai.usage.input_tokens": count, "gen_ai.response.time_to_first_chunk": -1.0}).turn(1)
    )
    [found] = board.ask(turns).items
    assert found.tokens.input == (0 if count == 0 else None)
    assert found.first_chunk is None


@pytest.mark.parametrize("value", [["chat"], [], 5, True, 0.5])
def test_an_operation_that_is_no_text_costs_the_other_spans_nothing(board, value):
    trace = Trace().turn(1)
    trace.span(1, 1, "chat gpt-5", said={"gen_ai.operation.name": value})
    board.send(trace)
    assert [one.key for one in board.ask(turns).items] == [key(1)]


def test_gzip_of_a_hundred_members_is_read_and_of_endless_ones_refused():
    assert inflated(gzip.compress(b"ab") * 100, "gzip") == b"ab" * 100
    with pytest.raises(BadRequest, match="more than 1000 members; send it as one") as told:
        inflated(gzip.compress(b"") * 1_001, "gzip")
    assert told.value.status == 413


@pytest.mark.parametrize("depth", [5, 20, 60, 300])
@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_value_that_is_nested_as_deep_as_it_likes_costs_the_other_spans_nothing(board, depth, encoding):
    if encoding == "json":
        nested = '{"arrayValue":{"values":[' * depth + '{"intValue":1}' + "]}}" * depth
        spans = [
            f'{{"traceId":"{"01" * 16}","spanId":"{number:016x}","name":"x","startTimeUnixNano":"{NOON * NS}",'
            f'"attributes":[{{"key":"a","value":{value}}}]}}'
            for number, value in ((1, nested), (2, '{"intValue":1}'))
        ]
        body = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{",".join(spans)}]}}]}}]}}'.encode()
    else:
        value = b"\x18\x01"
        for _ in range(depth):
            inner = framed(0x0A, value)
            value = framed(0x2A, inner)
        attribute = framed(0x0A, b"a") + framed(0x12, value)
        trace = Trace().turn(1).turn(2)
        one, two = (span.SerializeToString() for span in trace.request.resource_spans[0].scope_spans[0].spans)
        body = framed(0x0A, framed(0x12, framed(0x12, one + framed(0x4A, attribute)) + framed(0x12, two)))
    decoded = taken(board, "traces", body, encoding)
    assert decoded.rejected in (0, 1)
    assert decoded.rejected == (depth > 20)
    assert board.rows("SELECT count(*) FROM spans") == [(2 - decoded.rejected,)]


@pytest.mark.parametrize(
    "moment", [-1, 0, 1, 2**63, 2**64, 10**40, 1.5, float("nan"), float("inf"), "x", "", None, True, [], "1e400"]
)
def test_a_span_of_an_impossible_moment_is_rejected_and_the_others_are_kept(board, moment):
    span = {"traceId": "01" * 16, "name": "x", "endTimeUnixNano": str(NOON * NS)}
    spans = [span | {"spanId": "02" * 8, "startTimeUnixNano": moment},
             span | {"spanId": "03" * 8, "startTimeUnixNano": str(NOON * NS)}]  # fmt: skip
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    assert taken(board, "traces", body, "json").rejected == 1
    assert board.rows("SELECT hex(span_id), duration FROM spans") == [("03" * 8, 0)]
