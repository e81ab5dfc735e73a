"""Secrets are refused at the door: one rule set, for the store and for whoever redacts.

The rules are the regular expressions of detect-secrets (no entropy detectors and no keyword detector: they flag
ordinary sentences; no IP addresses: they are no secrets) and the key shapes of model vendors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

_VENDOR_SHAPES = {
    "anthropic-key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "openrouter-key": r"\bsk-or-(?:v1-)?[A-Za-z0-9]{32,}",
    "langfuse-key": r"\b[sp]k-lf-[0-9a-f]{8}-[0-9a-f-]{27}",
    "openai-key": r"\bsk-(?:proj-|svcacct-|admin-)?(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{32,}",
    "google-key": r"\bAIza[0-9A-Za-z_-]{35}",
    "huggingface-key": r"\bhf_[A-Za-z0-9]{30,}",
    "groq-key": r"\bgsk_[A-Za-z0-9]{40,}",
    "xai-key": r"\bxai-[A-Za-z0-9]{40,}",
    "perplexity-key": r"\bpplx-[A-Za-z0-9]{40,}",
    "replicate-key": r"\br8_[A-Za-z0-9]{30,}",
    "nvidia-key": r"\bnvapi-[A-Za-z0-9_-]{40,}",
    "fireworks-key": r"\bfw_[A-Za-z0-9]{20,}",
    "tavily-key": r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}",
    "langsmith-key": r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    "logfire-key": r"\bpylf_v[0-9]+_[a-z]{2}_[A-Za-z0-9]{20,}",
    "github-fine-grained-token": r"\bgithub_pat_[A-Za-z0-9_]{40,}",
}
_LEFT_OUT = frozenset({"IPPublicDetector"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One shape of secret. `confirm`, where a rule has it, takes the matched text and says whether it is one."""

    id: str
    pattern: re.Pattern[str]
    confirm: Callable[[str], bool] | None = None

    def matches(self, text: str) -> bool:
        """True if `text` holds such a secret."""
        if self.confirm is None:
            return self.pattern.search(text) is not None
        return any(self.confirm(found.group()) for found in self.pattern.finditer(text))


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, the vendors' first. Imports detect-secrets (about 0.1 s) on the first call."""
    return tuple(Rule(id=name, pattern=re.compile(shape)) for name, shape in _VENDOR_SHAPES.items()) + _plugin_rules()


def find_secret(text: str) -> str | None:
    """The id of the first rule that `text` breaks, or None."""
    return next((rule.id for rule in rules() if rule.matches(text)), None)


def _plugin_rules() -> tuple[Rule, ...]:
    import importlib
    import inspect
    import pkgutil

    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    found: list[Rule] = []
    for info in sorted(pkgutil.iter_modules(plugins.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{plugins.__name__}.{info.name}")
        kind: Any
        for name, kind in inspect.getmembers(module, inspect.isclass):
            own = kind.__module__ == module.__name__ and issubclass(kind, RegexBasedDetector)
            if not own or inspect.isabstract(kind) or name in _LEFT_OUT:
                continue
            rule_id = str(kind.secret_type).lower().replace(" ", "-")
            confirm = getattr(kind, "is_formally_valid", None)
            found.extend(Rule(id=rule_id, pattern=pattern, confirm=confirm) for pattern in kind.denylist)
    return tuple(found)
