"""Fakes for tests, ours and yours: a model in the process, and everything that the middleware exported.

    with capture() as captured:
        settings = Settings(transcripts=captured.transcripts)
        app = Middleware(settings, hooks=[lambda hook_input: "branch=main"], **captured.providers)
        client = app.wrap(captured.model.openai())
        client.chat.completions.create(model="local", messages=[{"role": "user", "content": "why is CI red?"}])
    assert captured.requests[0]["messages"][0]["content"][0]["text"] == "why is CI red?"
    assert "branch=main" not in captured.exported()
    assert captured.records[0]["systemPayload"]["displayText"] == "why is CI red?"

The real SDK clients run, on a transport of ours: nothing leaves the process, and no port is opened. An SDK is
imported when its client is asked for.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from httpx2 import Request, Response
    from openai import AsyncOpenAI, OpenAI

__all__ = ["Answer", "Captured", "Failure", "LocalModel", "Scripted", "ToolCall", "capture"]

_Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool that the model asks for; `arguments` is a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says: streamed a word a chunk when the request asks for a stream.

    `error` is raised instead of the stream's event number `error_after` (0: before anything came), as a
    connection that breaks does; a value is not affected. Tokens are what the answer's usage says.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    error: BaseException | None = None
    error_after: int = 0
    input_tokens: int = 12
    output_tokens: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The server refuses: an HTTP status and the message in the error's JSON."""

    status: int
    message: str = "scripted failure"


Scripted: TypeAlias = str | Answer | Failure | Callable[[_Json], "str | Answer | Failure"]
"""One answer of the model; a function makes it from the decoded request body."""


class LocalModel:
    """A model server in the process, for openai (chat.completions) and anthropic (messages) clients.

    Answers come from `script` in order, then `default` for ever. `paths` are JSON answers of other paths, by what
    the URL's path ends with; anything else is a 404. `requests` holds the decoded bodies (`{}` for none), `paths_asked`
    and `headers` their paths and headers, oldest first.
    """

    def __init__(self, *script: Scripted, default: Scripted = "ok", paths: Mapping[str, Any] | None = None) -> None:
        self._script = list(script)
        self._default = default
        self._paths = dict(paths or {})
        self.requests: list[_Json] = []
        self.paths_asked: list[str] = []
        self.headers: list[dict[str, str]] = []

    def openai(self, **options: Any) -> OpenAI:
        """An `openai.OpenAI` that talks to this model; `options` go to its constructor, no retries by default."""
        import openai

        return openai.OpenAI(**{**self._sync_options(), **options})

    def async_openai(self, **options: Any) -> AsyncOpenAI:
        """An `openai.AsyncOpenAI` that talks to this model."""
        import openai

        return openai.AsyncOpenAI(**{**self._async_options(), **options})

    def anthropic(self, **options: Any) -> Anthropic:
        """An `anthropic.Anthropic` that talks to this model."""
        import anthropic

        return anthropic.Anthropic(**{**self._sync_options(), **options})

    def async_anthropic(self, **options: Any) -> AsyncAnthropic:
        """An `anthropic.AsyncAnthropic` that talks to this model."""
        import anthropic

        return anthropic.AsyncAnthropic(**{**self._async_options(), **options})

    def _sync_options(self) -> _Json:
        import httpx2

        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        return {"api_key": "local", "max_retries": 0, "http_client": http}

    def _async_options(self) -> _Json:
        import httpx2

        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer_async))
        return {"api_key": "local", "max_retries": 0, "http_client": http}

    def _answer(self, request: Request) -> Response:
        import httpx2

        status, kind, events, answer = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=_sent(events, answer))

    async def _answer_async(self, request: Request) -> Response:
        import httpx2

        status, kind, events, answer = self._take(request)
        return httpx2.Response(status, headers={"content-type": kind}, content=_sent_async(events, answer))

    def _take(self, request: Request) -> tuple[int, str, list[bytes], Answer]:
        """Note the request; return status, content type, the body in pieces, and the answer that it came from."""
        body: _Json = json.loads(request.content or b"{}")
        path = request.url.path
        self.requests.append(body)
        self.paths_asked.append(path)
        self.headers.append(dict(request.headers))
        number = len(self.requests)
        is_chat = path.endswith("/chat/completions")
        if not is_chat and not path.endswith("/v1/messages"):
            found = next((value for end, value in self._paths.items() if path.endswith(end)), None)
            said = {"error": {"message": f"no such path: {path}"}} if found is None else found
            return 404 if found is None else 200, "application/json", [_dump(said)], Answer()
        scripted = self._script.pop(0) if self._script else self._default
        said = scripted(body) if callable(scripted) else scripted
        if isinstance(said, Failure):
            error = {"type": "error", "error": {"type": "scripted", "message": said.message}}
            return said.status, "application/json", [_dump(error)], Answer()
        answer = Answer(text=said) if isinstance(said, str) else said
        if not body.get("stream"):
            value = _completion(answer, body, number) if is_chat else _message(answer, body, number)
            return 200, "application/json", [_dump(value)], Answer()
        events = list(_chunks(answer, body, number) if is_chat else _events(answer, body, number))
        return 200, "text/event-stream", events, answer


class Captured:
    """What was sent to the model and what was exported, as `capture` gives it; it grows as calls are made.

    `providers` are the arguments of `Middleware` that make it export to here; `transcripts` is a folder for the
    setting of that name, which goes when the block ends.
    """

    def __init__(self, model: LocalModel, transcripts: str = "") -> None:
        self.model = model
        self.transcripts = transcripts
        self._records: list[_Json] | None = None
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._logs: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        tracers, meters, loggers = TracerProvider(), MeterProvider([self._reader]), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.providers: _Json = {
            "tracer_provider": tracers,
            "meter_provider": meters,
            "logger_provider": loggers,
        }

    @property
    def requests(self) -> list[_Json]:
        """The decoded request bodies that the model received, oldest first."""
        return self.model.requests

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in that order."""
        return self._spans.get_finished_spans()

    def spans_named(self, name: str) -> list[ReadableSpan]:
        """The ended spans whose name is `name`, or starts with it and a blank: `chat` finds `chat gpt-5`."""
        return [span for span in self.spans if span.name == name or span.name.startswith(f"{name} ")]

    @property
    def events(self) -> tuple[ReadableLogRecord, ...]:
        """The log events, oldest first."""
        found: tuple[ReadableLogRecord, ...] = self._logs.get_finished_logs()
        return found

    @property
    def metrics(self) -> dict[str, list[Any]]:
        """The data points of every metric so far, by its name."""
        data = self._reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
        return {metric.name: list(metric.data.data_points) for scope in scopes for metric in scope.metrics}

    @property
    def records(self) -> list[_Json]:
        """The records of all transcripts in `transcripts`, each file's in order; after the block those of its end."""
        if self._records is not None:
            return self._records
        files = sorted(Path(self.transcripts).rglob("*.jsonl")) if self.transcripts else []
        return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def exported(self) -> str:
        """All that was exported as one JSON text, to search: names, attributes, statuses, events, metrics."""
        data = self._reader.get_metrics_data()
        items: list[Any] = [*self.spans, *self.events, *([data] if data else [])]
        return json.dumps([json.loads(item.to_json()) for item in items], ensure_ascii=False)


@contextlib.contextmanager
def capture(*script: Scripted, **options: Any) -> Iterator[Captured]:
    """Capture in the block: a `LocalModel` made of the arguments, and providers that keep what is exported.

    The providers are shut down at its end; what was captured stays.
    """
    with tempfile.TemporaryDirectory(prefix="firsthand-") as folder:
        captured = Captured(LocalModel(*script, **options), folder)
        try:
            yield captured
        finally:
            for provider in captured.providers.values():
                provider.shutdown()
            captured._records = captured.records


def _sent(events: list[bytes], answer: Answer) -> Iterator[bytes]:
    for place, event in enumerate(events):
        if answer.error is not None and place == answer.error_after:
            raise answer.error
        yield event


async def _sent_async(events: list[bytes], answer: Answer) -> AsyncIterator[bytes]:
    from anyio.lowlevel import checkpoint

    for event in _sent(events, answer):
        await checkpoint()  # A real stream suspends here, and this is where a cancel arrives.
        yield event


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


def _words(text: str) -> list[str]:
    return re.findall(r"\S*\s*", text)[:-1] if text else []


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _chat_calls(answer: Answer) -> list[_Json]:
    return [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
        for c in answer.calls
    ]


def _chat_usage(answer: Answer) -> _Json:
    total = answer.input_tokens + answer.output_tokens
    return {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}


def _completion(answer: Answer, body: _Json, number: int) -> _Json:
    message: _Json = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _chat_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": body.get("model")}
    return {**head, "choices": [choice], "usage": _chat_usage(answer)}


def _chunks(answer: Answer, body: _Json, number: int) -> Iterator[bytes]:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    deltas: list[_Json] = [{"role": "assistant", "content": ""}, *({"content": word} for word in _words(answer.text))]
    deltas += [{"tool_calls": [{"index": place, **call}]} for place, call in enumerate(_chat_calls(answer))]
    for delta, reason in [*((delta, None) for delta in deltas), ({}, _finish(answer))]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield b"data: %s\n\n" % _dump({**head, "choices": [choice]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield b"data: %s\n\n" % _dump({**head, "choices": [], "usage": _chat_usage(answer)})
    yield b"data: [DONE]\n\n"


def _message(answer: Answer, body: _Json, number: int) -> _Json:
    content: list[_Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in answer.calls]
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
    reason = "tool_use" if answer.calls else "end_turn"
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _events(answer: Answer, body: _Json, number: int) -> Iterator[bytes]:
    whole = _message(answer, body, number)
    events: list[_Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        start = {**block, "text": ""} if is_text else {**block, "input": {}}
        said = _words(block["text"]) if is_text else [json.dumps(block["input"])]
        kind, key = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        deltas: list[_Json] = [{"type": kind, key: piece} for piece in said]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": answer.output_tokens}})
    for event in [*events, {"type": "message_stop"}]:
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), _dump(event))
