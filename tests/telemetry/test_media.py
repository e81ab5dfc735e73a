"""What stands for a picture, a sound or a file: never its bytes, never a secret in its address."""

from __future__ import annotations

import base64
import hashlib

import pytest

from middleware.telemetry.media import media_part
from middleware.telemetry.redaction import redactor

KEY = "sk-ant-api03-" + "a1B2c3D4" * 5
DATA = bytes(range(256)) * 3
BASE64 = base64.b64encode(DATA).decode()
BLOB = {"type": "blob", "size": 768, "sha256": hashlib.sha256(DATA).hexdigest()}


def as_it_is(text: str) -> str:
    return text


@pytest.mark.parametrize("url", ["data:", " data:", "\n\t data:", "DATA:"])
def test_a_data_url_is_a_blob_however_it_begins(url: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"{url}image/png;base64,{BASE64}"}}
    assert media_part(picture, as_it_is) == {**BLOB, "mime_type": "image/png"}
    file = {"type": "file", "file": {"file_data": f"{url}application/pdf;base64,{BASE64}"}}
    assert media_part(file, as_it_is) == {**BLOB, "mime_type": "application/pdf"}


def test_base64_in_the_place_of_an_address_is_a_blob() -> None:
    assert media_part({"type": "image_url", "image_url": {"url": BASE64}}, as_it_is) == BLOB


def test_a_string_and_the_same_bytes_are_different_files() -> None:
    text, data = {"inline_data": {"data": "QUJD"}}, {"inline_data": {"data": b"QUJD"}}
    for _ in range(2):
        assert media_part(text, as_it_is) == {
            "type": "blob",
            "size": 3,
            "sha256": "b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78",
        }
        assert media_part(data, as_it_is) == {
            "type": "blob",
            "size": 4,
            "sha256": hashlib.sha256(b"QUJD").hexdigest(),
        }


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("https://h.example/x.png?key=1", "https://h.example/x.png"),
        ("https://bob:pw@h.example/x.png", "https://h.example/x.png"),
        (f"https://h.example/{KEY}/x.png", "https://h.example/[redacted: anthropic-key]/x.png"),
        (
            f"https://h.example/{'d/' * 110}{KEY}",
            ("https://h.example/" + "d/" * 110 + "[redacted: anthropic-key]")[:256],
        ),
    ],
)
def test_an_address_has_no_secret_in_it(url: str, uri: str) -> None:
    assert media_part({"type": "image_url", "image_url": {"url": url}}, redactor()) == {"type": "uri", "uri": uri}
