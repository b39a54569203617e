"""The tables in PostgreSQL, made by ordered steps, and whose rows each transaction may see.

Every step runs in one transaction with its record in `migrations`, under a lock that lets one
process of either language do it. A step that was released is never edited; what comes later is a
new step, and one that changes rows must lift `FORCE` for its own transaction.

The store works as the role `tandem_memory_app`, which owns nothing, whoever logged in: row-level
security shows it the rows of the user that the transaction names, and a statement that forgot its
WHERE finds no others. It is forced, so it binds the tables' owner too.
"""

from __future__ import annotations

from typing import Any

import psycopg

from ..core.errors import StoreTooNewError, StoreUnavailableError
from .migrations import Migration

__all__ = ["STEPS", "make_tables"]

LOCK = 0x546E4D6D
"""The advisory lock of whoever makes tables; SQLite files have this number in their header."""

# A subquery that reads nothing of the row is run once a statement, not once a row.
OWN_ROWS = """user_no = (SELECT u.user_no FROM tandem_memory.users u
    WHERE u.id_hash = current_setting('tandem_memory.id_hash', true))"""

STEPS = (
    Migration(
        "sessions",
        (
            """DO $$ BEGIN
  IF to_regnamespace('tandem_memory') IS NULL THEN
    CREATE SCHEMA tandem_memory;
  END IF;
  -- Roles belong to the server, so another database may have made it already, or do so now.
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tandem_memory_app') THEN
    BEGIN
      CREATE ROLE tandem_memory_app NOLOGIN;
      GRANT tandem_memory_app TO CURRENT_USER;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
  END IF;
END $$""",
            """CREATE TABLE tandem_memory.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at text NOT NULL
)""",
            # PostgreSQL's text holds every character but U+0000, which ids, prompts and messages
            # may have. JSON writes it as an escape, so whatever comes from outside is JSON here:
            # as text, since jsonb refuses the escape too.
            # An index entry has at most 2,704 bytes, so ids are found by their hash.
            """CREATE TABLE tandem_memory.users (
  user_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id_hash text NOT NULL UNIQUE,
  user_id text NOT NULL,
  revision bigint NOT NULL
)""",
            """CREATE TABLE tandem_memory.sessions (
  session_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_no bigint NOT NULL REFERENCES tandem_memory.users ON DELETE CASCADE,
  id_hash text NOT NULL,
  session_id text NOT NULL,
  system_prompt text,
  summary text,
  window_ranges text NOT NULL,
  last_seq bigint NOT NULL,
  last_turn bigint NOT NULL,
  revision bigint NOT NULL,
  created_at text NOT NULL,
  updated_at text NOT NULL,
  lease_holder text,
  lease_until bigint,
  UNIQUE (user_no, id_hash),
  UNIQUE (user_no, revision),
  UNIQUE (user_no, session_no)
)""",
            # A row's user is its session's: else one user could put rows into another's session.
            """CREATE TABLE tandem_memory.turns (
  user_no bigint NOT NULL,
  session_no bigint NOT NULL,
  turn bigint NOT NULL,
  status text NOT NULL,
  removed integer NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  created_at text NOT NULL,
  PRIMARY KEY (session_no, turn),
  FOREIGN KEY (user_no, session_no)
    REFERENCES tandem_memory.sessions (user_no, session_no) ON DELETE CASCADE
)""",
            "CREATE INDEX kept_turns ON tandem_memory.turns (session_no, turn) WHERE removed = 0",
            """CREATE TABLE tandem_memory.messages (
  user_no bigint NOT NULL,
  session_no bigint NOT NULL,
  seq bigint NOT NULL,
  removed integer NOT NULL,
  created_at text NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (session_no, seq),
  FOREIGN KEY (user_no, session_no)
    REFERENCES tandem_memory.sessions (user_no, session_no) ON DELETE CASCADE
)""",
            # Without a user named, the setting is null or empty, and no row is shown.
            """CREATE POLICY own_user ON tandem_memory.users
  USING (id_hash = current_setting('tandem_memory.id_hash', true))""",
            *(
                f"CREATE POLICY own_rows ON tandem_memory.{table} USING ({OWN_ROWS})"
                for table in ("sessions", "turns", "messages")
            ),
            *(
                f"""ALTER TABLE tandem_memory.{table}
  ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"""
                for table in ("users", "sessions", "turns", "messages")
            ),
            # Whoever may connect may see whether this release and these tables go together.
            "GRANT USAGE ON SCHEMA tandem_memory TO PUBLIC",
            "GRANT SELECT ON tandem_memory.migrations TO PUBLIC",
            """GRANT SELECT, INSERT, UPDATE, DELETE
  ON tandem_memory.users, tandem_memory.sessions, tandem_memory.turns, tandem_memory.messages
  TO tandem_memory_app""",
        ),
    ),
)


def make_tables(connection: psycopg.Connection[Any], path: str, applied_at: str) -> None:
    """Bring the database to this release's tables; raises `StoreTooNewError` if it is beyond them.

    Several processes may do this at once. Only the first needs the right to make a schema and a
    role. Raises `StoreUnavailableError` for a database whose encoding can't hold all characters.
    """
    [encoding] = connection.execute("SHOW server_encoding").fetchall()[0]
    if encoding != "UTF8":
        raise StoreUnavailableError(path, f"its encoding is {encoding}, and it must be UTF8")
    if read_version(connection, path) == len(STEPS):
        return
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        done = read_version(connection, path)  # another process may have done it since
        for version, migration in enumerate(STEPS[done:], done + 1):
            for statement in migration.statements:
                connection.execute(statement.encode())
            row = (version, migration.name, applied_at)
            connection.execute("INSERT INTO tandem_memory.migrations VALUES (%s, %s, %s)", row)


def read_version(connection: psycopg.Connection[Any], path: str) -> int:
    # Not by to_regclass, which may answer from before the lock was waited for.
    sql = "SELECT FROM pg_tables WHERE (schemaname, tablename) = ('tandem_memory', 'migrations')"
    if not connection.execute(sql).fetchall():
        return 0
    rows = connection.execute("SELECT version FROM tandem_memory.migrations").fetchall()
    if len(rows) > len(STEPS):
        raise StoreTooNewError(path, len(rows), len(STEPS))
    return len(rows)
