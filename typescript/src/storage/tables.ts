/**
 * The tables in PostgreSQL, made by ordered steps, and whose rows each transaction may see.
 *
 * Every step runs in one transaction with its record in `migrations`, under a lock that lets one
 * process of either language do it. A step that was released is never edited; what comes later is a
 * new step, and one that changes rows must lift `FORCE` for its own transaction.
 *
 * The store works as the role `tandem_memory_app`, which owns nothing, whoever logged in: row-level
 * security shows it the rows of the user that the transaction names, and a statement that forgot
 * its WHERE finds no others. It is forced, so it binds the tables' owner too.
 */

import type { ClientBase } from "pg";
import { StoreTooNewError, StoreUnavailableError } from "../core/errors.ts";
import type { Migration } from "./migrations.ts";

/** The advisory lock of whoever makes tables; SQLite files have this number in their header. */
const LOCK = 0x546e4d6d;

// A subquery that reads nothing of the row is run once a statement, not once a row.
const OWN_ROWS = `user_no = (SELECT u.user_no FROM tandem_memory.users u
    WHERE u.id_hash = current_setting('tandem_memory.id_hash', true))`;

export const STEPS: readonly Migration[] = [
  {
    name: "sessions",
    statements: [
      `DO $$ BEGIN
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
END $$`,
      `CREATE TABLE tandem_memory.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at text NOT NULL
)`,
      // PostgreSQL's text holds every character but U+0000, which ids, prompts and messages
      // may have. JSON writes it as an escape, so whatever comes from outside is JSON here:
      // as text, since jsonb refuses the escape too.
      // An index entry has at most 2,704 bytes, so ids are found by their hash.
      `CREATE TABLE tandem_memory.users (
  user_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id_hash text NOT NULL UNIQUE,
  user_id text NOT NULL,
  revision bigint NOT NULL
)`,
      `CREATE TABLE tandem_memory.sessions (
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
)`,
      // A row's user is its session's: else one user could put rows into another's session.
      `CREATE TABLE tandem_memory.turns (
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
)`,
      "CREATE INDEX kept_turns ON tandem_memory.turns (session_no, turn) WHERE removed = 0",
      `CREATE TABLE tandem_memory.messages (
  user_no bigint NOT NULL,
  session_no bigint NOT NULL,
  seq bigint NOT NULL,
  removed integer NOT NULL,
  created_at text NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (session_no, seq),
  FOREIGN KEY (user_no, session_no)
    REFERENCES tandem_memory.sessions (user_no, session_no) ON DELETE CASCADE
)`,
      // Without a user named, the setting is null or empty, and no row is shown.
      `CREATE POLICY own_user ON tandem_memory.users
  USING (id_hash = current_setting('tandem_memory.id_hash', true))`,
      ...["sessions", "turns", "messages"].map(
        (table) => `CREATE POLICY own_rows ON tandem_memory.${table} USING (${OWN_ROWS})`,
      ),
      ...["users", "sessions", "turns", "messages"].map(
        (table) => `ALTER TABLE tandem_memory.${table}
  ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
      ),
      // Whoever may connect may see whether this release and these tables go together.
      "GRANT USAGE ON SCHEMA tandem_memory TO PUBLIC",
      "GRANT SELECT ON tandem_memory.migrations TO PUBLIC",
      `GRANT SELECT, INSERT, UPDATE, DELETE
  ON tandem_memory.users, tandem_memory.sessions, tandem_memory.turns, tandem_memory.messages
  TO tandem_memory_app`,
    ],
  },
];

/**
 * Bring the database to this release's tables; throws `StoreTooNewError` if it is beyond them.
 *
 * Several processes may do this at once. Only the first needs the right to make a schema and a
 * role. Throws `StoreUnavailableError` for a database whose encoding can't hold all characters.
 */
export async function makeTables(
  connection: ClientBase,
  path: string,
  appliedAt: string,
): Promise<void> {
  const [encoding] = (await connection.query("SHOW server_encoding")).rows;
  if (encoding.server_encoding !== "UTF8") {
    const detail = `its encoding is ${encoding.server_encoding}, and it must be UTF8`;
    throw new StoreUnavailableError(path, detail);
  }
  if ((await readVersion(connection, path)) === STEPS.length) return;
  await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await connection.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    let version = await readVersion(connection, path); // another process may have done it since
    for (const { name, statements } of STEPS.slice(version)) {
      version += 1;
      for (const statement of statements) await connection.query(statement);
      const row = [version, name, appliedAt];
      await connection.query("INSERT INTO tandem_memory.migrations VALUES ($1, $2, $3)", row);
    }
    await connection.query("COMMIT");
  } catch (error) {
    await connection.query("ROLLBACK").catch(() => {}); // the first error tells more
    throw error;
  }
}

async function readVersion(connection: ClientBase, path: string): Promise<number> {
  // Not by to_regclass, which may answer from before the lock was waited for.
  const sql =
    "SELECT FROM pg_tables WHERE (schemaname, tablename) = ('tandem_memory', 'migrations')";
  if ((await connection.query(sql)).rows.length === 0) return 0;
  const { rows } = await connection.query("SELECT version FROM tandem_memory.migrations");
  if (rows.length > STEPS.length) throw new StoreTooNewError(path, rows.length, STEPS.length);
  return rows.length;
}
