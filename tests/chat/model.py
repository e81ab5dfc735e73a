"""The rules a second time, written from the prose of the rule book alone, to disagree with the real ones.

Sections in the comments are those of spec/submitted-prompt.md. `do` takes a scenario's operation; `events` are
(send type, prompt, value or None).
"""

from __future__ import annotations

from typing import Any

SPACES = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
QUITS = ["exit", "quit", ":q", ":q!", ":wq", ":wq!", "/quit", "/exit"]


class Model:
    def __init__(self, local: list[str], bodies: dict[str, str], log: Any = (), stash: str = "") -> None:
        self.local, self.bodies, self.log, self.stash = local, bodies, list(log), stash
        self.text, self.pastes, self.chips = "", {}, []
        self.side: Any = None
        self.tainted = self.vim = self.shell = self.agent = False
        self.undos: list[Any] = []
        self.redos: list[Any] = []
        self.queue: list[list[Any]] = []
        self.turn: Any = None
        self.lines: list[str] = []
        self.shelf: list[str] = []
        self.ready, self.reminder, self.place, self.kept = None, "", None, ("", {})
        self.drained: list[Any] = []
        self.last: Any = None
        self.events: list[Any] = []
        if stash:
            self.fill(stash)

    def do(self, op: str, text: Any = None, **how: Any) -> None:
        getattr(self, op)(*([] if text is None else [text]), **how)

    # 2.2, S7
    def write(self, text: str, pastes: Any = None, chips: Any = None, *, step: bool = True) -> None:
        old = (self.text, self.pastes, self.chips)
        new = (text, self.pastes if pastes is None else pastes, self.chips if chips is None else chips)
        if new != old and step:
            self.undos, self.redos = [*self.undos, old][-100:], []
        self.text, self.pastes, self.chips = new
        if text == "":
            if self.side or self.tainted:
                self.undos, self.redos = [], []
            self.side, self.tainted, self.pastes = None, False, {}
        elif self.side and self.side[0] != text:
            self.side, self.tainted = None, True
        self.check_vim()

    def check_vim(self) -> None:  # 2.9
        if self.vim and self.text:
            self.side, self.tainted = None, True

    def fill(self, text: str, pastes: Any = None) -> None:  # S3
        self.side, self.tainted = None, True
        self.write(text, {} if pastes is None else pastes)

    def restore(self, text: str, value: Any) -> None:  # 2.4, S8
        self.side, self.tainted = (text, value), False
        empty = self.text.strip(SPACES) == ""
        self.write(text if empty else f"{text}\n{self.text}", {} if empty else None)

    def type(self, text: str) -> None:
        self.write(self.text + text)

    edit = complete = write

    def editor_return(self, text: str) -> None:
        self.fill(text, self.pastes) if self.side or self.tainted else self.write(text)

    def accept_suggestion(self, text: str) -> None:
        self.fill(text, self.pastes)

    def paste(self, text: str) -> None:  # 2.10, S10
        if len(text) > 1000 or text.count("\n") > 9:
            names = [f"[Pasted Content {len(text)} chars]" + (f" #{n}" if n > 1 else "") for n in range(1, 99)]
            name = next(name for name in names if name not in self.pastes)
            self.write(self.text + name, {**self.pastes, name: text})
        else:
            self.write(self.text + text)

    def delete_placeholder(self) -> None:
        ends = [(self.text.rfind(name) + len(name), len(name), name) for name in self.pastes if name in self.text]
        if ends:
            end, size, name = max(ends)
            text = self.text[: end - size] + self.text[end:]
            self.write(text, {k: v for k, v in self.pastes.items() if k != name or k in text})
        else:
            self.write(self.text[:-1])

    def attach_image(self, path: str) -> None:
        self.write(self.text, None, [*self.chips, path])

    def detach(self, path: str) -> None:
        self.write(self.text, None, [chip for chip in self.chips if chip != path])

    def clear(self) -> None:
        self.write("", {}, [])

    def undo(self) -> None:  # 2.8
        self.travel(self.undos, self.redos)

    def redo(self) -> None:
        self.travel(self.redos, self.undos)

    def travel(self, source: list[Any], target: list[Any]) -> None:
        if source:
            target.append((self.text, self.pastes, self.chips))
            self.write(*source.pop(), step=False)

    def vim_on(self) -> None:
        self.vim = True
        self.check_vim()

    def vim_off(self) -> None:
        self.vim = False

    # 2.11, S11
    def history_up(self) -> None:
        if not self.shell and self.restore_queue():
            return
        log = self.lines if self.shell else self.log
        if not self.text:
            self.place = None
        if self.place is None and log:
            self.kept = (self.text, self.pastes)
        place = len(log) if self.place is None else self.place
        if place > 0:
            self.place = place - 1
            self.fill(log[self.place])

    def history_down(self) -> None:
        log = self.lines if self.shell else self.log
        if self.place is not None:
            self.place = self.place + 1 if self.place + 1 < len(log) else None
            self.fill(*((log[self.place],) if self.place is not None else self.kept))

    def shell_on(self) -> None:  # 2.7
        if not self.shell:
            self.clear()
        self.shell, self.place = True, None

    def shell_off(self) -> None:
        self.shell, self.place = False, None

    def search_accept(self, text: str) -> None:
        self.fill(text)

    def search_submit(self, text: Any = None) -> None:
        if text is not None:
            self.fill(text)
        self.submit()

    def stash_now(self) -> None:
        self.stash = self.expanded() if self.text.strip(SPACES) else ""

    def put_away(self) -> None:
        if self.text.strip(SPACES) and not self.shell:
            self.shelf.append(self.whole())
            self.stash, self.place = "", None
            self.clear()

    def take_out(self) -> None:
        if self.shelf and not self.text.strip(SPACES) and not self.shell:
            self.stash = self.shelf.pop()
            self.fill(self.stash)

    def rewind(self, text: str) -> None:
        self.place = None
        self.fill(text)

    def restart(self) -> None:
        events, lines, shelf = self.events, self.lines, self.shelf
        self.__init__(self.local, self.bodies, self.log, self.stash)  # type: ignore[misc]
        self.events, self.lines, self.shelf = events, lines, shelf

    def expanded(self) -> str:
        text, out = self.text, ""
        while text and self.pastes:
            name = max((n for n in self.pastes if text.startswith(n)), key=len, default="")
            out, text = out + (self.pastes[name] if name else text[0]), text[len(name) or 1 :]
        return out + text

    def whole(self) -> str:  # row 23
        body = self.expanded()
        return " ".join("@" + chip for chip in self.chips) + "\n\n" + body.strip(SPACES) if self.chips else body

    # 2.3
    def queue_it(self) -> None:
        self.submit(deferred=True)

    def vim_normal_submit(self) -> None:
        self.submit(vouched=False)

    def submit(self, *, deferred: bool = False, vouched: bool = True) -> None:
        if not self.expanded().strip(SPACES):
            return
        shown, body = self.text.strip(SPACES), self.expanded()
        model, value = self.whole(), shown
        if self.tainted or self.vim or not vouched:
            value = None
        elif self.side:
            value = self.side[1] if self.side[0] == model else None
            shown = shown if value is None else value
        self.text, self.pastes, self.chips, self.side, self.tainted = "", {}, [], None, False
        self.undos, self.redos, self.stash, self.place = [], [], "", None
        ready, self.ready = self.ready, None
        model, body = model.strip(SPACES), body.strip(SPACES)
        if shown in QUITS or self.agent:
            return
        if self.shell:
            self.lines.append(body)
            return
        name = self.command(shown)
        if not name and not deferred and not self.turn and model == ready:
            self.log.append(model)
            return
        item = [body if name else self.reminded(model), value, "deferred" if deferred else "plain", name]
        if name and not deferred and (name == "btw" or not self.turn):
            self.start(item)
        else:
            self.queue.append(item)
        self.drain()

    def command(self, text: str) -> str:  # S9
        name = "".join(" " if letter in SPACES else letter for letter in text[1:]).split(" ")[0]
        if text[:1] == "?":
            return name if name == "btw" else ""
        return name if text[:1] == "/" and (name in self.local or name in self.bodies or name == "btw") else ""

    def reminded(self, text: str) -> str:
        text, self.reminder = self.reminder + text, ""
        return text

    def pending_reminder(self, text: str) -> None:
        self.reminder += f"<system-reminder>\n{text}\n</system-reminder>\n\n"

    def speculation_ready(self, text: str) -> None:
        self.ready = self.ready if self.turn else text

    def program_submit(self, text: str) -> None:
        self.ready = None
        text = text.strip(SPACES)
        if text:
            name = self.command(text)
            self.queue.append([text if name else self.reminded(text), None, "plain", name])
            self.drain()

    remote = program_submit

    # 2.4, D19
    def batch(self, items: list[Any]) -> list[Any]:
        values = [item[1] for item in items]
        value = None if None in values else "\n\n".join(values)
        kind = "deferred" if "deferred" in [item[2] for item in items] else "plain"
        return ["\n\n".join(item[0] for item in items), value, kind, ""]

    def restore_queue(self) -> bool:
        items = [item for item in self.queue if not item[3]]
        self.queue = [item for item in self.queue if item[3]]
        if items:
            self.restore(*self.batch(items)[:2])
        return bool(items)

    def drain(self) -> None:
        while self.queue and not self.turn:
            items = [item for item in self.queue if not item[3]]
            if items:
                self.queue = [item for item in self.queue if item[3]]
                self.start(self.batch(items))
            else:
                self.start(self.queue.pop(0))

    def start(self, item: list[Any]) -> None:
        text, value, _, name = item
        if name == "btw":
            self.log.append(text)
            self.last = ("btw", item, len(self.log))
        elif name in self.bodies or not name:
            self.turn = {"row": not name, "item": item, "log": 0 if name else len(self.log) + 1, "after": False}
            self.log += [] if name else [text]
            self.last = ("turn", item, self.turn["log"])
            self.events.append(("UserQuery", self.bodies.get(name, text), value or None))

    def steer_drain(self) -> None:
        taken = [item for item in self.queue if not item[3] and item[2] == "plain"]
        self.queue = [item for item in self.queue if item not in taken]
        self.drained = [[item[0], None, "plain", ""] for item in taken]
        if taken and self.turn:
            self.turn["after"] = True

    def steer_restore(self) -> None:
        self.queue, self.drained = [*self.drained, *self.queue], []

    def admission_failed(self) -> None:
        last, self.last = self.last, None
        if last and last[0] == "btw":
            del self.log[last[2] - 1]
            self.place = None
            self.queue.append([last[1][0], last[1][1], "deferred", "btw"])
        elif last:
            self.events.pop()
            if last[2]:
                del self.log[last[2] - 1]
                self.place = None
            self.queue.insert(0, last[1])
            self.turn = {"row": False, "after": False}

    def tool_result(self) -> None:
        self.events.append(("ToolResult", "", None))
        if self.turn:
            self.turn["after"] = True

    def finish(self) -> None:
        self.turn = self.last = None
        self.drain()

    # 2.6
    def cancel(self, *, output: bool = False, tool_running: bool = False) -> None:
        turn = self.turn
        if not turn:
            return
        draft = self.text.strip(SPACES) != ""
        popped = self.restore_queue()
        self.turn = self.last = None
        if turn["row"] and not (draft or popped or tool_running):
            if not output and not turn["after"] and turn["log"] == len(self.log):
                self.log.pop()
                self.place = None
            self.restore(*turn["item"][:2])
        self.drain()
