"""What the chat hands over, sent with a real SDK client through the wrapped seam: what a hook receives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from middleware import HookBlocked, Middleware
from middleware.chat import Chat, Effect, Given, Send
from middleware.chat.expand import expand
from tests.test_prefix import OpenAIModel, sync_client


class Terminal:
    """Carries sends out as a terminal would, one message a turn, and keeps what the hook was given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.payloads: list[Mapping[str, object]] = []
        self.refusing = False
        self.chat = Chat()
        self.app = Middleware.from_settings(hooks=[self.hook])
        self.client = self.app.wrap(sync_client(OpenAIModel()))
        self.said: list[Effect] = []

    def hook(self, payload: Mapping[str, object]) -> object:
        self.payloads.append(payload)
        return {"decision": "block", "reason": "no secrets"} if self.refusing else None

    def enter(self, text: str = "") -> None:
        self.chat.composer.type(text)
        for effect in self.chat.submit():
            assert isinstance(effect, Send)
            parts = expand(effect.item, folder=self.folder).parts
            content = [{"type": "text", "text": part} for part in parts]
            try:
                with self.app.submitting(effect.submission(parts)), self.app.origin(effect.origin):
                    self.client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
            except HookBlocked as error:
                self.said += self.chat.blocked(error.reason)

    @property
    def values(self) -> list[object]:
        return [payload.get("submitted_prompt", "absent") for payload in self.payloads]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "a.txt").write_text("CANARY")
    made = Terminal(tmp_path)
    yield made
    made.client.close()


def test_the_hook_gets_what_was_typed_and_the_prompt_with_the_files_body(terminal: Terminal) -> None:
    terminal.enter("@a.txt why")
    (payload,) = terminal.payloads
    assert payload["submitted_prompt"] == "@a.txt why"
    assert payload["prompt"] == (
        "@a.txt why\n--- Content from referenced files ---\nContent from a.txt:\nCANARY\n--- End of content ---"
    )


def test_an_exact_resubmission_after_a_cancel_runs_the_hook_again_with_the_value(terminal: Terminal) -> None:
    terminal.enter("main")
    terminal.chat.cancel()
    terminal.enter()
    assert terminal.values == ["main", "main"]


def test_an_edited_resubmission_runs_it_without(terminal: Terminal) -> None:
    terminal.enter("main")
    terminal.chat.cancel()
    terminal.enter("!")
    assert terminal.values == ["main", "absent"]


def test_a_block_gives_the_text_back_with_its_reason_and_its_value(terminal: Terminal) -> None:
    terminal.refusing = True
    terminal.enter("my secret")
    assert terminal.said == [Given(text="my secret", reason="no secrets", restored=True)]
    terminal.refusing = False
    terminal.enter()
    assert terminal.values == ["my secret", "my secret"]
