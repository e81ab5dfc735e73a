"""`firsthand demo`: three turns through the real client, and what each of its memories kept of them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .demo_turns import Send, Trail, Turn
from .failures import Command, Failure, lacking

if TYPE_CHECKING:
    from openai import OpenAI

    from ..app import Middleware

__all__ = ["demo"]

_TYPED = (
    "why is CI red?",
    "rerun the test that fails on brontes",
    "which runner has more memory than that one?",
)
_MEMORIES = (
    ("CI runner", "The CI runner is called brontes and has 4 GB of memory."),
    ("big runner", "The runner argus has more memory: 64 GB, ask Priya first."),
    ("answers", "I like short answers without a preamble."),
)
_HOOK = '''\
"""A UserPromptSubmit hook: reads the payload on stdin, answers with context for the model."""
import json, sys

payload = json.load(sys.stdin)
context = f"""branch: fix/upload <2 ahead of main>
CI run 4812: red, test_upload failed on runner brontes
deploy freeze until Monday, on call: Priya
(the hook was given {len(payload["prompt"])} characters)"""
print(json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}}))
'''
_SYSTEM = "You answer questions about a software project, in one sentence."
_ROUNDS = 4
_USER = "ada"


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the turns as one JSON object.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Save the output as a picture too.")
@click.option("--base-url", metavar="URL", help="Use a real server; its key is taken from OPENAI_API_KEY.")
@click.option("--model", metavar="NAME", help="Model of the real server.")
@click.option("--dashboard", is_flag=True, help="Show the turns on the dashboard's pages too, until Ctrl+C.")
def demo(as_json: bool, svg: Path | None, base_url: str | None, model: str | None, dashboard: bool) -> None:
    """Show three turns: what was typed, what the model received, and what everything else remembers.

    Needs no key, network or server: the real openai client talks to a small local model in this process. A command
    hook, a memory store, a transcript and spans are real; the files stay in a temporary folder, named at the end.
    """
    if find_spec("openai") is None:
        raise lacking("the demo", "openai", "openai")
    real = base_url is not None or model is not None
    if real and not model:
        raise click.UsageError("--base-url needs --model NAME")
    if real and not os.environ.get("OPENAI_API_KEY"):
        raise click.UsageError("a real server needs a key: set OPENAI_API_KEY (any word, if the server wants none)")
    if svg is not None:
        _check_writable(svg)
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        # A switched-off SDK or an attribute limit of this machine would leave holes in what is shown.
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="firsthand-demo-"))
    trail = Trail()
    with contextlib.ExitStack() as stack:
        url = None
        if dashboard:
            from .beside import beside

            place = beside(trail.provider, db=folder / "dashboard.db", transcripts=folder / "transcripts")
            url = stack.enter_context(place)
        _shown(folder, trail, base_url=base_url, model=model if real else None, as_json=as_json, svg=svg)
        if url is not None:
            click.echo(f"Dashboard: {url}  (Ctrl+C ends it)", err=as_json)
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()


def _check_writable(svg: Path) -> None:
    """Raise `OSError` for a picture that cannot be saved there, before anything is done; leaves what there is."""
    known = svg.exists()
    with svg.open("ab"):
        pass
    if not known:
        # Not the link that may lead to it.
        svg.resolve().unlink()


def _shown(
    folder: Path, trail: Trail, *, base_url: str | None, model: str | None, as_json: bool, svg: Path | None
) -> None:
    """Make the turns and print them; `model` None is the local one."""
    import openai

    from .demo_model import MODEL

    try:
        with _middleware(folder, trail) as app:
            client = _client(trail, base_url, model is not None)
            turns = list(_conversation(app, client, model or MODEL, trail))
            transcript = app.open("demo", user=_USER).transcript_path
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, openai.OpenAIError):
            raise
        raise Failure(f"the server did not answer: {error}; check --base-url, --model and OPENAI_API_KEY") from error
    shown = [turn.as_json() for turn in trail.resumed(turns, Path(transcript))]
    from .screen import console, print_json

    if not as_json or svg is not None:
        from .demo_screen import picture, render

        out = console(record=svg is not None, file=io.StringIO() if as_json else None)
        render(turns, trail, transcript, out)
        if svg is not None:
            svg.write_text(picture(out), encoding="utf-8")
    if as_json:
        print_json({"turns": shown, "transcript": transcript})


def _conversation(app: Middleware, client: OpenAI, model: str, trail: Trail) -> Iterator[Turn]:
    """Type each line, do what the model asks for, and keep the history as any application does: without our text."""
    from .demo_model import TOOLS, call_tool

    chat: Any = app.wrap(client)
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    with app.session("demo", user=_USER):
        for typed in _TYPED:
            messages.append({"role": "user", "content": typed})
            sends: list[Send] = []
            for _ in range(_ROUNDS):
                reply = chat.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
                sends.append(trail.send(app.store, _USER))
                messages.append(reply.model_dump(exclude_none=True))
                if not reply.tool_calls:
                    break
                for call in reply.tool_calls:
                    result = call_tool(call.function.name, call.function.arguments)
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            yield Turn(typed=typed, sends=sends, answer=reply.content or "")


def _middleware(folder: Path, trail: Trail) -> Middleware:
    """A middleware with everything on, in `folder`, deaf to the settings of the place where the demo is run."""
    from recall_store import Record, open_store

    from ..app import Middleware
    from ..settings import Settings

    script, hooks = folder / "hook.py", folder / "hooks.json"
    script.write_text(_HOOK, encoding="utf-8")
    command = f"{shlex.quote(sys.executable or 'python3')} -I -S {shlex.quote(str(script))}"
    entry = {"type": "command", "name": "project-state", "command": command}
    hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}), encoding="utf-8")
    url = f"sqlite:///{folder / 'memories.db'}"
    with open_store(url, "hash") as store:
        store.upsert(namespace=_USER, records=[Record(title=title, text=text) for title, text in _MEMORIES])
    return Middleware(
        Settings(
            hooks_file=str(hooks),
            transcripts=str(folder / "transcripts"),
            store=url,
            capture_content="SPAN_ONLY",
            # A cold start on a slow machine is no reason to show a demo without its memories.
            recall_timeout=5.0,
        ),
        tracer_provider=trail.provider,
    )


def _client(trail: Trail, base_url: str | None, real: bool) -> OpenAI:
    """The real client; its HTTP client notes what is sent, and for the local model never leaves the process."""
    import httpx2
    from openai import OpenAI

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [lambda request: trail.noted(_body(request))]}
    if real:
        return OpenAI(base_url=base_url, http_client=httpx2.Client(event_hooks=hooks, timeout=120))
    from .demo_model import answer

    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=answer(_body(request))))
    http = httpx2.Client(transport=transport, event_hooks=hooks)
    return OpenAI(base_url="http://local.invalid/v1", api_key="none-needed", http_client=http)


def _body(request: Any) -> Mapping[str, Any]:
    with contextlib.suppress(ValueError):
        body = json.loads(request.content)
        if isinstance(body, dict):
            return body
    return {}
