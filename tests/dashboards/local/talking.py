"""Transcripts to follow: of the real middleware, of lines, and the wait until they were read."""

import json

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from dashboards.local.exporting import SpanIngester
from middleware import HookBlocked, Middleware
from middleware.testing import LocalModel


def wait_for(follower):
    """A whole round that began after this call."""
    for _ in range(2):
        follower.caught_up.clear()
        assert follower.caught_up.wait(60)


def state(payload):
    if "drop" in payload["prompt"]:
        return {"decision": "block", "reason": "not on a weekday"}
    return "CI is <red>"


def talk(folder, *texts, board=None, session="s1", script=()):
    """Turns of the real middleware, traced into the board if there is one."""
    provider = TracerProvider()
    if board is not None:
        provider.add_span_processor(SimpleSpanProcessor(SpanIngester(board.ingest)))
    given = {"tracer_provider": provider} if board is not None else {}
    with Middleware.from_settings(transcripts=str(folder), hooks=[state], **given) as app:
        client = app.wrap(LocalModel(*script, default="fine").openai())
        with app.session(session, user="alice"):
            for text in texts:
                try:
                    client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}])
                except HookBlocked:
                    pass
                except Exception as error:
                    assert "scripted" in str(error)
    provider.shutdown()


def lines_of(words, many, **more):
    return "".join(
        json.dumps(
            {"sessionId": words, "uuid": f"{words}{n}", "type": "user", "message": {"parts": [{"text": words}]}, **more}
        )
        + "\n"
        for n in range(many)
    )
