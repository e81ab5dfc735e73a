"""What stands for a request in an SDK's log lines never raises into the call."""

from __future__ import annotations

import logging
from collections import UserDict
from collections.abc import Iterator
from typing import Any

import pytest

from middleware.sdks import logs


class Odd(UserDict[str, Any]):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("odd")


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": "m", "messages": [{"role": "user", "content": "hi"}]}, "'content': '<2 characters>'"),
        (Odd(), "<Odd>"),
        (ring(), "<nested too deeply>"),
    ],
)
def test_a_body_is_logged_as_its_shape_whatever_it_is(
    body: object, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    logs.elide_texts_of("an.sdk")
    with logs.eliding(True), caplog.at_level(logging.DEBUG, logger="an.sdk"):
        logging.getLogger("an.sdk").debug("Request: %s", {"json_data": body})
    assert said in caplog.messages[0]
