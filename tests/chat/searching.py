"""No sequence of operations makes a payload carry text that the person did not write and submit unchanged.

A breadth-first search over states of a chat: every operation in every state that is reached, states being told
apart by what the rules look at and not by the words in them. Beside the chat goes a witness, which knows only what
the person did with their own hands. `python -m tests.chat.searching DEPTH STATES` goes as deep as one likes.
"""

from __future__ import annotations

import sys

from middleware.chat import Chat, State
from middleware.chat.composer import Draft

from .witness import OPERATIONS, Scene


def abstract(scene: Scene) -> object:
    """What the rules and the witness look at, without the words."""
    chat, composer, witness = scene.chat, scene.chat.composer, scene.witness
    running = chat._turns._running
    item = running.item if running else None
    return (
        (composer.state, composer.text == "", composer.is_empty, composer.vim, bool(composer.chips)),
        (bool(composer.pastes), steps(composer._undo), steps(composer._redo), bool(chat.stash), bool(chat.shelf)),
        (witness.own is None, witness.own == composer.text, witness.given[1], witness.given[0] is None),
        tuple((i.kind, i.submitted_prompt is None, i.command) for i in chat.queue.items[:2]),
        (running is None, item and (item.kind, item.submitted_prompt is None, item.command)),
        (running and (running.row is None, running.followed), chat.history._at, len(chat.history.entries) > 0),
        (
            "a" in witness.cut,
            scene.newest is None,
            bool(scene.steered),
            bool(chat.reminders),
            composer.text.startswith("/"),
        ),
    )


def steps(drafts: list[Draft]) -> tuple[bool, ...]:
    return tuple(draft.text == "" for draft in drafts[-2:])


def search(depth: int, most: int) -> tuple[int, int]:
    """Every operation in every state, breadth first; how many transitions and states that were."""
    frontier: list[tuple[Scene, tuple[str, ...]]] = [(Scene(Chat(prompts=["review"])), ())]
    seen, count = {abstract(frontier[0][0])}, 0
    for _ in range(depth):
        following: list[tuple[Scene, tuple[str, ...]]] = []
        for scene, path in frontier:
            for named, operation in OPERATIONS.items():
                after, count = scene.twin(), count + 1
                try:
                    operation(after)
                    assert after.chat.composer.state is not State.FRESH or after.witness.own is not None
                except AssertionError as error:
                    raise AssertionError(f"after {' > '.join((*path, named))}") from error
                key = abstract(after)
                if key not in seen and len(seen) < most:
                    seen.add(key)
                    following.append((after, (*path, named)))
        frontier = following
    return count, len(seen)


if __name__ == "__main__":
    transitions, states = search(depth=int(sys.argv[1]), most=int(sys.argv[2]))
    print(f"{transitions} transitions between {states} states")
