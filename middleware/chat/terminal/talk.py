"""The model's side of a chat: its messages, and one turn with its rounds of tools, in a named session."""

from __future__ import annotations

import asyncio
import base64
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ...errors import HookBlocked
from ...parts import clean
from ...provenance import Origin
from ...resume import strip
from ..expand import Image
from ..tools import SCHEMAS, Answered, Toolbox
from .reply import Called, Reply, answer_of, with_answers

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from ...app import Middleware
    from ...session import Session

__all__ = ["MOST_ROUNDS", "Content", "Done", "Past", "Talk", "TurnFailed", "content_of"]

Content: TypeAlias = str | list[dict[str, Any]]
"""The content of a user message."""

MOST_ROUNDS = 25
"""Rounds of tools in one turn; then the model has to answer without them."""

_NO_TOOLS = Answered(text="[not done: no tools are offered here; answer with what you have]", failed=True)
_HALVES = re.compile("[\ud800-\udfff]")
_REFUSED = "[not sent: a hook refused it]"


class TurnFailed(Exception):
    """The model could not be asked, or broke off; the message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A tool has answered."""

    call: Called
    answered: Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A turn that can be taken back: its text, the uuid of its record (None: not in the transcript), its place."""

    text: str
    uuid: str | None
    start: int | None = None


async def _nothing() -> Content | None:
    return None


class Talk:
    """One conversation with `model`. `messages` are what was sent and answered, without what was added to them.

    `make` makes the client when it is needed. With `folder` the model may read what is in it. A session that is
    `resumed` goes on with its own messages.
    """

    def __init__(
        self,
        app: Middleware,
        make: Callable[[], AsyncOpenAI],
        model: str,
        session: Session,
        *,
        resumed: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._app = app
        self.model = model
        self.folder = folder
        self.messages: list[dict[str, Any]] = []
        self.tokens: tuple[int, int] | None = None
        self._past: list[Past] = []
        self._session = session
        self._make = make
        self._client: AsyncOpenAI | None = None
        self._making = threading.Lock()
        if resumed:
            self._recall(session)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._client is not None:
            await self._client.close()

    def ready(self) -> AsyncOpenAI:
        """The wrapped client, made the first time: an SDK takes long to load, and nobody has to wait for it."""
        with self._making:
            if self._client is None:
                self._client = self._app.wrap(self._make(), session=self._session)
            return self._client

    @property
    def past(self) -> tuple[Past, ...]:
        """The turns that `rewind` can take back, oldest first."""
        return tuple(self._past)

    def move(self, session: Session) -> None:
        """Go on with a stored session: the client is bound to it, the messages are its own as they were sent."""
        self._recall(session)
        with self._making:
            self._session, self.tokens = session, None
            if self._client is not None:
                self._client = self._app.wrap(self._client, session=session)

    def rewind(self, turns: int = 1) -> tuple[str, bool]:
        """Take back so many turns from the end, in the transcript too; answers the text of the first of them.

        And whether the transcript knows: a turn that could not be written there cannot be taken back there. Raises
        ValueError for more turns than there are, `TranscriptError` and OSError when it cannot be written; nothing
        has changed then.
        """
        if not 1 <= turns <= len(self._past):
            raise ValueError(f"there {_are(len(self._past))} to take back")
        turn = self._past[-turns]
        text = turn.text if turn.uuid is None else self._session.rewind(turn.uuid)
        del self._past[-turns:]
        if turn.start is None:
            self.messages = with_answers(self._session.messages())
        else:
            del self.messages[turn.start :]
        return text, turn.uuid is not None

    async def ask(
        self,
        content: Content,
        *,
        keep: bool = True,
        steer: Callable[[], Awaitable[Content | None]] = _nothing,
    ) -> AsyncGenerator[str | Called | Done, None]:
        """Send a user message and yield what comes: pieces of text, tool calls, their answers, pieces again.

        `steer` is asked before each further send for what the person has said meanwhile. A turn of which nothing
        came leaves no message; of one that broke off what came is kept, every call with an answer. Without `keep`
        there are no tools and nothing is kept. Raises `HookBlocked` and `TurnFailed`.
        """
        client = await asyncio.to_thread(self.ready)
        import openai

        said: list[dict[str, Any]] = [{"role": "user", "content": content}]
        start, tokens = len(self.messages), (0, 0)
        tools = Toolbox(self.folder) if keep and self.folder is not None else None
        reply = Reply()
        try:
            for rounds in range(MOST_ROUNDS + 1):
                last, steering = rounds == MOST_ROUNDS, rounds > 0 and said[-1]["role"] == "user"
                stream = await self._send(client, said, offered=tools is not None, last=last, steering=steering)
                reply = Reply()
                async with aclosing(reply.pieces(stream)) as pieces:
                    async for piece in pieces:
                        yield piece
                if reply.tokens is not None and keep:
                    self.tokens = tokens = (tokens[0] + reply.tokens[0], tokens[1] + reply.tokens[1])
                if reply.message is None or not reply.calls:
                    break
                said.append(reply.message)
                calls, reply = reply.calls, Reply()
                async with aclosing(_run(calls, said, None if last else tools)) as events:
                    async for event in events:
                        yield event
                if (steered := await steer()) is not None:
                    said.append({"role": "user", "content": steered})
        except HookBlocked:
            _withhold(said)
            raise
        except openai.OpenAIError as error:
            raise TurnFailed(self._failed(error)) from error
        finally:
            if tools is not None:
                tools.stop.set()
            if keep:
                self._keep(start, said, reply)
        if not reply.said:
            raise TurnFailed(f"the model {self.model} answered without a text; ask again, or use another --model")

    async def _send(
        self, client: AsyncOpenAI, said: Sequence[dict[str, Any]], *, offered: bool, last: bool, steering: bool
    ) -> Any:
        options: dict[str, Any] = {"tools": list(SCHEMAS)} if offered else {}
        if offered and last:
            options["tool_choice"] = "none"
        # A client for any server has no types for a history that comes out of a transcript.
        send: Any = client.chat.completions.create
        with self._app.origin(Origin.STEER) if steering else nullcontext():
            return await send(
                model=self.model,
                messages=_encodable([*self.messages, *said]),
                stream=True,
                stream_options={"include_usage": True},
                **options,
            )

    def _keep(self, start: int, said: list[dict[str, Any]], reply: Reply) -> None:
        """Keep what came of a turn: of what the person said last only what the model has begun to answer."""
        if reply.message is not None:
            said.append(reply.message)
        elif said[-1]["role"] == "user":
            said.pop()
        if said:
            text = _first_text(said[0])
            self.messages[start:] = with_answers(said)
            self._past.append(Past(text=text, uuid=self._session.asked, start=start))

    def _recall(self, session: Session) -> None:
        """Take over what a transcript tells of."""
        messages = with_answers(session.messages())
        self._past = [
            Past(text=row.text, uuid=row.uuid)
            for row in session.shown()
            if row.type == "user" and row.subtype is None and row.sent_to_model
        ]
        self.messages = messages

    def _failed(self, error: Exception) -> str:
        line = " ".join(str(error).split()).rstrip(".")
        status = getattr(error, "status_code", None)
        hint = "; for a server without tools use --no-tools" if self.folder is not None and status in (400, 422) else ""
        return f"the model did not answer: {line}; check --base-url, --model and OPENAI_API_KEY{hint}"


async def _run(
    calls: Sequence[Called], said: list[dict[str, Any]], tools: Toolbox | None
) -> AsyncGenerator[Called | Done, None]:
    """Do what was asked for, one after the other; the answers go into `said`."""
    for call in calls:
        yield call
    for call in calls:
        answered = _NO_TOOLS
        if tools is not None:
            answered = await asyncio.to_thread(tools.run, call.name, call.arguments)
        said.append(answer_of(call.id, answered.text))
        yield Done(call=call, answered=answered)


def _withhold(said: list[dict[str, Any]]) -> None:
    """Take what a hook has refused to send out of the last answers of tools: it is not sent later either."""
    for message in reversed(said):
        if message["role"] == "assistant":
            break
        if message["role"] == "tool":
            message["content"] = _REFUSED


def content_of(parts: Sequence[str], images: Sequence[Image] = ()) -> Content:
    """The content of a user message: a string where that is enough, since some servers take nothing else."""
    if len(parts) == 1 and not images:
        return parts[0]
    pictures = [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"},
        }
        for image in images
    ]
    return [*({"type": "text", "text": part} for part in parts), *pictures]


def _encodable(value: Any) -> Any:
    """The same with U+FFFD for halves of characters: a model, a file's name or a transcript can have brought one.

    It could not be sent, and what was said once is sent again with each turn.
    """
    if isinstance(value, str):
        return clean(value) if not value.isascii() and _HALVES.search(value) else value
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return value


def _first_text(message: dict[str, Any]) -> str:
    content = strip(message)["content"]
    texts = [content] if isinstance(content, str) else [part.get("text") for part in content]
    return next((text for text in texts if isinstance(text, str)), "")


def _are(turns: int) -> str:
    return "is no turn" if not turns else "is one turn" if turns == 1 else f"are {turns} turns"
