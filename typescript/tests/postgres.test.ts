/** `PostgresStore` on a real server; twin: python/tests/test_postgres.py. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  SessionBusyError,
  StoreDamagedError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../src/core/errors.ts";
import type { Store } from "../src/storage/index.ts";
import { documentText, SqliteStore } from "../src/storage/index.ts";
import { PostgresStore } from "../src/storage/postgres.ts";
import { STEPS } from "../src/storage/tables.ts";
import { connected, newDatabase, newLogin, query, rowsOf, withAppRole } from "./databases.ts";
import { loadCases, runCase } from "./fixtures.ts";
import { OPENERS } from "./stores.ts";

let fixturesPool: Pool;
beforeAll(async () => {
  fixturesPool = new Pool({ connectionString: await newDatabase() });
  const store = new PostgresStore(() => fixturesPool.connect());
  await store.listSessions("nobody"); // makes the tables
});
afterAll(() => fixturesPool.end());

// All cases use one database, emptied for the one of a folder once it is connected to.
const emptied = new Set<string>();
OPENERS.set("postgres", (folder, options) => {
  const connect = async () => {
    if (!emptied.has(folder)) await fixturesPool.query("DELETE FROM tandem_memory.users");
    emptied.add(folder);
    return fixturesPool.connect();
  };
  return new PostgresStore(connect, options);
});

const STORE_CASES = loadCases().filter(({ given }) => "store" in given);

const IDS = [
  ...["../x", "/etc/passwd", "__proto__", "constructor", "a.b", "a_b", "a b", "A", "a", "%", "_"],
  ...["é", "e\u0301", "ﬁ", "fi", "İ", "i\u0307", "花花", "😀", "\u202e", " ", "\t", "\r\n", "\0"],
  ...["a\0b", "'", '"', "\\", "\\u0000", "''; DROP TABLE users; --", "$1", "?", "x".repeat(10_000)],
];

const COUNTS = [
  "SELECT count(*) FROM tandem_memory.users",
  "SELECT count(*) FROM tandem_memory.sessions",
  "SELECT count(*) FROM tandem_memory.turns",
  "SELECT count(*) FROM tandem_memory.messages",
];

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const TURN = [
  { role: "user", content: "hello" },
  { role: "assistant", content: "hi" },
];

/** A test that has a database with one session, ann's, of one turn. */
const stored = test.extend("url", async () => {
  const url = await newDatabase();
  await using store = new PostgresStore(url);
  await store.createSession("ann", "shared", { systemPrompt: "Be kind." });
  await store.append("ann", "shared", TURN);
  return url;
});

async function contents(store: Store): Promise<string[]> {
  const turns = await store.history("ann", "shared", null);
  return turns.flatMap((turn) => turn.messages.map((each) => each.message.content));
}

async function counted(count: (sql: string) => Promise<unknown[][]>): Promise<number[]> {
  const counts: number[] = [];
  for (const sql of COUNTS) counts.push(Number((await count(sql))[0]?.[0]));
  return counts;
}

test.each(STORE_CASES)("on PostgreSQL, $id", async (fixture) => {
  const store = { ...fixture.given.store, kind: "postgres" };
  await expect(runCase({ ...fixture, given: { store } })).resolves.toBeUndefined();
});

test("an export is the one of SQLite, byte for byte", async () => {
  async function play(store: Store): Promise<string> {
    for (const userId of IDS) {
      const id = [userId, [...userId].reverse().join("")] as const;
      await store.createSession(...id, { systemPrompt: `To ${userId}: \0.` });
      await store.append(...id, [{ ...TURN[0], ünknown: { "\0": [1.5, null] } }]);
      await store.append(...id, TURN, { status: "interrupted" });
      await store.updateSession(...id, { summary: { text: userId } });
    }
    const exports: string[] = [];
    for (const userId of IDS) exports.push(documentText(await store.exportSessions(userId)));
    await store.close();
    return exports.join("\n");
  }
  const folder = mkdtempSync(join(tmpdir(), "tandem-"));
  const clock = () => 0;
  const sqlite = await play(new SqliteStore(join(folder, "store.sqlite3"), { clock }));
  const postgres = await play(new PostgresStore(await newDatabase(), { clock }));
  rmSync(folder, { recursive: true });
  expect(sqlite === postgres).toBe(true); // unequal, they would be far too long to print
});

stored("ids of every kind are sessions of their own", async ({ url }) => {
  await using store = new PostgresStore(url);
  for (const id of IDS) {
    await store.createSession("bob", id);
    await store.acquireLease("bob", id, id);
  }
  const found = await store.listSessions("bob");
  expect(found.map((session) => session.session_id)).toEqual(IDS.toReversed());
});

stored("a statement without WHERE finds the rows of one user", async ({ url }) => {
  await using store = new PostgresStore(url);
  await store.importSessions(await store.exportSessions("ann"), { userId: "bob" });
  for (const [userId, own] of [
    ["ann", [1, 1, 1, 2]],
    ["bob", [1, 1, 1, 2]],
    ["nobody", [0, 0, 0, 0]],
  ] as const) {
    const seen = await withAppRole(url, userId, (client) => counted((sql) => rowsOf(client, sql)));
    expect(seen).toEqual(own);
  }
  const nameless = await connected(url, async (client) => {
    await client.query("SET ROLE tandem_memory_app");
    return counted((sql) => rowsOf(client, sql));
  });
  expect(nameless).toEqual([0, 0, 0, 0]);
  expect(await counted((sql) => query(url, sql))).toEqual([2, 2, 2, 4]);
});

stored("a change without WHERE leaves the other users", async ({ url }) => {
  await using store = new PostgresStore(url);
  await store.importSessions(await store.exportSessions("ann"), { userId: "bob" });
  const before = await store.exportSessions("bob");
  await withAppRole(url, "ann", async (client) => {
    await client.query("UPDATE tandem_memory.messages SET message = '{}'");
    await client.query("DELETE FROM tandem_memory.users");
  });
  expect(await store.listSessions("ann")).toEqual([]);
  expect(await store.exportSessions("bob")).toEqual(before);
});

stored.for([
  ["ann", "42501"], // insufficient_privilege, by the policy
  ["bob", "23503"], // foreign_key_violation, by the key of both numbers
])(
  "a row in another user's session is refused, in the name of %s",
  async ([name, code], { url }) => {
    await using store = new PostgresStore(url);
    await store.createSession("bob", "other");
    const named = "SELECT user_no FROM tandem_memory.users WHERE user_id = $1";
    const [user] = await query(url, named, [`"${name}"`]);
    const [session] = await query(url, "SELECT min(session_no) FROM tandem_memory.sessions");
    const insert = "INSERT INTO tandem_memory.messages VALUES ($1, $2, 99, 0, '', '{}')";
    const inserted = withAppRole(url, "bob", (client) =>
      client.query(insert, [user?.[0], session?.[0]]),
    );
    await expect(inserted).rejects.toMatchObject({ code });
  },
);

stored("row security binds the tables' owner too", async ({ url }) => {
  const owner = await newLogin(url, "GRANT ALL ON SCHEMA tandem_memory TO {}");
  for (const table of ["users", "sessions", "turns", "messages"]) {
    await query(url, `ALTER TABLE tandem_memory.${table} OWNER TO ${new URL(owner).username}`);
  }
  expect(await counted((sql) => query(owner, sql))).toEqual([0, 0, 0, 0]);
});

stored("a login needs nothing but the role", async ({ url }) => {
  await using store = new PostgresStore(await newLogin(url, "GRANT tandem_memory_app TO {}"));
  await store.append("ann", "shared", TURN);
  expect(await contents(store)).toEqual(["hello", "hi", "hello", "hi"]);
});

stored("a login without the role is refused", async ({ url }) => {
  await using store = new PostgresStore(await newLogin(url, ""));
  const refused = await store.listSessions("ann").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailableError);
  expect((refused as StoreUnavailableError).detail).toContain("tandem_memory_app");
});

stored("a pool lends connections and gets them back as they were", async ({ url }) => {
  const pool = new Pool({ connectionString: url, max: 1 });
  const store = new PostgresStore(() => pool.connect());
  await store.append("ann", "shared", TURN);
  await store.close();
  const sql = "SELECT current_user, current_setting('tandem_memory.id_hash', true) AS hash";
  expect((await pool.query(sql)).rows).toEqual([{ current_user: "tandem", hash: "" }]);
  await pool.end();
});

test("processes that come first together make the tables once", async () => {
  const fresh = await newDatabase();
  const numbers = Array.from({ length: 8 }, (_, i) => String(i));
  await Promise.all(
    numbers.map(async (number) => {
      await using store = new PostgresStore(fresh);
      await store.createSession("ann", number);
    }),
  );
  const made = await query(fresh, "SELECT * FROM tandem_memory.migrations");
  expect(made).toHaveLength(STEPS.length);
  expect(await query(fresh, "SELECT revision FROM tandem_memory.users")).toEqual([["8"]]);
});

stored("a database of a later release is refused by its version", async ({ url }) => {
  const version = STEPS.length + 1;
  await query(url, "INSERT INTO tandem_memory.migrations VALUES ($1, 'later', '')", [version]);
  await using store = new PostgresStore(url);
  const refused = await store.listSessions("ann").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreTooNewError);
  expect(refused).toMatchObject({ version, supported: STEPS.length });
});

test("a database that cannot hold all characters is refused", async () => {
  await using store = new PostgresStore(await newDatabase({ encoding: "SQL_ASCII" }));
  const refused = await store.listSessions("ann").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailableError);
  expect((refused as StoreUnavailableError).detail).toContain("SQL_ASCII");
});

test("an error names the server and not the password", async () => {
  const nowhere = "postgresql://ann:se%2Fcret@127.0.0.1:1/none?application_name=x";
  await using store = new PostgresStore(nowhere);
  const refused = await store.listSessions("ann").catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailableError);
  expect(refused).toMatchObject({ path: "postgresql://127.0.0.1:1/none" });
  expect(String(refused)).not.toContain("cret");
});

stored("a row that is no JSON is reported and left", async ({ url }) => {
  await query(url, "UPDATE tandem_memory.messages SET message = left(message, 9)");
  await using store = new PostgresStore(url);
  await expect(store.openSession("ann", "shared")).rejects.toThrow(StoreDamagedError);
  const lengths = await query(url, "SELECT DISTINCT length(message) FROM tandem_memory.messages");
  expect(lengths).toEqual([[9]]);
});

stored("one writer holds a session and the others are told", async ({ url }) => {
  await using first = new PostgresStore(url);
  await using second = new PostgresStore(url);
  await first.acquireLease("ann", "shared", "first");
  await expect(second.append("ann", "shared", TURN)).rejects.toThrow(SessionBusyError);
  await first.append("ann", "shared", TURN, { holder: "first" });
  await first.releaseLease("ann", "shared", "first");
  expect((await second.append("ann", "shared", TURN)).last_seq).toBe(6);
});

stored("forget leaves the other users, and not a row of this one", async ({ url }) => {
  await using store = new PostgresStore(url);
  await store.importSessions(await store.exportSessions("ann"), { userId: "bob" });
  const removed = { sessions: 1, turns: 1, messages: 2, purge_pending: false };
  expect(await store.forget("ann")).toEqual(removed);
  const { sessions } = await store.exportSessions("bob");
  expect(sessions.map((session) => session.last_seq)).toEqual([2]);
  expect(await counted((sql) => query(url, sql))).toEqual([1, 1, 1, 2]);
});
