"""A program that appends turns to a session in PostgreSQL: `appender.py URL SECONDS NAME`.

Twin: typescript/tests/appender.ts. It takes no lease, so that rivals meet in the database alone,
and prints the number of each turn once that is stored.
"""

from __future__ import annotations

import sys
import time

from tandem_memory.storage.postgres import PostgresStore


def main(url: str, seconds: str, name: str) -> None:
    end = time.monotonic() + float(seconds)
    with PostgresStore(url) as store:
        number = 0
        while time.monotonic() < end:
            number += 1
            question = {"role": "user", "content": f"{name} asks {number}"}
            answer = {"role": "assistant", "content": f"{name} answers {number}"}
            stored = store.append("ann", "shared", [question, answer])
            sys.stdout.write(f"{stored['last_turn']}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
