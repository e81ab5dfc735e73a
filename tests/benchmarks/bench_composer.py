"""`python -m tests.benchmarks.bench_composer`: what one key costs in the composer, beside a bare string insertion.

A draft of 10,000 lines of 80 characters, and one that holds a paste of 5 MB: as a placeholder, as it is shown when it
is pasted, and as bare text, as it is shown when it is given back by a cancel. Milliseconds of CPU; exit code 1 when
a key takes 50 or more at worst.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from middleware.chat import Chat, Composer, Sidecar

LINES = "\n".join(f"{line:05} " + "lorem ipsum " * 6 + "xx" for line in range(10_000))
BODY = "".join(chr(97 + at % 26) for at in range(5_000_000))
KEYS = 300
LIMIT_MS = 50.0


def draft_of_lines() -> Composer:
    composer = Composer()
    composer.change(LINES)
    return composer


def draft_with_a_placeholder() -> Composer:
    composer = draft_of_lines()
    composer.paste(BODY, len(LINES) // 2)
    return composer


def draft_given_back() -> Composer:
    composer = Composer()
    composer.restore(BODY, Sidecar(model_text=BODY, submitted_prompt="[Pasted Content 5000000 chars]", visible=""))
    return composer


def milliseconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return (time.process_time() - started) * 1000


def press(composer: Composer, number: int, at: int) -> int:
    """One key at an offset, and what a screen asks for after it: mostly typing, now and then backspace or undo."""
    if number % 10 == 8:
        at = composer.backspace(at)
    elif number % 10 == 9:
        composer.undo()
    else:
        at = composer.type("k", at)
    _ = (composer.text, composer.state, composer.is_empty, composer.lost)
    return at


def keys(composer: Composer) -> list[float]:
    taken, at = [], len(composer.text) // 2
    for number in range(KEYS):
        started = time.process_time()
        at = press(composer, number, at)
        taken.append((time.process_time() - started) * 1000)
    return taken


def bare(text: str) -> float:
    at = len(text) // 2
    return statistics.median(milliseconds(lambda: text[:at] + "k" + text[at:]) for _ in range(KEYS))


def once() -> dict[str, float]:
    """Acts that happen once in a while, on the large texts."""
    composer, chat = draft_of_lines(), Chat(local=["help"])
    found = {"paste 5 MB": milliseconds(lambda: composer.paste(BODY))}
    chat.composer.paste(BODY)
    found["submit it"] = milliseconds(chat.submit)
    found["cancel, so that it comes back"] = milliseconds(chat.cancel)
    found["submit it again"] = milliseconds(chat.submit)
    found["history up to it"] = milliseconds(chat.history_up)
    return found


def main() -> int:
    table = Table("a key in", "median", "99 of 100", "worst", "bare insertion")
    worst = 0.0
    for name, make in (
        ("a draft of 10,000 lines", draft_of_lines),
        ("it with a paste of 5 MB", draft_with_a_placeholder),
        ("5 MB given back as text", draft_given_back),
    ):
        composer = make()
        plain, taken = bare(composer.text), sorted(keys(composer))
        worst = max(worst, taken[-1])
        row = (statistics.median(taken), taken[len(taken) * 99 // 100], taken[-1], plain)
        table.add_row(name, *(f"{value:.3f}" for value in row))
    acts = Table("once", "ms")
    for name, value in once().items():
        acts.add_row(name, f"{value:.1f}")
    console = Console()
    console.print(table, acts)
    if worst >= LIMIT_MS:
        console.print(f"a key took {worst:.1f} ms; the limit is {LIMIT_MS:.0f}")
    return int(worst >= LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
