"""The session of the OpenAI Agents SDK that lives in memory: `SQLiteSession` without a path.

Around a model call its runner gets the newest items (`SessionSettings(limit=…)`), then adds the
question and the reply. Instructions are the agent's, so the session holds no system message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents import SQLiteSession
from agents.memory import SessionSettings


class Agents:
    """A chat over it."""

    name = "OpenAI Agents SDK `SQLiteSession`"

    def __init__(self, history: Sequence[dict[str, str]]) -> None:
        settings = SessionSettings(limit=len(history) - 1)
        self.session = SQLiteSession("benchmark", session_settings=settings)
        self.runner = asyncio.Runner()
        self.runner.run(self.session.add_items(list(history[1:])))

    def run(self, turns: Sequence[tuple[str, str]]) -> None:
        """Chat for some turns."""
        self.runner.run(self._run(turns))

    async def _run(self, turns: Sequence[tuple[str, str]]) -> None:
        for question, reply in turns:
            await self.session.get_items()
            await self.session.add_items([{"role": "user", "content": question}])
            await self.session.add_items([{"role": "assistant", "content": reply}])
