"""Telemetry is loud in its own tests."""

from __future__ import annotations

import pytest

from middleware.telemetry import guard


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "strict", True)
    monkeypatch.setattr(guard, "_reported", set())
