"""The program: a command with its options, run to its exit code."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version

from ..chat.engine import AsyncOllamaEngine
from ..core.errors import ServerUnreachableError, TandemError
from .archive import Archive
from .arguments import Arguments, parse_arguments
from .context import show_context
from .current import Current
from .interrupts import Interrupts
from .keyboard import Keyboard, PipedLines, TypedLines
from .listing import render_models
from .place import find_place, open_place
from .pull import pull_model
from .screen import Screen
from .setup import Setup
from .talk import Talk
from .texts import HELP, HINTS
from .upkeep import DEFAULT_USER, UPKEEP, keep_up

__all__ = ["run_program"]

FAILED = 1
"""The exit code of a command that failed."""

WRONG = 2
"""The exit code where the command line can't be followed."""

STOPPED = 130
"""What a shell says of a program that Ctrl-C has ended."""


async def run_program(words: Sequence[str]) -> int:
    """Do what the words of the command line ask for; returns the exit code."""
    screen = Screen(sys.stdout, sys.stderr)
    arguments = parse_arguments(words)
    if isinstance(arguments, str):
        screen.error(arguments)
        return WRONG
    if arguments.command == "help":
        screen.write(HELP[arguments.topic])
        return 0
    if arguments.command == "version":
        screen.write(f"tandem-memory {version('tandem-memory')}\n")
        return 0
    status = WRONG
    try:
        work = prepare(arguments, screen)
        status = FAILED
        return await work()
    except TandemError as error:
        screen.error(error)
        return status


def prepare(arguments: Arguments, screen: Screen) -> Callable[[], Awaitable[int]]:
    """Return what the command does; raises what is wrong with its options."""
    keyboard = open_keyboard(screen)
    interrupts = Interrupts(lambda: screen.remark(HINTS["leave"]))

    async def stoppable(work: Awaitable[None]) -> int:
        return 0 if await interrupts.run(work) else STOPPED

    if arguments.command in UPKEEP:
        return lambda: stoppable(keep_up(arguments, screen, keyboard))
    setup = Setup(arguments)
    engine = AsyncOllamaEngine(setup.find(arguments.model))
    if arguments.command == "models":
        return lambda: stoppable(list_models(setup, screen))
    if arguments.command == "pull":
        return lambda: stoppable(pull_model(engine, screen))
    if arguments.command == "context":
        return lambda: stoppable(show_context(arguments, setup, engine, screen, keyboard))
    shown = keyboard.interactive if arguments.shown is None else arguments.shown

    async def talk() -> int:
        place = find_place(arguments.store)
        with open_place(place, make=True) as store:
            archive = Archive(store, arguments.user or DEFAULT_USER, screen, keyboard)
            wish = arguments.session
            current = await Current.open(setup, archive, engine, place=place, wish=wish)
            talk = Talk(
                setup,
                current,
                archive,
                keyboard=keyboard,
                screen=screen,
                interrupts=interrupts,
                shown=shown,
            )
            try:
                return await talk.run()
            finally:
                await current.chat.close()

    return talk


async def list_models(setup: Setup, screen: Screen) -> None:
    """Print the model entries; raises the error of a server that does not answer, at the end."""
    installed: dict[str, list[str] | None] = {}
    problem: ServerUnreachableError | None = None
    for entry in setup.entries:
        if entry.host not in installed:
            try:
                installed[entry.host] = await AsyncOllamaEngine(entry).models()
            except ServerUnreachableError as error:
                installed[entry.host], problem = None, error
    screen.write(render_models(setup.entries, installed))
    if problem:
        raise problem


def open_keyboard(screen: Screen) -> Keyboard:
    """Return where lines come from: a keyboard, where both ends are a terminal."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return TypedLines(screen)
    return PipedLines(sys.stdin.buffer)
