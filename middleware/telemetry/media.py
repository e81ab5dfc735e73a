"""What stands for an image, a sound or a file: where it is, or its type, size and hash; never its bytes."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote_to_bytes

from .labels import short, without_user_info

__all__ = ["media_part"]

_WRAPPED = ("image_url", "input_audio", "source", "file", "inline_data", "inlineData", "file_data", "fileData")
_URLS = ("url", "image_url", "file_url", "file_uri", "fileUri", "uri")
_FILES = ("file_id",)
_DATA = ("data", "file_data", "bytes")
_TYPES = ("media_type", "mime_type", "mimeType", "format")

_LONGEST_ADDRESS = 4096
_BARE_BASE64 = re.compile(r"[A-Za-z0-9+/_=\s-]{256}")
_IGNORED = "".join(map(chr, range(33)))
"""What a browser ignores before a URL."""

_digests: dict[tuple[bool, int, int], tuple[int, str]] = {}
_DIGESTS = 256


def media_part(raw: object, redact: Callable[[str], str]) -> dict[str, object]:
    """Describe a wire object of OpenAI, Anthropic or Google: a `blob`, `uri`, `file` or `generic` part.

    `size` is in bytes and `sha256` of the decoded bytes, as `sha256sum` prints it for the file. Raises what `redact`
    raises, which is asked about an address.
    """
    for value in _layers(raw):
        mime = _text(value, _TYPES)
        url = _trimmed(_text(value, _URLS) or (value if isinstance(value, str) else ""))
        if _is_data_url(url):
            return _data_url(url)
        if _BARE_BASE64.match(url):
            return _blob(url, mime)
        if url:
            address = without_user_info(url[:_LONGEST_ADDRESS])
            return _with_type({"type": "uri", "uri": short(redact(address))}, mime)
        file = _text(value, _FILES)
        if file:
            return _with_type({"type": "file", "file_id": short(file)}, mime)
        data = _first(value, _DATA)
        if isinstance(data, str):
            data = _trimmed(data)
            if _is_data_url(data):
                return _data_url(data)
        if isinstance(data, (str, bytes, bytearray)) and data:
            return _blob(data, mime)
    return {"type": "generic", "kind": short(_text(raw, ("type",)) or "unknown", 64)}


def _trimmed(url: str) -> str:
    return url.lstrip(_IGNORED) if url[:1] <= " " else url


def _is_data_url(url: str) -> bool:
    return url[:5].lower() == "data:"


def _layers(raw: object) -> list[object]:
    inner = [value for name in _WRAPPED if (value := _get(raw, name)) is not None]
    return [*inner, raw]


def _get(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return value.get(name)
    return None if isinstance(value, (str, bytes)) else getattr(value, name, None)


def _first(value: object, names: tuple[str, ...]) -> object:
    return next((found for name in names if (found := _get(value, name)) is not None), None)


def _text(value: object, names: tuple[str, ...]) -> str:
    return next((found for name in names if isinstance(found := _get(value, name), str) and found), "")


def _with_type(part: dict[str, object], mime: str) -> dict[str, object]:
    return {**part, "mime_type": short(mime, 128)} if mime else part


def _data_url(url: str) -> dict[str, object]:
    comma = url.find(",", 0, 1024)
    if comma < 0:
        return {"type": "blob", "size": len(url)}
    head = url[5:comma]
    mime = head.split(";", 1)[0]
    if head.endswith(";base64"):
        return _blob(url[comma + 1 :], mime)
    return _blob(unquote_to_bytes(url[comma + 1 :]), mime)


def _blob(data: str | bytes | bytearray, mime: str) -> dict[str, object]:
    # A re-sent image is the same string: its hash is cached on the object, so that it is decoded once.
    # By type, too: a string and the same bytes have one hash.
    key = (isinstance(data, str), hash(bytes(data) if isinstance(data, bytearray) else data), len(data))
    found = _digests.get(key)
    if found is None:
        import hashlib  # 8 ms, and most processes send no image

        content = _decoded(data) if isinstance(data, str) else bytes(data)
        found = (len(content), hashlib.sha256(content).hexdigest())
        if len(_digests) >= _DIGESTS:
            _digests.clear()
        _digests[key] = found
    size, digest = found
    return _with_type({"type": "blob", "size": size, "sha256": digest}, mime)


def _decoded(data: str) -> bytes:
    try:
        return binascii.a2b_base64(data)
    except ValueError:
        return data.encode("utf-8", "replace")
