"""A conversation in the terminal: lines come in, answers and remarks go out."""

from __future__ import annotations

from ..chat.engine import AsyncOllamaEngine
from ..chat.exchange import Reply
from ..chat.settings import ModelEntry
from ..core.errors import ModelNotFoundError, SessionBusyError, TandemError
from .answer import AnswerText
from .archive import Archive
from .commands import parse_line
from .current import Current
from .interrupts import Interrupts
from .keyboard import Keyboard
from .pull import pull_model
from .screen import Screen
from .setup import Setup
from .table import render_context
from .texts import BANNER, CHAT_HELP, HINTS
from .width import clip, one_line, visible

__all__ = ["Talk"]

QUOTED = 60
"""The columns that a question has when a remark names it."""


class Talk:
    """A conversation in the current session, which `run` holds to its end.

    `shown`: whether the model's thinking is printed.
    """

    def __init__(
        self,
        setup: Setup,
        current: Current,
        archive: Archive,
        *,
        keyboard: Keyboard,
        screen: Screen,
        interrupts: Interrupts,
        shown: bool,
    ) -> None:
        self._setup = setup
        self._current = current
        self._archive = archive
        self._keyboard = keyboard
        self._screen = screen
        self._interrupts = interrupts
        self._shown = shown
        self._status = 0

    async def run(self) -> int:
        """Read lines until the end; returns the exit code.

        In a terminal it is 0; from a pipe it is 1 where a line failed or was stopped.
        """
        if self._keyboard.interactive:
            model, session = describe(self._current.engine.entry), visible(self._current.opening)
            self._screen.write(f"Tandem Memory: {model}\n{session}\n{BANNER}\n\n")
            await self._check_model()
        while (line := await self._keyboard.read()) is not None:
            entry = parse_line(line)
            if entry.kind == "message":
                await self._ask(entry.text)
            elif entry.kind == "problem":
                self._status = 1
                self._screen.error(entry.text)
            elif entry.text == "bye":
                break
            elif entry.kind == "command":
                try:
                    await self._obey(entry.text, entry.argument)
                except TandemError as error:
                    self._status = 1
                    self._screen.error(tell(error))
        return 0 if self._keyboard.interactive else self._status

    async def _ask(self, question: str) -> None:
        self._current.failed = question
        if not self._keyboard.interactive:
            # The next line of a pipe is there already, and would leave no time for it.
            await self._interrupts.run(self._current.summarize())
        answer = AnswerText(styled=self._screen.styled, shown=self._shown)

        def think(piece: str) -> None:
            self._screen.write(answer.add(thinking=piece))

        stream = self._current.chat.stream(question, on_thinking=think)

        async def show() -> None:
            async with stream:
                async for piece in stream:
                    self._screen.write(answer.add(content=piece))

        problem: TandemError | None = None
        try:
            await self._interrupts.run(show())
        except TandemError as error:
            problem = error
        self._screen.write(answer.end())
        if stream.reply:
            self._current.failed = None
            self._remark_reply(stream.reply)
        elif isinstance(problem, ModelNotFoundError) and await self._offer_pull(problem):
            await self._ask(question)
        else:
            self._remark_failure(problem)

    def _remark_reply(self, reply: Reply) -> None:
        if reply.interrupted:
            self._status = 1
            self._screen.remark(HINTS["stopped"])
        elif reply.done_reason == "length":
            self._screen.remark(HINTS["cut_off"])
        if reply.truncation:
            self._screen.error(reply.truncation)

    def _remark_failure(self, problem: TandemError | None) -> None:
        """Print why there is no answer, and how to ask again where somebody is there to do it."""
        self._status = 1
        retry = f" ({HINTS['retry']})" if self._keyboard.interactive else ""
        if problem:
            self._screen.error(f"{tell(problem)}{retry}")
        else:
            self._screen.remark(f"{HINTS['stopped_early']}{retry}")

    async def _check_model(self) -> None:
        """Say before the first question what would stop it."""

        async def check() -> None:
            await self._current.engine.show()

        try:
            await self._interrupts.run(check())
        except TandemError as problem:
            missing = isinstance(problem, ModelNotFoundError)
            if not (missing and await self._offer_pull(problem)):
                self._screen.error(problem)

    async def _offer_pull(self, error: ModelNotFoundError) -> bool:
        """Ask whether to fetch the model that is not there; returns whether it is there now."""
        question = f"{error.host} has no model {error.model}. Pull it now?"
        if not await self._keyboard.confirm(question, enter=True):
            return False
        try:
            pulled = await self._interrupts.run(pull_model(self._current.engine, self._screen))
        except TandemError as problem:
            self._screen.error(problem)
            return False
        if not pulled:
            self._screen.remark(HINTS["pull_stopped"])
        return pulled

    async def _obey(self, command: str, argument: str) -> None:
        match command:
            case "clear":
                await self._current.chat.clear()
                self._current.failed = None
                self._screen.remark(HINTS["cleared"])
            case "context":
                explanation = self._current.chat.memory.explain()
                self._screen.write(render_context(explanation, self._screen.columns) + "\n")
            case "export":
                self._current.export(argument or None)
            case "forget":
                if await self._archive.forget(None, sure="" if argument else "/forget yes"):
                    await self._enter(None)
            case "history":
                limit = int(argument) if argument else None
                self._archive.show_session(self._current.session_id, limit)
            case "model":
                await self._change_model(argument)
            case "new":
                if argument or not self._current.is_empty():
                    await self._enter(argument or None)
                else:
                    self._screen.remark(HINTS["empty"])
            case "retry":
                if self._current.failed is None:
                    self._screen.remark(HINTS["no_failure"])
                else:
                    await self._ask(self._current.failed)
            case "sessions":
                self._archive.list_sessions(self._current.session_id)
            case "think":
                self._change_thinking(argument)
            case "undo":
                await self._undo()
            case _:
                self._screen.write(CHAT_HELP + "\n")

    async def _enter(self, session_id: str | None) -> None:
        await self._current.enter(session_id)
        self._screen.remark(self._current.opening)

    async def _change_model(self, path: str) -> None:
        if path:
            await self._current.use(AsyncOllamaEngine(self._setup.find(path)))
        self._screen.remark(describe(self._current.engine.entry))
        if path and self._keyboard.interactive:
            await self._check_model()

    def _change_thinking(self, wish: str) -> None:
        if wish:
            self._setup.think = wish == "on"
            path = self._current.engine.entry.path
            self._current.engine = AsyncOllamaEngine(self._setup.find(path))
        think = self._current.engine.entry.think
        name = "think_unset" if think is None else "think_on" if think else "think_off"
        self._screen.remark(HINTS[name])

    async def _undo(self) -> None:
        """Forget the last question: the one that failed, or else the last turn."""
        question, self._current.failed = self._current.failed, None
        if question is None:
            messages = await self._current.chat.undo()
            question = messages[0]["content"] if messages else None
        if question is None:
            self._screen.remark(HINTS["nothing_to_undo"])
        else:
            self._screen.remark(f"Forgotten: {clip(one_line(question), QUOTED)}")


def tell(problem: TandemError) -> str:
    """Return what an error says; where another has the session, what to do in a terminal."""
    return HINTS["busy"] if isinstance(problem, SessionBusyError) else str(problem)


def describe(entry: ModelEntry) -> str:
    """Return a model's path, name and server; a path that is the name is not said twice."""
    if entry.path == entry.model:
        return f"{entry.model} at {entry.host}"
    return f"{entry.path} ({entry.model} at {entry.host})"
