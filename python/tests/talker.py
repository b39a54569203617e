"""A program that asks in a stored chat: `talker.py STORE HOST [QUESTION…]`.

Twin: typescript/tests/talker.ts. It prints a JSON line for each piece of an answer and for each
error's code, and at the end what it remembers and what the store exports.
"""

from __future__ import annotations

import json
import sys

from tandem_memory import Chat, SqliteStore, TandemError, document_text, make_entry


def tell(**fields: object) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main(place: str, host: str, *questions: str) -> None:
    entry = make_entry("t", {"model": "qwen3:0.6b", "host": host, "max_turns": 3})
    with SqliteStore(place) as store:
        chat = Chat.open(store, "ann", "s", model=entry, lease_milliseconds=600)
        for question in questions:
            try:
                for piece in chat.stream(question):
                    tell(piece=piece)
            except TandemError as error:
                tell(error=error.code)
                break
        tell(snapshot=chat.memory.snapshot())
        tell(export=document_text(store.export_sessions("ann")))


if __name__ == "__main__":
    main(*sys.argv[1:])
