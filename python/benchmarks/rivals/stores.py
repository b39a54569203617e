"""Chats on disk: the stores of three libraries, and the least that SQLite itself can do.

Each keeps one session in one SQLite file, in WAL mode with `synchronous` FULL. Two of them leave
the latter to SQLite's default, which `storage.py` makes sure of.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from agents import SQLiteSession
from agents.memory import SessionSettings
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver

from tandem_memory.core.values import canonical_json
from tandem_memory.storage.records import Session
from tandem_memory.storage.sqlite import SqliteStore

Message = dict[str, str]

WINDOW = 40
"""How many messages a window of 20 turns has, the default of `Chat`."""

IDS = "user", "session"


class Floor:
    """A bare INSERT a transaction, and a SELECT of the newest rows by their key."""

    name = "SQLite's floor"
    longest = 1_000_000

    def __init__(self, path: Path) -> None:
        self.path = path.with_suffix(".floor")

    def fill(self, messages: Sequence[Message]) -> None:
        """Make the file with these messages."""
        self.connect()
        self.connection.execute(
            """CREATE TABLE messages (message_no INTEGER PRIMARY KEY, session_no INTEGER NOT NULL,
seq INTEGER NOT NULL, message TEXT NOT NULL, UNIQUE (session_no, seq)) STRICT"""
        )
        self.connection.execute("BEGIN")
        for message in messages:
            self.append(message)
        self.connection.execute("COMMIT")
        self.close()

    def connect(self) -> None:
        """Open the file."""
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.seq = 0

    def read(self) -> int:
        """Read the session and return how many messages that gave."""
        sql = "SELECT seq, message FROM messages WHERE session_no = 1 ORDER BY seq DESC LIMIT ?"
        rows = self.connection.execute(sql, (WINDOW,)).fetchall()
        self.seq = rows[0][0]
        return len([json.loads(text) for _, text in rows])

    def append(self, message: Message) -> None:
        """Store one more message for good."""
        self.seq += 1
        sql = "INSERT INTO messages (session_no, seq, message) VALUES (1, ?, ?)"
        self.connection.execute(sql, (self.seq, json.dumps(message)))

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


class Tandem:
    """`SqliteStore`, called as `Chat` calls it: a pending question, then the reply and the window.

    `leased`: also take the session's lease before each question and give it back after the reply,
    as `Chat` does; those are two transactions more.
    """

    longest = 1_000_000

    def __init__(self, path: Path, *, leased: bool = False) -> None:
        self.name = f"Tandem Memory{', with the lease of `Chat`' if leased else ''}"
        self.path = path.with_suffix(".leased" if leased else ".tandem")
        self.holder = "benchmark" if leased else None
        self.session: Session

    def fill(self, messages: Sequence[Message]) -> None:
        """Make the file with the rows that as many appends would have written, but all at once."""
        with SqliteStore(self.path, clock=lambda: 0) as store:
            at = store.create_session(*IDS)["created_at"]
        rows = [(i, at, canonical_json({**text})) for i, text in enumerate(messages, 1)]
        turns = [(i // 2, i - 1, i, at) for i in range(2, len(rows) + 1, 2)]
        window = json.dumps([[max(1, len(rows) - WINDOW + 1), len(rows)]], separators=(",", ":"))
        connection = sqlite3.connect(self.path)
        with connection:
            connection.executemany(
                """INSERT INTO messages (session_no, seq, removed, created_at, message)
VALUES (1, ?, 0, ?, ?)""",
                rows,
            )
            connection.executemany("INSERT INTO turns VALUES (1, ?, 'complete', 0, ?, ?, ?)", turns)
            sql = "UPDATE sessions SET window_ranges = ?, last_seq = ?, last_turn = ?, revision = ?"
            connection.execute(sql, (window, len(rows), len(turns), len(rows) + 1))
            connection.execute("UPDATE users SET revision = ?", (len(rows) + 1,))
        connection.close()

    def connect(self) -> None:
        """Open the file."""
        self.store = SqliteStore(self.path, clock=lambda: 0)

    def read(self) -> int:
        """Read the session and return how many messages that gave."""
        opened = self.store.open_session(*IDS)
        self.session = opened["session"]
        return len(opened["messages"])

    def append(self, message: Message) -> None:
        """Store one more message for good."""
        if message["role"] == "user":
            if self.holder:
                self.store.acquire_lease(*IDS, self.holder)
            self.session = self.store.append(*IDS, [message], status="pending", holder=self.holder)
            return
        end = self.session["last_seq"] + 1
        window = [[max(1, end - WINDOW + 1), end]]
        self.session = self.store.append(
            *IDS, [message], changes={"window": window}, holder=self.holder
        )
        if self.holder:
            self.store.release_lease(*IDS, self.holder)

    def close(self) -> None:
        """Close the file."""
        self.store.close()


class Agents:
    """The OpenAI Agents SDK's `SQLiteSession`; its default `limit` is None: the whole session."""

    longest = 1_000_000

    def __init__(self, path: Path, *, limit: int | None) -> None:
        reads = "the whole session" if limit is None else f"`limit={limit}`"
        self.name = f"OpenAI Agents SDK `SQLiteSession`, {reads}"
        self.path = path.with_suffix(".agents")
        self.settings = SessionSettings(limit=limit)
        self.runner = asyncio.Runner()

    def fill(self, messages: Sequence[Message]) -> None:
        """Make the file with these messages."""
        self.connect()
        self.runner.run(self.session.add_items(list(messages)))
        self.close()

    def connect(self) -> None:
        """Open the file."""
        self.session = SQLiteSession("session", self.path, session_settings=self.settings)

    def read(self) -> int:
        """Read the session and return how many messages that gave."""
        return len(self.runner.run(self.session.get_items()))

    def append(self, message: Message) -> None:
        """Store one more message for good."""
        self.runner.run(self.session.add_items([message]))

    def close(self) -> None:
        """Close the file."""
        self.session.close()


class LangGraph:
    """LangGraph's `SqliteSaver`, whose every checkpoint holds the whole state.

    A graph puts several checkpoints a turn and reads the newest one first; here there is one a
    message, of a state that is in memory already, and no graph around it.
    """

    name = "LangGraph `SqliteSaver`"
    longest = 100_000  # all its costs grow with the session, and show by then

    def __init__(self, path: Path) -> None:
        self.path = path.with_suffix(".langgraph")
        self.config = {"configurable": {"thread_id": "session", "checkpoint_ns": ""}}

    def fill(self, messages: Sequence[Message]) -> None:
        """Make the file with the newest checkpoint alone, not the one of each step before."""
        self.connect()
        self.state = [as_langchain(message) for message in messages[:-1]]
        self.append(messages[-1])
        self.close()

    def connect(self) -> None:
        """Open the file."""
        self.connection = sqlite3.connect(self.path, check_same_thread=False)
        self.saver = SqliteSaver(self.connection)

    def read(self) -> int:
        """Read the session and return how many messages that gave."""
        checkpoint = self.saver.get_tuple(self.config)
        assert checkpoint is not None
        self.state: list[BaseMessage] = checkpoint.checkpoint["channel_values"]["messages"]
        return len(self.state)

    def append(self, message: Message) -> None:
        """Store one more message for good."""
        self.state.append(as_langchain(message))
        step = len(self.state)
        checkpoint = empty_checkpoint()
        checkpoint["id"] = str(uuid6(clock_seq=step))
        checkpoint["channel_values"] = {"messages": self.state}
        checkpoint["channel_versions"] = {"messages": step}
        metadata = {"source": "loop", "step": step, "parents": {}}
        self.saver.put(self.config, checkpoint, metadata, {"messages": step})

    def close(self) -> None:
        """Close the file."""
        self.state = []
        self.connection.close()


def as_langchain(message: Message) -> BaseMessage:
    """Return the message as LangGraph's `MessagesState` holds it."""
    kind = HumanMessage if message["role"] == "user" else AIMessage
    return kind(message["content"], id=str(uuid6()))
