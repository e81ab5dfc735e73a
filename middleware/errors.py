"""Every exception this package raises of its own.

    FirsthandError
    ├── SettingsError        a setting, a settings file or a hooks file that cannot be used
    ├── HookBlocked          a hook refused the prompt; nothing was sent
    ├── TranscriptError      a file that is not a transcript, or one that cannot be written (strict)
    └── UnsupportedClient    wrap() was given something that is no client it knows

An exception of the wrapped SDK is never replaced by one of these: it reaches the caller as it was raised.
"""

from __future__ import annotations

__all__ = ["FirsthandError", "HookBlocked", "SettingsError", "TranscriptError", "UnsupportedClient"]


class FirsthandError(Exception):
    """Base of all; `str()` is one line: what happened, where, what to do."""


class SettingsError(FirsthandError):
    """A setting, a settings file or a hooks file cannot be used."""


class TranscriptError(FirsthandError):
    """A file is not a transcript, or a record could not be written and `strict` is on."""


class UnsupportedClient(FirsthandError, TypeError):
    """`wrap()` was given an object that no adapter knows."""


class HookBlocked(FirsthandError):
    """A hook refused the turn: nothing was sent, nothing was recalled.

    `prompt` is the text from before any hook, so that the caller can give it back to the person who wrote
    it; it is in no `str()` or `repr()`, so that logging the exception logs no prompt.

    Attributes: `hook` (names of the hooks that blocked, comma-separated), `reason` (effective reason, never
    empty), `prompt`. Source: hooks-and-transcripts D9, D10.
    """

    def __init__(self, *, hook: str, reason: str, prompt: str) -> None:
        self.hook = hook
        self.reason = reason
        self.prompt = prompt
        super().__init__(f"hook {hook} blocked the prompt: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_blocked, (self.hook, self.reason, self.prompt))


def _rebuild_blocked(hook: str, reason: str, prompt: str) -> HookBlocked:
    return HookBlocked(hook=hook, reason=reason, prompt=prompt)
