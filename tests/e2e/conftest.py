"""What the end-to-end tests share: what is exported, the clients of both SDKs, and aimock in a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from middleware import Middleware, Settings
from middleware.testing import Captured, capture

from .aimock import Aimock
from .spellings import JSON

HOOK = "<qwen:user-prompt-submit-context>\nbranch=main\n</qwen:user-prompt-submit-context>"
TAGGED = {"type": "text", "text": HOOK}


@pytest.fixture
def captured() -> Iterator[Captured]:
    with capture(default=JSON) as found:
        yield found


@pytest.fixture
def app(captured: Captured, tmp_path: Path) -> Iterator[Middleware]:
    """A middleware whose hook adds `branch=main`, with transcripts."""
    settings = Settings(transcripts=str(tmp_path / "transcripts"))
    with Middleware(settings, hooks=[lambda given: "branch=main"], **captured.providers) as made:
        yield made


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting from outside, and no proxy between us and the loopback."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    with Aimock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


def closed(client: Any) -> Any:
    """Close a client of either colour."""
    import asyncio

    done = client.close()
    return asyncio.run(done) if done is not None else None
