"""The model's side of a chat: its messages, and one streamed turn, through one wrapped client in a named session."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, Self

from ...resume import strip
from ..expand import Image

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from ...app import Middleware
    from ...session import Session

__all__ = ["Talk", "TurnFailed", "content_of"]


class TurnFailed(Exception):
    """The model could not be asked, or broke off; the message is one line."""


class Talk:
    """One conversation with `model`. `messages` are what was sent and answered, without what was added to them."""

    def __init__(self, client: AsyncOpenAI, model: str, messages: Sequence[dict[str, Any]] = ()) -> None:
        self._client = client
        self.model = model
        self.messages: list[dict[str, Any]] = list(messages)
        self.tokens: tuple[int, int] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._client.close()

    def move(self, app: Middleware, session: Session) -> None:
        """Go on with a stored session: the client is bound to it, the messages are its own as they were sent."""
        messages = session.messages()
        self._client = app.wrap(self._client, session=session)
        self.messages, self.tokens = messages, None

    def rewind(self) -> str | None:
        """Take the last message of the user away and all that follows; answers its text, None when there is none."""
        for at in range(len(self.messages) - 1, -1, -1):
            if self.messages[at]["role"] == "user":
                content = strip(self.messages[at])["content"]
                del self.messages[at:]
                texts = [content] if isinstance(content, str) else [part.get("text") for part in content]
                return next((text for text in texts if isinstance(text, str)), "")
        return None

    async def ask(self, content: str | list[dict[str, Any]], *, keep: bool = True) -> AsyncGenerator[str, None]:
        """Send a user message and yield the reply as it comes; both are kept once something of it has come.

        A turn that is refused, fails or is cancelled before that leaves no message. Without `keep` none is left
        at all. Raises `HookBlocked` and `TurnFailed`.
        """
        import openai

        asked = {"role": "user", "content": content}
        said: list[str] = []
        try:
            # A client for any server has no types for a history that comes out of a transcript.
            send: Any = self._client.chat.completions.create
            stream = await send(
                model=self.model,
                messages=[*self.messages, asked],
                stream=True,
                stream_options={"include_usage": True},
            )
            async with stream:
                async for chunk in stream:
                    if chunk.usage is not None:
                        self.tokens = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                    for choice in chunk.choices:
                        if choice.delta.content:
                            said.append(choice.delta.content)
                            yield choice.delta.content
        except openai.OpenAIError as error:
            raise TurnFailed(
                f"the model did not answer: {_line(error)}; check --base-url, --model and OPENAI_API_KEY"
            ) from error
        finally:
            if keep and said:
                self.messages += [asked, {"role": "assistant", "content": "".join(said)}]
        if not said:
            raise TurnFailed(f"the model {self.model} answered without a text; ask again, or use another --model")


def content_of(parts: Sequence[str], images: Sequence[Image] = ()) -> str | list[dict[str, Any]]:
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


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
