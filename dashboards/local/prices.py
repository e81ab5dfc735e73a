"""What tokens cost: a TOML file of prices a model, and the sum that follows from it.

currency = "USD"                # of all prices; "USD" when it is not said

[gpt-5-mini]                    # a model as the request or the answer names it, or with a * at its end
input = 0.25                    # for a million tokens, as are all of them
output = 2.0
cache_read = 0.025              # of input tokens that came from the cache; `input` when it is not said
cache_write = 0.3125
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .errors import DashboardError

__all__ = ["NO_PRICES", "Price", "Prices", "load_prices"]

_KINDS: Final = ("input", "output", "cache_read", "cache_write")
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Of a million tokens; None where it is not said."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices by model; falsy when there are none."""

    currency: str = "USD"
    models: Mapping[str, Price] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.models)

    def of(self, model: str | None) -> Price | None:
        """The price of a model: its own, or that of the longest name with a * that it begins with; None for none."""
        if model is None:
            return None
        if (own := self.models.get(model)) is not None:
            return own
        wild = [name for name in self.models if name.endswith("*") and model.startswith(name[:-1])]
        return self.models[max(wild, key=len)] if wild else None

    def cost(
        self,
        model: str | None,
        *,
        input: int | None,
        output: int | None,
        cache_read: int | None = None,
        cache_write: int | None = None,
    ) -> float | None:
        """What a call cost; `input` counts what was read from and written to the cache too. None when unknown.

        Unknown is a model without a price, and tokens of a kind that has none.
        """
        price = self.of(model)
        if price is None or (input is None and output is None):
            return None
        cached, stored = cache_read or 0, cache_write or 0
        plain = max(0, (input or 0) - cached - stored)
        total = 0.0
        for tokens, rate in (
            (plain, price.input),
            (output or 0, price.output),
            (cached, price.cache_read if price.cache_read is not None else price.input),
            (stored, price.cache_write if price.cache_write is not None else price.input),
        ):
            if tokens and rate is None:
                return None
            total += tokens * (rate or 0.0)
        return total / _MILLION


NO_PRICES: Final = Prices()


def load_prices(path: Path) -> Prices:
    """Read a file of prices. Raises `DashboardError` for one that cannot be read or says something else."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DashboardError(f"prices {path}: {error.strerror or error}; name a TOML file, or unset prices") from error
    except ValueError as error:
        raise DashboardError(f"prices {path} is no TOML: {error}") from error
    currency = said.pop("currency", "USD")
    if not isinstance(currency, str):
        raise DashboardError(f"prices {path}: currency must be a text, such as 'USD'")
    models = {}
    for model, table in said.items():
        if not isinstance(table, dict):
            raise DashboardError(
                f"prices {path}: [{model}] must be a table of input and output; write a model in quotes"
            )
        for name, value in table.items():
            if name not in _KINDS:
                raise DashboardError(f"prices {path}: [{model}] has {name!r}; there are {', '.join(_KINDS)}")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
                raise DashboardError(f"prices {path}: [{model}] {name} must be a number, 0 or more")
        models[model] = Price(**table)
    return Prices(currency=currency, models=models)
