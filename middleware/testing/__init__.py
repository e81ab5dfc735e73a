"""Fakes for tests, ours and yours: a model in the process, and everything that the middleware exported.

    with capture() as captured:
        settings = Settings(transcripts=captured.transcripts)
        app = Middleware(settings, hooks=[lambda hook_input: "branch=main"], **captured.providers)
        client = app.wrap(captured.model.openai())
        client.chat.completions.create(model="local", messages=[{"role": "user", "content": "why is CI red?"}])
    assert [span.name for span in captured.spans_named("chat")] == ["chat local"]
    assert captured.requests[0]["messages"][0]["content"][0]["text"] == "why is CI red?"
    assert "branch=main" not in captured.exported()
    assert captured.records[0]["systemPayload"]["displayText"] == "why is CI red?"

The real SDK clients run, on a transport of ours: nothing leaves the process, and no port is opened. An SDK is
imported when its client is asked for.
"""

from .answers import Answer, Failure, Scripted, ToolCall
from .captured import Captured, capture
from .model import LocalModel

__all__ = ["Answer", "Captured", "Failure", "LocalModel", "Scripted", "ToolCall", "capture"]
