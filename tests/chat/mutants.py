"""`python -m tests.chat.mutants [TESTS...]`: single-point changes of composer, queue and turns; each must be noticed.

Every mutant is made in a copy of the package and run against the tests of the chat (or the ones that are named);
the exit code is the number of survivors. It takes minutes, so it is run by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

MUTANTS: tuple[tuple[str, str, str], ...] = (
    ("cells", "TABLE.get((state, act), State.TAINTED)", "TABLE.get((state, act), state)"),
    ("cells", "(sidecar is None or sidecar.model_text != text)", "sidecar is None"),
    ("cells", "return State.TAINTED if vim else found", "return found"),
    ("cells", "    if not text:\n        return State.FRESH\n", ""),
    ("cells", "act in ORDINARY and not changed", "not changed"),
    ("cells", "    REMOTE = auto()", "    REMOTE = KEYS"),
    ("composer", "if on and self.text:", "if on and not self.text:"),
    ("composer", "if vouch and not self._vim:", "if not self._vim:"),
    ("composer", "            if state is State.FRESH:\n", "            if state is not State.RESTORED:\n"),
    ("composer", "and sidecar.model_text == model_text:", ":"),
    ("composer", "typed = typed if value is None else value", "pass"),
    ("composer", "value, visible = sidecar.submitted_prompt, sidecar.visible", "value = sidecar.submitted_prompt"),
    ("composer", "        self._mark(State.FRESH, None)\n", ""),
    ("composer", "FRESH, None)\n        self._forget_steps()\n", "FRESH, None)\n"),
    ("composer", "if not draft.text and marked:", "if not draft.text:"),
    ("composer", "if not draft.text and marked:", "if False:"),
    ("composer", " or TABLE.get((self._state, act)) is not State.FRESH", ""),
    ("composer", "if act in KEEPS_PASTES else large.NONE", "if act in KEEPS_PASTES else self.pastes"),
    ("composer", "if not is_blank(draft.text):\n            merged", "if draft.text:\n            merged"),
    ("composer", "if self._state is State.FRESH and not self._vim:", "if True:"),
    ("composer", "if kill.text != killed]", "]"),
    ("composer", "            self._redo.clear()\n        self._settle", "            pass\n        self._settle"),
    ("composer", "_behind(self._draft.chips, trim(self.expanded))", "_behind(self._draft.chips, self.expanded)"),
    ("composer", "chip for chip in self.chips if chip != path", "chip for chip in self.chips"),
    ("composer", "if is_blank(expanded):", "if not expanded:"),
    ("composer", "and name not in text:", ":"),
    ("pastes", "_MOST_CHARACTERS = 1_000", "_MOST_CHARACTERS = 999"),
    ("pastes", '"\\n") + 1 > _MOST_LINES', '"\\n") > _MOST_LINES'),
    ("pastes", "key=len, reverse=True", "key=len"),
    ("queue", "text = trim(item.text)", "text = item.text.strip()"),
    ("queue", "not self.command and self.kind is not Kind.PEER", "not self.command"),
    ("queue", "item.is_user_text and item.kind is not Kind.DEFERRED)", "item.is_user_text)"),
    ("queue", "replace(item, submitted_prompt=None) for item in taken", "item for item in taken"),
    ("queue", "if item.kind in (Kind.PLAIN, Kind.DEFERRED) else item.kind", ""),
    ("queue", "if any(item.kind is Kind.DEFERRED", "if all(item.kind is Kind.DEFERRED"),
    ("queue", "self._items[:0] =", "self._items +="),
    ("turns", "if occupied or tool_running or running.row is None:", "if tool_running or running.row is None:"),
    ("turns", "if occupied or tool_running or running.row is None:", "if occupied or running.row is None:"),
    ("turns", "if occupied or tool_running or running.row is None:", "if occupied or tool_running:"),
    ("turns", "self._history.is_newest(entry)", "True"),
    ("turns", "produced = output or running.followed", "produced = output"),
    ("turns", "if pending or self._rows", "if self._rows"),
    ("chat", "command == \"btw\" or not self.busy", "not self.busy"),
    ("chat", "if not (defer or command or self.busy) and text == speculation:", "if text == speculation:"),
    ("chat", "text=trim(capture.expanded) if command", "text=self._reminded(text) if command"),
    ("chat", "kind=Kind.DEFERRED if defer else Kind.PLAIN", "kind=Kind.PLAIN"),
    ("chat", "had_draft = not self.composer.is_empty", "had_draft = bool(self.composer.text)"),
    ("chat", "(replace(item, submitted_prompt=None) for item in items)", "items"),
    ("chat", "            self.composer.fill(match, Act.SEARCH)", "            self.composer.change(match)"),
    ("chat", "self.composer.fill(self.stash, Act.STASH)", "self.composer.change(self.stash)"),
    ("chat", "if self.shell or not self.shelf or not self.composer.is_empty:", "if self.shell or not self.shelf:"),
    ("chat", "self.composer.whole)\n        self.stash = None\n", "self.composer.whole)\n"),
    ("chat", "(*self.shelf, self.composer.whole)", "(*self.shelf, self.composer.text)"),
    ("mentions", "if not _ODD.search(path):", "if True:"),
    ("completing", "return 5 if all(", "return 5 if any("),
    ("chat", "self.composer.fill(found.text, act, pastes=found.pastes)", "self.composer.change(found.text)"),
    ("history", "self._entries[-1] == entry", "self._entries[-1].text == entry.text"),
)  # fmt: skip


def survives(module: str, before: str, after: str, tests: list[str]) -> bool:
    """True when the tests pass with the change; raises ValueError when there is not exactly one place for it."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        shutil.copytree(ROOT / "middleware", copy / "middleware", ignore=shutil.ignore_patterns("__pycache__"))
        for beside in ("recall_store", "tests", "pyproject.toml", "README.md", "docs"):
            (copy / beside).symlink_to(ROOT / beside)
        path = copy / "middleware" / "chat" / f"{module}.py"
        text = path.read_text()
        if text.count(before) != 1:
            raise ValueError(
                f"{module}: {text.count(before)} places read {before!r}; the list is to be brought up to date"
            )
        changed = text.replace(before, after)
        compile(changed, str(path), "exec")
        path.write_text(changed)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True).returncode == 0


def main(tests: list[str]) -> int:
    survivors = 0
    for module, before, after in MUTANTS:
        if survives(module, before, after, tests or ["tests/chat"]):
            survivors += 1
            print(f"SURVIVED {module}: {before!r} -> {after!r}", flush=True)
    print(f"{len(MUTANTS)} mutants, {survivors} survived")
    return survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
