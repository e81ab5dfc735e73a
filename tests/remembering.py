"""A middleware that remembers, a scripted model for it to ask, and what it has stored by now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from middleware import Middleware, Settings, Submission
from middleware.testing import Captured, capture
from recall_store import Record

NOTES = "You keep long-term notes"
Scripted = Callable[[dict[str, Any]], Any]


def is_question(body: dict[str, Any]) -> bool:
    """Whether a request asks for facts."""
    return NOTES in json.dumps(body)


def noting(*facts: dict[str, str], reply: str = "ok") -> Scripted:
    """A model that answers turns with `reply` and questions about them with `facts`."""
    return lambda body: json.dumps({"facts": list(facts)}) if is_question(body) else reply


def fact(text: str, type: str = "user", **more: str) -> dict[str, str]:
    return {"type": type, "text": text, **more}


@contextmanager
def room(tmp_path: Path, remember: str, answer: Any = "ok", **settings: Any) -> Iterator[tuple[Captured, Middleware]]:
    """A middleware with a store that remembers, and a scripted model."""
    hooks = settings.pop("hooks", ())
    given = Settings(store=f"sqlite:///{tmp_path}/m.db", remember=remember, recall_timeout=60, **settings)  # type: ignore[arg-type]
    with capture(default=answer) as captured, Middleware(given, hooks=hooks, **captured.providers) as app:
        yield captured, app


def say(app: Middleware, client: Any, text: str, *, typed: str | None = "", session: str | None = "s") -> Any:
    """One turn of alice, who typed `typed` ("": the text that is sent)."""
    where = app.session(session, user="alice") if session is not None else nullcontext()
    submission = Submission(model_parts=text, submitted_prompt=text if typed == "" else typed, producer="test")
    with where, app.submitting(submission):
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])


def stored(app: Middleware, namespace: str = "alice") -> list[Record]:
    """What is remembered by now, oldest first."""
    app.flush(60)
    assert app.store is not None
    return app.store.list(namespace=namespace)[::-1]


def texts(app: Middleware, namespace: str = "alice") -> list[str]:
    return [record.text for record in stored(app, namespace)]
