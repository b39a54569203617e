"""`tandem-memory context`: the window of a stored session, as its next question would find it."""

from __future__ import annotations

from typing import TypedDict

from ..chat.engine import AsyncEngine
from ..chat.settings import ModelEntry
from ..core.explanation import Explanation
from ..storage.jsonfile import document_text
from ..storage.records import Session
from .archive import Archive
from .arguments import Arguments
from .keyboard import Keyboard
from .place import find_place, open_place
from .screen import Screen
from .setup import Setup
from .table import render_context
from .texts import HINTS
from .upkeep import DEFAULT_USER

__all__ = ["ContextDocument", "context_document", "show_context"]


class ContextDocument(TypedDict):
    """A session's window for programs.

    `model`: the name of the model that would be asked. `num_ctx`: its context in tokens, of which
    `answer_tokens` are kept free for the answer. `explanation`: as `MemoryManager.explain` tells.
    """

    user_id: str
    session_id: str
    model: str
    num_ctx: int
    answer_tokens: int
    explanation: Explanation


async def show_context(
    given: Arguments, setup: Setup, engine: AsyncEngine, screen: Screen, keyboard: Keyboard
) -> None:
    """Do the command; raises what is in its way. The engine's model is not asked."""
    with open_place(find_place(given.store), make=False) as store:
        archive = Archive(store, given.user or DEFAULT_USER, screen, keyboard)
        session = archive.find(given.session)
        if session is None:
            screen.remark(HINTS["nothing_stored"])
            return
        # To open a session that is there only reads it.
        chat = await setup.open(engine, archive, session["session_id"])
        explanation = chat.memory.explain()
        if given.json:
            screen.write(document_text(context_document(session, engine.entry, explanation)))
        else:
            screen.write(render_context(explanation, screen.columns))


def context_document(
    session: Session, entry: ModelEntry, explanation: Explanation
) -> ContextDocument:
    """Return what `--json` prints."""
    return {
        "user_id": session["user_id"],
        "session_id": session["session_id"],
        "model": entry.model,
        "num_ctx": entry.num_ctx,
        "answer_tokens": entry.answer_tokens,
        "explanation": explanation,
    }
