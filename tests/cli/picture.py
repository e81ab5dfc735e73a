"""`python -m tests.cli.picture docs/chat.svg`: a session of `firsthand chat` on a real terminal, as a picture.

The model is the local one; the hook and the memory are made here. With a second argument (`light`, `dark`) the
picture has that background, else it has the dark one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from html import escape
from pathlib import Path

from recall_store import Record, open_store

from .terminal import Program, program

_WIDE, _HIGH, _LEFT, _TOP = 8.4, 18, 14, 40
_DOTS = ("#ff5f57", "#febc2e", "#28c840")
_PAPER = {"dark": ("#16181d", "#d8dee9"), "light": ("#fbfbf8", "#24292f")}
_NAMED = {
    "dark": {"red": "#ff8787", "green": "#98c379", "brown": "#ffd75f", "blue": "#82aaff", "magenta": "#d7afff"}
    | {"cyan": "#5fd7ff", "black": "#3b4048", "white": "#d8dee9", "brightblack": "#7f848e"},
    "light": {"red": "#af0000", "green": "#22863a", "brown": "#6f5000", "blue": "#0550ae", "magenta": "#870087"}
    | {"cyan": "#005f87", "black": "#24292f", "white": "#6e7781", "brightblack": "#57606a"},
}
HOOK = """#!/bin/sh
cat > /dev/null
echo 'branch fix-upload, 2 files changed'
echo 'CI run 4812: red, test_upload failed after 30.0 s'
"""


MEMORIES = ("When CI is red, look at the upload test first.", "The office is closed on Mondays.")


def svg_of(shown: Program, theme: str, title: str) -> str:
    """What is on the screen as one SVG document without anything outside of it."""
    paper, ink = _PAPER[theme]
    screen = shown.screen
    rows = [y for y in range(screen.lines) if screen.display[y].strip()]
    last = max(rows, default=0) + 1
    width, height = _LEFT * 2 + screen.columns * _WIDE, _TOP + last * _HIGH + 14
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{paper}"/>',
        *(f'<circle cx="{20 + n * 20}" cy="20" r="6" fill="{colour}"/>' for n, colour in enumerate(_DOTS)),
        '<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14">',
    ]
    for y in range(last):
        x = 0
        while x < screen.columns:
            cell = screen.buffer[y][x]
            end = x + 1
            while end < screen.columns and screen.buffer[y][end][1:] == cell[1:]:
                end += 1
            text = "".join(screen.buffer[y][at].data for at in range(x, end))
            fore, back = _colour(cell.fg, ink, theme), _colour(cell.bg, paper, theme)
            if cell.reverse:
                fore, back = back, fore
            if back != paper:
                out.append(
                    f'<rect x="{_LEFT + x * _WIDE:.1f}" y="{_TOP + y * _HIGH:.0f}" '
                    f'width="{(end - x) * _WIDE:.1f}" height="{_HIGH}" fill="{back}"/>'
                )
            if text.strip():
                style = ' font-weight="bold"' * cell.bold + ' font-style="italic"' * cell.italics
                out.append(
                    f'<text x="{_LEFT + x * _WIDE:.1f}" y="{_TOP + y * _HIGH + 14:.0f}" fill="{fore}"{style} '
                    f'textLength="{(end - x) * _WIDE:.1f}" xml:space="preserve">{escape(text)}</text>'
                )
            x = end
    return "\n".join([*out, "</g>", "</svg>", ""])


def _colour(name: str, plain: str, theme: str) -> str:
    if name == "default":
        return plain
    return _NAMED[theme].get(name, f"#{name}" if len(name) == 6 else plain)


def folder_for_it(folder: Path) -> dict[str, str]:
    """A project with a hook, memories and files; answers the environment to run in."""
    script = folder / "ci-state.sh"
    script.write_text(HOOK)
    script.chmod(0o700)
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "name": "ci-state", "command": str(script)}]}]}
    (folder / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    (folder / "src").mkdir()
    (folder / "src" / "upload.py").write_text("TIMEOUT = 30\n")
    with open_store(f"sqlite:///{folder}/memories.db") as store:
        store.upsert(namespace="alice", records=[Record(text=text) for text in MEMORIES])
    return {
        "FIRSTHAND_HOOKS_FILE": str(folder / "hooks.json"),
        "FIRSTHAND_STORE": f"sqlite:///{folder}/memories.db",
        "FIRSTHAND_USER": "alice",
        "FIRSTHAND_RECALL_TIMEOUT": "5",
        "COLORTERM": "truecolor",
    }


def main(out: Path, theme: str) -> None:
    with tempfile.TemporaryDirectory(prefix="shop-") as name:
        folder = Path(name)
        environ = folder_for_it(folder)
        with program(folder, "--theme", theme, "--no-tools", columns=96, lines=40, **environ) as chat:
            chat.write("why is CI red?\r")
            chat.shows("trace ")
            chat.write("/context\r")
            chat.shows("tagged.")
            chat.write("and what does it wait for? @src/upl")
            chat.shows("❯ src/upload.py")
            picture = svg_of(chat, theme, "firsthand chat: a question, and what a hook, a memory and a file added")
            chat.write("\x03")
            chat.holds("")
    out.write_text(picture)


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "dark")
