"""`firsthand chat`: talk to a model with your hooks and memories, and see what they added."""

from __future__ import annotations

import asyncio
import shlex
import sys
import uuid
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .failures import Command, Failure, lacking, plain

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from ..app import Middleware
    from ..chat.terminal.talk import Talk
    from ..chat.terminal.wire import Wire
    from ..hooks import Hook
    from ..session import Session
    from ..settings import Settings

__all__ = ["chat"]


@click.command(cls=Command)
@click.option("-p", "--prompt", metavar="TEXT", help="Send TEXT, print the reply and leave.")
@click.option("--model", metavar="NAME", help="Model of the server.")
@click.option("--base-url", metavar="URL", help="A server that speaks OpenAI's API; a key is in OPENAI_API_KEY.")
@click.option("--resume", metavar="ID", help="Go on with this session; `firsthand transcript list` names them.")
@click.option("--continue", "goes_on", is_flag=True, help="Go on with the session that was used last.")
@click.option("--no-tools", is_flag=True, help="Do not let the model read and search files of this folder.")
@click.option("--dashboard", is_flag=True, help="Show the turns on the dashboard's pages too, while the chat runs.")
@click.option("--vim", is_flag=True, help="Edit with Vim's keys; nothing that you write is attributed then.")
@click.option(
    "--theme",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours for a light or a dark background; auto goes by COLORFGBG. NO_COLOR=1 has none.",
)
def chat(
    prompt: str | None,
    model: str | None,
    base_url: str | None,
    resume: str | None,
    goes_on: bool,
    no_tools: bool,
    dashboard: bool,
    vim: bool,
    theme: Literal["auto", "light", "dark"],
) -> None:
    """Talk to a model, with the hooks that `firsthand hooks list` shows and the settings' memories and transcripts.

    Without a key and a --base-url a small local model answers, which knows nothing but what it was sent.
    """
    # Looked for and not loaded: that takes longer than all else before the first prompt.
    if find_spec("openai") is None:
        raise lacking("the chat", "openai", "chat,openai")
    from ..chat.terminal.talk import Talk
    from ..chat.terminal.wire import Wire
    from ..hooks.sources import config_folder
    from .chat_client import client_of
    from .chat_sessions import last_session, opened
    from .hooks import here, home_folder

    if prompt is None:
        _needs_a_terminal()
    elif not prompt.strip():
        raise click.UsageError("-p is blank; give it a text to send")
    elif dashboard:
        raise click.UsageError(
            "-p ends with its answer, and the pages of --dashboard with it; run `firsthand dashboard`, which follows "
            "the setting transcripts"
        )
    if resume is not None and goes_on:
        raise click.UsageError("--resume ID and --continue are two sessions; give one of them")
    resumes = resume is not None or goes_on
    wire = Wire()
    client, name = client_of(wire, base_url=base_url, model=model)
    settings, hooks = _configured("resume" if resumes else "startup")
    home = config_folder(home_folder())
    if (prompt is None or resumes) and settings.transcripts is None:
        settings = replace(settings, transcripts=str(home / "chat" / "transcripts"))
    provider = wire.provider()
    with ExitStack() as stack:
        app = stack.enter_context(closing(_middleware(provider, settings, hooks)))
        if dashboard:
            from .beside import beside

            kept = Path(settings.transcripts or home / "chat" / "transcripts")
            url = stack.enter_context(beside(provider, db=home / "chat" / "dashboard.db", transcripts=kept))
            click.echo(f"Dashboard: {url}")
        if resumes:
            session = opened(app, resume if resume is not None else last_session(settings))
        else:
            session = app.open(str(uuid.uuid4()), user=settings.user)
        talk = Talk(app, client, name, session, resumed=resumes, folder=None if no_tools else here())
        if prompt is not None:
            asyncio.run(_once(app, talk, prompt))
            return
        asyncio.run(_converse(app, talk, session, wire, hooks, home, vim, theme))


async def _converse(
    app: Middleware,
    talk: Talk,
    session: Session,
    wire: Wire,
    hooks: tuple[Hook, ...],
    home: Path,
    vim: bool,
    theme: Literal["auto", "light", "dark"],
) -> None:
    from ..chat.commands import load
    from ..chat.terminal.files import Files
    from .chat_sessions import show_past
    from .chat_terminal import Terminal
    from .chat_theme import theme_of
    from .hooks import here
    from .screen import program, warn

    folder = here()
    commands, notices = load([home / "commands", folder / ".firsthand" / "commands"])
    for notice in notices:
        warn(notice)
    terminal = Terminal(
        app=app,
        talk=talk,
        session=session,
        wire=wire,
        files=Files(home / "chat"),
        folder=folder,
        hooks=hooks,
        commands=commands,
        vim=vim,
        theme=theme_of(theme),
    )
    async with talk:
        await terminal.screen.say("firsthand chat: /help lists the keys, /context shows what a turn was given", "dim")
        if talk.messages:
            await show_past(terminal.screen, session)
        await terminal.run()
    if talk.messages:
        click.echo(f"Go on with it: {program()} chat --resume {shlex.quote(terminal.session.id)}")


async def _once(app: Middleware, talk: Talk, prompt: str) -> None:
    """One turn, without a `submitted_prompt`: a program's argument crosses no input boundary (S15)."""
    from contextlib import aclosing

    from ..chat.terminal.reply import Called
    from ..chat.terminal.talk import Done, TurnFailed
    from ..provenance import Origin
    from .chat_tools import called
    from .screen import warn

    printed = False
    try:
        with app.origin(Origin.USER_QUERY):
            async with talk, aclosing(talk.ask(prompt)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Called):
                        warn(called(piece))
                    elif not isinstance(piece, Done):
                        click.echo(plain(piece), nl=False)
                        printed = True
    except TurnFailed as error:
        raise Failure(str(error)) from error
    finally:
        if printed:
            click.echo()


def _needs_a_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("the chat needs a terminal; send one text with -p TEXT")
    try:
        import prompt_toolkit  # noqa: F401
    except ImportError:
        raise lacking("the chat", "prompt_toolkit", "chat,openai") from None


def _configured(start: str) -> tuple[Settings, tuple[Hook, ...]]:
    """The settings, and the hooks that the command line runs here; what is wrong with them goes to stderr."""
    from ..settings import Settings
    from .hooks import survey_here
    from .screen import warn

    found = survey_here(None).hooks
    for line in found.warnings:
        warn(line)
    hooks = (*found.for_event("UserPromptSubmit"), *found.for_event("SessionStart", start))
    # The survey has read the hooks file of the settings already, and knows whether it is trusted.
    return replace(Settings.load(), hooks_file=None), hooks


def _middleware(provider: TracerProvider, settings: Settings, hooks: tuple[Hook, ...]) -> Middleware:
    from ..app import Middleware

    return Middleware(settings, hooks=hooks, tracer_provider=provider)
