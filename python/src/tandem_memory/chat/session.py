"""`Chat`: a conversation with a model that remembers, question by question.

A question is in the window before the model is called. Where the call fails, the memory is as it
was before the question, and asking again doubles nothing. Where the reader stops in mid-answer, the
part that came is kept and marked `interrupted`; if no text came, the question has failed.

One question is answered at a time. Another that is asked meanwhile waits while somebody waits for
the model; a stream that nobody is reading just then is interrupted by it, and its part kept.

A chat that was opened on a store writes all of it there: the question before the model is called,
failed ones too. It then holds the session's lease for the turn, so that chats of other processes
wait until it has ended, and takes over what they have made of the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from types import EllipsisType
from typing import Self

from ..core.errors import ContextTruncatedError, ModelNotFoundError, ServerFailedError
from ..core.frame import Place
from ..core.messages import Message
from ..core.tokens import estimate_tokens
from ..core.turns import CountTokens
from ..storage.store import Store
from .backlog import MOST_TURNS
from .conversation import Conversation, Outcome
from .correction import Corrections
from .engine import Engine, OllamaEngine
from .events import ChatEvent
from .exchange import Exchange, Question, Reply
from .settings import ModelEntry
from .stored import StoredJournal
from .stream import ChatStream
from .summarizer import Making

__all__ = ["Chat"]


class Chat(Conversation[Engine]):
    """A chat for programs that wait; see `Conversation` for what it takes."""

    _make_engine = OllamaEngine
    _make_lock = threading.Lock
    _lock: threading.Lock
    _open: ChatStream | None = None
    _summary: tuple[Making | None, threading.Thread | None] = None, None

    @classmethod
    def open(
        cls,
        store: Store,
        user_id: str,
        session_id: str | None = None,
        *,
        model: ModelEntry | Engine,
        wait_milliseconds: int = 30_000,
        lease_milliseconds: int = 10_000,
        system_prompt: str | None = None,
        max_turns: int | EllipsisType | None = ...,
        trim_to: int | EllipsisType | None = ...,
        max_tokens: int | EllipsisType | None = ...,
        count_tokens: CountTokens = estimate_tokens,
        tools: Sequence[Mapping[str, object]] = (),
        corrections: Corrections | None = None,
        summarize: bool = False,
        summary_tokens: int = 256,
        recall: Callable[[str], str | None] | None = None,
        context: Place = "system",
        on_event: Callable[[ChatEvent], object] | None = None,
    ) -> Self:
        """Open a user's session, with its window as it was left, and go on with it.

        `session_id`: an id that the user has no session of is given to a new one; None makes a new
            session of an id of its own. To go on with the newest, see `Store.list_sessions`.
        `system_prompt`: wins over the stored one; None takes that, `""` is none.
        `wait_milliseconds`: how long a question waits while another process has the session, before
            it raises `SessionBusyError`.
        `lease_milliseconds`: how long others wait for a process that died in mid-answer.

        The rest is as in `Conversation`. What the store raises is raised by each call; an answer
        that it does not take raises `ReplyNotStoredError`.
        """
        self = cls(
            model,
            system_prompt=system_prompt,
            max_turns=max_turns,
            trim_to=trim_to,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
            tools=tools,
            corrections=corrections,
            summarize=summarize,
            summary_tokens=summary_tokens,
            recall=recall,
            context=context,
            on_event=on_event,
        )
        self._journal = StoredJournal.open(
            self._new_memory,
            store,
            user_id,
            session_id,
            system_prompt=system_prompt,
            wait_milliseconds=wait_milliseconds,
            lease_milliseconds=lease_milliseconds,
            most_waiting=MOST_TURNS if summarize else 0,
        )
        return self

    def ask(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002 - Ollama's own name for it
        on_thinking: Callable[[str], object] | None = None,
    ) -> Reply:
        """Ask, wait for the whole answer and return it; `stream` says the rest."""
        stream = self.stream(content, images=images, format=format, on_thinking=on_thinking)
        return stream.read()

    def stream(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        on_thinking: Callable[[str], object] | None = None,
    ) -> ChatStream:
        """Ask, and return the answer's text as a stream, which begins with its first piece.

        `content`: the question. None goes on after tool results: where a reply has `tool_calls`,
            add each result with `add_tool_message` and ask None.
        `images`: base64 texts. `format`: a JSON schema (or `"json"`) that the answer keeps to.
        `on_thinking`: called with each piece of the model's thinking, which is no part of the text.

        Raises `BudgetExceededError` where the window can't hold the question, `NoAnswerError` where
        the model says nothing, and what `Engine.stream` raises.
        """
        question = Question(content=content, images=images, format=format, on_thinking=on_thinking)
        return ChatStream(partial(self._answer, question), self._lock)

    def add_tool_message(
        self, content: str, *, tool_name: str | None = None, tool_call_id: str | None = None
    ) -> list[Message]:
        """Add a tool's result; see `MemoryManager.add_tool_message`."""
        with self._alone():
            dropped = self._add_result(content, tool_name, tool_call_id)
        self._teller.tell()
        return dropped

    def clear(self) -> None:
        """Empty the conversation; the system prompt stays."""
        with self._alone():
            self._clear()

    def undo(self) -> list[Message]:
        """Drop the last turn of the window and return its messages."""
        with self._alone():
            return self._undo()

    def summarize(self) -> bool:
        """Summarise the turns that the next trim is to drop, and those that left unsummarised.

        The model is asked by a thread of its own; the chat may go on meanwhile, and a question ends
        it. The summary takes its place in the system message together with the trim, where it has
        room; a stored chat saves it then. Returns whether one was made: False where there is
        nothing to summarise, and where it failed, which changes nothing and can be tried again.
        With `summarize` on it is called after every answer.
        """
        with self._lock:
            self._start_summary()
        return self.settle()

    def settle(self) -> bool:
        """Wait until no summary is being made; returns whether the last one was."""
        making, worker = self._summary
        if worker:
            worker.join()
        return making is not None and making.kept

    def close(self) -> None:
        """Stop a summary being made, and an answer left unread; the chat may go on all the same."""
        with self._lock:
            self._interrupt()

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Wait until nobody waits for the model, and interrupt what is left unread."""
        with self._lock:
            self._interrupt()
            try:
                self._hold()
                yield
            finally:
                self._journal.release()

    def _hold(self) -> None:
        for pause in self._journal.hold():
            time.sleep(pause)

    def _interrupt(self) -> None:
        # The summary's thread sees it at the next piece, and hangs up; nobody waits for that.
        self._summarizer.making, self._summary = None, (None, None)
        if self._open:
            self._open.close()

    def _answer(self, question: Question, stream: ChatStream) -> Generator[str]:
        self._interrupt()
        self._open = stream
        outcome: Outcome = "interrupted"
        try:
            self._hold()
            self._ask(question)
            self._look()
            exchange: Exchange | None = self._begin(question)
            while exchange:
                try:
                    yield from self._read(exchange)
                    exchange = None
                except ContextTruncatedError as error:
                    exchange = self._again(exchange, error)
            outcome = "finished"
        except Exception:
            outcome = "failed"
            raise
        finally:
            try:
                stream.reply = self._end(outcome)
                finished = outcome == "finished"
                if finished and self._summarizes and self._summarizer.count_answer():
                    self._start_summary()
            finally:
                self._teller.tell()

    def _look(self) -> None:
        if self._is_unseen():
            try:
                info = self.engine.show()
            except ModelNotFoundError:  # the question will tell, and it may be pulled then
                return
            except ServerFailedError:  # it may answer all the same
                info = None
            self._see(info)

    def _read(self, exchange: Exchange) -> Generator[str]:
        question = exchange.question
        if self._recall and self._asks_recall(exchange):
            self._put_context(exchange, self._recall(question.content or ""))
        reply = self.engine.stream(
            exchange.messages, tools=self.tools, format=question.format, entry=exchange.entry
        )
        with closing(reply) as deltas:
            for delta in deltas:
                shown = exchange.take(delta)
                if shown.thinking and question.on_thinking:
                    question.on_thinking(shown.thinking)
                if shown.content:
                    yield shown.content

    def _start_summary(self) -> None:
        making, worker = self._plan(), None
        if making:
            worker = threading.Thread(target=self._make_summary, args=(making,), daemon=True)
            worker.start()
        self._summary = making, worker

    def _make_summary(self, making: Making) -> None:
        try:
            with closing(self.engine.stream(making.messages, entry=making.entry)) as deltas:
                for delta in deltas:
                    if self._summarizer.making is not making:
                        return
                    making.take(delta)
            with self._lock:
                self._keep(making)
        except Exception as error:  # noqa: BLE001 - the chat goes on as it would without a summary
            self._failed(making, error)
