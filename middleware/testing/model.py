"""A model server in the process: the real SDK clients, on a transport of ours."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from . import chat, gemini, messages, responses
from .answers import Answer, Failure, Json, Scripted, Wire, answered, dump, scripted

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from google.genai import Client
    from httpx2 import Request, Response
    from openai import AsyncOpenAI, OpenAI

__all__ = ["LocalModel"]

_GEMINI_STREAM: Final = ":streamGenerateContent"
_WIRES: Final[Mapping[str, Wire]] = {
    "/chat/completions": chat,
    "/responses": responses,
    "/v1/messages": messages,
    ":generateContent": gemini,
    _GEMINI_STREAM: gemini,
}
"""How a path is answered, by its end."""


class LocalModel:
    """A model server in the process, for openai (chat.completions, responses), anthropic and google-genai clients.

    Answers come from `script` in order (a list in it counts as its items), then `default` for ever. `paths` are JSON
    answers of other paths, by what the URL's path ends with; anything else is a 404. `requests` holds the decoded
    bodies (`{}` for none), `paths_asked` and `headers` their paths and headers, oldest first.
    """

    def __init__(
        self,
        *script: Scripted | Sequence[Scripted],
        default: Scripted = "ok",
        paths: Mapping[str, Any] | None = None,
    ) -> None:
        self._script = scripted(script)
        [self._default] = scripted([default])
        self._paths = dict(paths or {})
        self.requests: list[Json] = []
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

    def google(self, **options: Any) -> Client:
        """A `google.genai.Client`, sync and `aio`, that talks to this model."""
        import httpx2
        from google import genai

        http = genai.types.HttpOptions(
            httpx_client=httpx2.Client(transport=httpx2.MockTransport(self._answer)),
            httpx_async_client=httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer_async)),
        )
        return genai.Client(**{"api_key": "local", "http_options": http, **options})

    def _sync_options(self) -> Json:
        import httpx2

        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        return {"api_key": "local", "max_retries": 0, "http_client": http}

    def _async_options(self) -> Json:
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
        body: Json = json.loads(request.content or b"{}")
        path = request.url.path
        self.requests.append(body)
        self.paths_asked.append(path)
        self.headers.append(dict(request.headers))
        number = len(self.requests)
        found = next((value for end, value in self._paths.items() if path.endswith(end)), None)
        wire = next((wire for end, wire in _WIRES.items() if path.endswith(end)), None)
        if found is not None:
            return 200, "application/json", [dump(found)], Answer()
        if wire is None:
            return 404, "application/json", [dump(_error(404, f"no such path: {path}"))], Answer()
        answer = answered(self._script.pop(0) if self._script else self._default, body)
        if isinstance(answer, Failure):
            return answer.status, "application/json", [dump(_error(answer.status, answer.message))], Answer()
        if body.get("stream") or path.endswith(_GEMINI_STREAM):
            return 200, "text/event-stream", list(wire.events(answer, body, number)), answer
        return 200, "application/json", [dump(wire.value(answer, body, number))], Answer()


def _error(status: int, message: str) -> Json:
    """An error as all of the SDKs read it."""
    return {"type": "error", "error": {"type": "scripted", "message": message, "code": status, "status": "SCRIPTED"}}


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
