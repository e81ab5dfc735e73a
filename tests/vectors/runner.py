"""Runs files of cases against the real code and names what failed.

Areas and kinds live in the modules beside this one, each with `AREAS` (area -> function from input to what
the code says) or `KINDS` (kind -> function from input to observations) or `SCENARIOS`.
An area, kind or expectation that nobody implements counts as failed.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tests.vectors as package

ABSENT = "__absent__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    id: str
    area: str
    failures: tuple[str, ...]


def _collect(name: str) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in ("__main__", "runner"):
            found.update(getattr(importlib.import_module(f"tests.vectors.{module.name}"), name, {}))
    return found


def run_file(path: Path, *, areas: frozenset[str] | None = None) -> Iterator[Result]:
    """Run one file; `areas` limits it to those areas (all by default). Raises ValueError for another format."""
    document = json.loads(path.read_text(encoding="utf-8"))
    kind = document.get("format") if isinstance(document, dict) else None
    runs = {"firsthand.vectors/1": _vectors, "firsthand.scenarios/1": _scenarios, "firsthand.cases/1": _cases}
    if kind not in runs:
        raise ValueError(f"{path}: format {kind!r} is none of {', '.join(runs)}")
    yield from runs[kind](document, lambda area: areas is None or area in areas)


def _vectors(document: Mapping[str, Any], chosen: Callable[[str], bool]) -> Iterator[Result]:
    functions = _collect("AREAS")
    for vector in document["vectors"]:
        area = vector["area"]
        if not chosen(area):
            continue
        if area not in functions:
            failures = [f"unknown area {area!r}"]
        else:
            failures = _guarded(lambda v=vector, a=area: differences(v["expect"], functions[a](v["input"])))
        yield Result(id=vector["id"], area=area, failures=tuple(failures))


def _cases(document: Mapping[str, Any], chosen: Callable[[str], bool]) -> Iterator[Result]:
    functions = _collect("KINDS")
    for case in document["cases"]:
        kind = case["kind"]
        if not chosen(case["area"]):
            continue
        if kind not in functions:
            failures = [f"unknown kind {kind!r}"]
        else:
            failures = _guarded(lambda c=case, k=kind: met(c["expect"], functions[k](expand(c["input"]))))
        yield Result(id=case["id"], area=case["area"], failures=tuple(failures))


def _scenarios(document: Mapping[str, Any], chosen: Callable[[str], bool]) -> Iterator[Result]:
    functions = _collect("SCENARIOS")
    for key, area in (("scenarios", "scenario"), ("hook_chain_vectors", "hook_chain")):
        for scenario in document.get(key, ()) if chosen(area) else ():
            if area not in functions:
                failures = [f"unknown operation {area!r}"]
            else:
                failures = _guarded(lambda s=scenario, a=area: functions[a](s))
            yield Result(id=scenario["id"], area=area, failures=tuple(failures))


def _guarded(run: Callable[[], list[str]]) -> list[str]:
    try:
        return run()
    except Exception as error:
        return [f"raised {type(error).__name__}: {error}"]


def expand(value: Any) -> Any:
    """Replace `{"repeat": [s, n]}` by s * n, everywhere in a case's input."""
    if isinstance(value, dict):
        if set(value) == {"repeat"}:
            text, times = value["repeat"]
            return text * times
        return {key: expand(item) for key, item in value.items()}
    return [expand(item) for item in value] if isinstance(value, list) else value


def differences(expected: Any, actual: Any, where: str = "") -> list[str]:
    """Say where `actual` is not what is expected: dicts are subsets, everything else is exact."""
    if isinstance(expected, dict) and isinstance(actual, Mapping):
        found: list[str] = []
        for key, value in expected.items():
            here = f"{where}.{key}" if where else key
            if value == ABSENT:
                if key in actual:
                    found.append(f"{here}: present, expected absent")
            elif key not in actual:
                found.append(f"{here}: missing")
            else:
                found += differences(value, actual[key], here)
        return found
    if type(expected) is bool or type(actual) is bool:
        same = expected is actual
    else:
        same = expected == actual
    return [] if same else [f"{where or 'result'}: expected {expected!r}, got {actual!r}"]


def met(expect: Mapping[str, Any], observed: Mapping[str, Any]) -> list[str]:
    """Check a field case's expectations against what its kind observed.

    `X_any_of` passes for any listed value of X, `X_contains` for every listed piece found in X, `X_max_s` and
    `finishes_before_s` style limits are compared by the kind itself. No observation for a key is a failure.
    """
    failures: list[str] = []
    for key, wanted in expect.items():
        if key in observed:
            failures += differences(wanted, observed[key], key)
        elif key.endswith("_any_of") and key[:-7] in observed:
            if observed[key[:-7]] not in wanted:
                failures.append(f"{key}: got {observed[key[:-7]]!r}")
        elif key.endswith("_contains") and key[:-9] in observed:
            pieces = wanted if isinstance(wanted, list) else [wanted]
            failures += [f"{key}: {piece!r} is missing" for piece in pieces if piece not in observed[key[:-9]]]
        elif isinstance(wanted, (int, float)) and f"{key}!limit" in observed:
            if observed[f"{key}!limit"] > wanted:
                failures.append(f"{key}: {observed[f'{key}!limit']} is over {wanted}")
        else:
            failures.append(f"{key}: nobody observes this")
    return failures
