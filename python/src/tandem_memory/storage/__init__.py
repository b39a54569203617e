"""Stores: where conversations outlive the process; the same files in both languages."""

from .documents import MessageDocument, SessionDocument, TurnDocument
from .exports import Export
from .jsonfile import JsonStore, document_text, read_document, write_document
from .memory import MemoryStore
from .records import (
    OpenedSession,
    Ranges,
    Removed,
    Session,
    SessionChanges,
    Status,
    StoredMessage,
    StoredTurn,
    cut_ranges,
    join_ranges,
)
from .shelf import Shelf
from .sqlite import SqliteStore
from .store import LEASE_MILLISECONDS, Store

__all__ = [
    "LEASE_MILLISECONDS",
    "Export",
    "JsonStore",
    "MemoryStore",
    "MessageDocument",
    "OpenedSession",
    "Ranges",
    "Removed",
    "Session",
    "SessionChanges",
    "SessionDocument",
    "Shelf",
    "SqliteStore",
    "Status",
    "Store",
    "StoredMessage",
    "StoredTurn",
    "TurnDocument",
    "cut_ranges",
    "document_text",
    "join_ranges",
    "read_document",
    "write_document",
]
