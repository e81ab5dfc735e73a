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

from .text import as_seen

_VENDOR_SHAPES = (
    ("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{20,}"),
    ("openrouter-key", "sk-or-", r"(?:v1-)?[A-Za-z0-9]{32,}"),
    ("langfuse-key", "[sp]k-lf-", r"[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("openai-key", "sk-", r"(?:proj-|svcacct-|admin-)?(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{32,}"),
    ("google-key", "AIza", r"[0-9A-Za-z_-]{35}"),
    ("huggingface-key", "hf_", r"[A-Za-z0-9]{30,}"),
    ("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xai-key", "xai-", r"[A-Za-z0-9]{40,}"),
    ("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("replicate-key", "r8_", r"[A-Za-z0-9]{30,}"),
    ("nvidia-key", "nvapi-", r"[A-Za-z0-9_-]{40,}"),
    ("fireworks-key", "fw_", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{21,}"),
    ("tavily-key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    ("langsmith-key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("logfire-key", "pylf_v", r"[0-9]+_[a-z]{2}_[A-Za-z0-9]{20,}"),
    ("cerebras-key", "csk-", r"(?=[a-z]*[0-9])[a-z0-9]{40,}"),
    ("together-key", "tgp_v1_", r"[A-Za-z0-9_-]{40,}"),
    ("elevenlabs-key", "sk_", r"[0-9a-f]{48}"),
    ("voyage-key", "pa-", r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{40,}"),
    ("jina-key", "jina_", r"[A-Za-z0-9_-]{40,}"),
    ("pinecone-key", "pcsk_", r"[A-Za-z0-9_]{40,}"),
    ("llama-cloud-key", "llx-", r"[A-Za-z0-9]{40,}"),
    ("firecrawl-key", "fc-", r"[0-9a-f]{32}"),
    ("databricks-token", "dapi", r"[0-9a-f]{32}"),
    ("bedrock-key", "ABSK", r"[A-Za-z0-9+/]{100,}"),
    ("alibaba-cloud-access-key", "LTAI", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}"),
    ("slack-app-token", "xapp-", r"[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{20,}"),
    ("github-fine-grained-token", "github_pat_", r"[A-Za-z0-9_]{40,}"),
)
"""Id, beginning, and the rest of a key, which together have 24 characters or more."""

_ARTIFACTORY_SHAPES = (
    ("AKC", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{10,}"),
    ("AP[0-9A-F]", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{8,}"),
)
"""With a digit, for their letters begin words too."""

_ESCAPED = r"(?<=\\[bfnrt]{0})|(?<=\\u[0-9A-Fa-f]{{4}}{0})"
_BEFORE = rf"(?:(?<![A-Za-z0-9]{{0}})|{_ESCAPED})"
"""No letter or digit of ASCII stands before `{0}`, unless it ends an escape of JSON: `\\b` takes any script's."""
_BESIDE = r"\s\"'`)\]\x80-\U0010ffff"
_APART = rf"(?:(?<![^_=:(\[{_BESIDE}]{{0}})|{_ESCAPED})"
_AFTER = rf"(?=[.,;\\{_BESIDE}]|$)"
_LONG = 24
_LEFT_OUT = frozenset({"IPPublicDetector"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One shape of secret. `confirm`, where a rule has it, takes the matched text and says whether it is one.

    `long` says that every such secret holds 24 letters, digits, `_` or `-` in a row, as few sentences do.
    """

    id: str
    pattern: re.Pattern[str]
    long: bool = False
    confirm: Callable[[str], bool] | None = None

    def matches(self, text: str) -> bool:
        """True if `text` holds such a secret."""
        if self.confirm is None:
            return self.pattern.search(text) is not None
        return any(self.confirm(found.group()) for found in self.pattern.finditer(text))


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, the vendors' first. Imports detect-secrets (about 0.1 s) on the first call."""
    # The beginning stands first, for the search for a literal is fast.
    vendors = [(name, head + _BEFORE.format(head) + rest, True) for name, head, rest in _VENDOR_SHAPES]
    others = [
        ("artifactory-credentials", head + _APART.format(head) + rest + _AFTER, False)
        for head, rest in _ARTIFACTORY_SHAPES
    ]
    others.append(("private-key", r"BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY", False))
    shapes = [Rule(id=name, pattern=re.compile(shape), long=long) for name, shape, long in (*vendors, *others)]
    return (*shapes, *_plugin_rules())


def find_secret(text: str) -> str | None:
    """The id of the first rule that `text` breaks, or None.

    Its compatibility form without what nobody sees counts, too: that is what an index would hold, and a reader copy.
    """
    found = _first(text)
    if found is None and (plain := as_seen(text)) is not text:
        found = _first(plain)
    return found


def find_secrets(text: str) -> tuple[str, ...]:
    """The ids of all rules that `text` breaks, each once, in the order of the rules."""
    forms = {text, as_seen(text)}
    return tuple(dict.fromkeys(rule.id for rule in rules() if any(map(rule.matches, forms))))


def _first(text: str) -> str | None:
    long = max(map(len, text.split()), default=0) >= _LONG
    for rule, search in _searches(long):
        if search(text) is not None and rule.matches(text):
            return rule.id
    return None


@cache
def _searches(long: bool) -> tuple[tuple[Rule, Callable[[str], object]], ...]:
    """The rules for a text with or without long runs of letters, each with its bare search: a call a rule is dear."""
    return tuple((rule, rule.pattern.search) for rule in rules() if long or not rule.long)


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
            found.extend(
                Rule(id=rule_id, pattern=_in_any_script(rule), long=_is_long(rule), confirm=confirm)
                for rule in kind.denylist
            )
    return tuple(found)


def _is_long(pattern: re.Pattern[str]) -> bool:
    """True for the shape `name = value` of detect-secrets, whose value is a fixed number of letters, 24 or more.

    Its many spellings of the name are most of the time that all rules take.
    """
    value = re.search(r"\(\?: \*\)\(\?:\"\|'\|\)\(\[[a-zA-Z0-9_\\-]+\]\{(\d+)\}", pattern.pattern.replace("\\'", "'"))
    return value is not None and int(value.group(1)) >= _LONG


def _in_any_script(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern with bounds that a letter of another script beside the secret does not hide."""
    shape = pattern.pattern.replace(r"(?:(?<=\W)|(?<=^))", _BEFORE.format("")).replace(r"(?!\w)", "(?![A-Za-z0-9_])")
    return re.compile(shape, pattern.flags)
