/**
 * Migrations: the steps from an empty SQLite file to today's tables, in their order.
 *
 * Every step runs in one transaction with the number that it leaves in `user_version`, and is
 * recorded by name: so a file is at one version or the next, never between two, and a second run
 * does nothing. A step that was released is never edited; what comes later is a new step.
 */

import type { DatabaseSync } from "node:sqlite";
import { StoreTooNewError } from "../core/errors.ts";

/** One step; its version is its place in `MIGRATIONS`, counted from 1. */
export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

export const MIGRATIONS: readonly Migration[] = [
  {
    name: "sessions",
    statements: [
      `CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT`,
      // Whether bytes of what was removed are still in the file.
      `CREATE TABLE purges (
  pending INTEGER NOT NULL
) STRICT`,
      "INSERT INTO purges VALUES (0)",
      // Ids may be long, so they are found by their hash: SHA-256 of the UTF-8, in hex.
      `CREATE TABLE users (
  user_no INTEGER PRIMARY KEY,
  id_hash TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT`,
      `CREATE TABLE sessions (
  session_no INTEGER PRIMARY KEY,
  user_no INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  id_hash TEXT NOT NULL,
  session_id TEXT NOT NULL,
  system_prompt TEXT,
  summary TEXT,
  window_ranges TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  last_turn INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  lease_holder TEXT,
  lease_until INTEGER,
  UNIQUE (user_no, id_hash),
  UNIQUE (user_no, revision)
) STRICT`,
      `CREATE TABLE turns (
  session_no INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  status TEXT NOT NULL,
  removed INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (session_no, turn)
) STRICT, WITHOUT ROWID`,
      // After a clear, the newest turns are found without passing all that was removed.
      "CREATE INDEX kept_turns ON turns (session_no, turn) WHERE removed = 0",
      // Messages may be long, and a table with a row id keeps long rows better.
      `CREATE TABLE messages (
  message_no INTEGER PRIMARY KEY,
  session_no INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  message TEXT NOT NULL,
  UNIQUE (session_no, seq)
) STRICT`,
    ],
  },
];

/**
 * Bring the file to this release's version; throws `StoreTooNewError` if it is beyond that.
 *
 * The connection is in autocommit mode. Several processes may do this at once.
 */
export function migrate(connection: DatabaseSync, path: string, appliedAt: string): void {
  if (readVersion(connection, path) === MIGRATIONS.length) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have done it since.
    const done = readVersion(connection, path);
    MIGRATIONS.slice(done).forEach(({ name, statements }, i) => {
      const version = done + i + 1;
      for (const statement of statements) connection.exec(statement);
      const record = connection.prepare("INSERT INTO migrations VALUES (?, ?, ?)");
      record.run(version, name, appliedAt);
      connection.exec(`PRAGMA user_version = ${version}`);
    });
  } catch (error) {
    connection.exec("ROLLBACK");
    throw error;
  }
  connection.exec("COMMIT");
}

function readVersion(connection: DatabaseSync, path: string): number {
  const version = Number(connection.prepare("PRAGMA user_version").get()?.user_version);
  if (version > MIGRATIONS.length) throw new StoreTooNewError(path, version, MIGRATIONS.length);
  return version;
}
