"""The seam: the way of one wrapped client's request through the middleware, in both colours."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry import context as otel_context

from . import context
from .call import Call, Wiring
from .drive import drive, drive_async
from .hooks import Answer, Question
from .sdks import Adapter, Endpoint, eliding, materialised
from .session import Session
from .telemetry import outside, suppressing

__all__ = ["Seam"]

_log = logging.getLogger("firsthand")


class Seam:
    """The way of one wrapped client through its middleware, in both colours."""

    def __init__(self, wiring: Wiring, adapter: Adapter, session: Session | None) -> None:
        self.wiring = wiring
        self.adapter = adapter
        self.session = session

    def send(
        self,
        client: Any,
        post: Callable[..., Any],
        path: str,
        arguments: dict[str, Any],
        endpoint: Endpoint | None = None,
    ) -> Any:
        """Send one request of the sync client; `endpoint` is this call's own, where the path does not say it."""
        with self._logged():
            beyond = outside()
            if beyond is None:
                return self._sent(client, post, path, arguments, endpoint)
            with beyond:
                return self._sent(client, post, path, arguments, endpoint)

    async def send_async(
        self,
        client: Any,
        post: Callable[..., Awaitable[Any]],
        path: str,
        arguments: dict[str, Any],
        endpoint: Endpoint | None = None,
    ) -> Any:
        """Send one request of the async client."""
        with self._logged():
            beyond = outside()
            if beyond is None:
                return await self._sent_async(client, post, path, arguments, endpoint)
            with beyond:
                return await self._sent_async(client, post, path, arguments, endpoint)

    def _sent(
        self, client: Any, post: Callable[..., Any], path: str, arguments: dict[str, Any], endpoint: Endpoint | None
    ) -> Any:
        call = self._call(client, path, arguments, endpoint)
        if call is None:
            return post(path, **arguments)
        asked = dict(arguments)

        def ask(question: Question) -> Answer:
            with self.quiet():
                return call.said(post(path, **call.question(question, asked)))

        try:
            if not call.is_watched_only:
                call.admit(drive(call.steps(), call.fetch(ask).perform))
            arguments = call.start(arguments)
            with self.quiet(), call.account.trace.current():
                answer = post(path, **call.addressed(arguments))
        except BaseException as error:
            call.failed(error)
            raise
        return call.answered(answer)

    async def _sent_async(
        self,
        client: Any,
        post: Callable[..., Awaitable[Any]],
        path: str,
        arguments: dict[str, Any],
        endpoint: Endpoint | None,
    ) -> Any:
        call = self._call(client, path, arguments, endpoint)
        if call is None:
            return await post(path, **arguments)
        asked = dict(arguments)

        async def ask(question: Question) -> Answer:
            with self.quiet():
                return await call.said_async(await post(path, **call.question(question, asked)))

        try:
            if not call.is_watched_only:
                call.admit(await drive_async(call.steps(), call.fetch(ask).perform_async))
            arguments = call.start(arguments)
            with self.quiet(), call.account.trace.current():
                answer = await post(path, **call.addressed(arguments))
        except BaseException as error:
            call.failed(error)
            raise
        return call.answered(answer)

    def quiet(self) -> AbstractContextManager[None]:
        """Around a method that other instrumentors patch: one call has one span, unless `coexist` is on."""
        return suppressing(self.wiring.settings.coexist)

    def _logged(self) -> AbstractContextManager[None]:
        given = self.wiring.settings
        return eliding(given.capture_content == "NO_CONTENT" or not given.capture_injected)

    def carried(self) -> Callable[[], AbstractContextManager[None]]:
        """What makes all that is ambient now, the trace too, ambient in a `with` elsewhere, in one frame."""
        carried, trace = context.carried(), otel_context.get_current()

        @contextlib.contextmanager
        def there() -> Iterator[None]:
            token = otel_context.attach(trace)
            try:
                with carried():
                    yield
            finally:
                otel_context.detach(token)

        return there

    def _call(self, client: Any, path: str, arguments: dict[str, Any], own: Endpoint | None) -> Call | None:
        endpoint = own if own is not None else self.adapter.endpoint(path)
        if endpoint is None or context.is_inside():
            return None
        body = arguments.get("body")
        if not isinstance(body, dict):
            return None
        try:
            arguments["body"] = body = materialised(body, *endpoint.fields)
            return Call(self.wiring, self.adapter, self.session, client, endpoint, body)
        except Exception as error:  # noqa: BLE001  (the objects that are read are the caller's)
            # What cannot be read is the SDK's or the server's to refuse, in its own words.
            _log.warning(
                "firsthand: a request to %s cannot be read (%s); it is sent as it is", path, type(error).__name__
            )
            return None
