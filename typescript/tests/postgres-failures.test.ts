/**
 * `PostgresStore` beside rivals, broken connections and killed processes.
 *
 * Twin: python/tests/test_postgres_failures.py, which has both languages' writers at once too.
 */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../src/core/errors.ts";
import type { Store } from "../src/storage/index.ts";
import { PostgresStore } from "../src/storage/postgres.ts";
import {
  crashServer,
  endConnections,
  isWaiting,
  newDatabase,
  query,
  waitFor,
  withRival,
} from "./databases.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const TURN = [
  { role: "user", content: "hello" },
  { role: "assistant", content: "hi" },
];

const LOCK_USER = "SELECT * FROM tandem_memory.users FOR UPDATE";

/** A database with one session, ann's, of one turn. */
let url: string;
beforeEach(async () => {
  url = await newDatabase();
  await using store = new PostgresStore(url);
  await store.createSession("ann", "shared");
  await store.append("ann", "shared", TURN);
});

async function contents(store: Store): Promise<string[]> {
  const turns = await store.history("ann", "shared", null);
  return turns.flatMap((turn) => turn.messages.map((each) => each.message.content));
}

test("a statement that waits too long ends and changes nothing", async () => {
  await using store = new PostgresStore(url, { timeoutMilliseconds: 200 });
  await withRival(url, LOCK_USER, async () => {
    const appended = store.append("ann", "shared", TURN);
    await expect(appended).rejects.toThrow(StoreUnavailableError);
  });
  expect(await contents(store)).toEqual(["hello", "hi"]);
});

test("users do not wait for each other", async () => {
  await using store = new PostgresStore(url, { timeoutMilliseconds: 200 });
  await withRival(url, LOCK_USER, async () => {
    expect((await store.createSession("bob", "other")).revision).toBe(1);
  });
});

test("a transaction given up for another is run again", async () => {
  const patient = `${url}?options=-c%20deadlock_timeout%3D10s`;
  const hasty = `${url}?options=-c%20deadlock_timeout%3D100ms`;
  await using store = new PostgresStore(hasty);
  const lockSession = "UPDATE tandem_memory.sessions SET last_seq = last_seq";
  const appended = await withRival(patient, lockSession, async (client) => {
    const appending = store.append("ann", "shared", TURN);
    await waitFor(() => isWaiting(url));
    await client.query(LOCK_USER);
    return { appending };
  });
  expect((await appended.appending).last_seq).toBe(4);
});

test("a connection lost before the commit is made anew", async () => {
  await using store = new PostgresStore(`${url}?application_name=store`);
  const appended = await withRival(url, LOCK_USER, async () => {
    const appending = store.append("ann", "shared", TURN);
    await waitFor(() => isWaiting(url));
    await endConnections(url);
    return { appending };
  });
  expect((await appended.appending).last_seq).toBe(4);
  await endConnections(url);
  expect(await contents(store)).toEqual(["hello", "hi", "hello", "hi"]);
});

test("a connection lost in the commit is reported and not repeated", async () => {
  // A trigger at the end of the transaction, so that the COMMIT itself takes its time.
  await query(
    url,
    `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$`,
  );
  await query(
    url,
    `CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON tandem_memory.messages
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly()`,
  );
  await using store = new PostgresStore(`${url}?application_name=store`);
  await withRival(url, "SELECT pg_advisory_xact_lock(1)", async () => {
    const appended = expect(store.append("ann", "shared", TURN)).rejects.toThrow(/commit/);
    await waitFor(() => isWaiting(url));
    await endConnections(url);
    await appended;
  });
  expect(await contents(store)).toEqual(["hello", "hi"]);
});

test("a server that crashes and restarts loses nothing stored", async () => {
  await using store = new PostgresStore(url);
  for (let round = 1; round <= 3; round += 1) {
    await store.append("ann", "shared", TURN);
    await crashServer(url);
    await waitFor(() => isReachable(store));
  }
  expect(await contents(store)).toEqual(Array(4).fill(["hello", "hi"]).flat());
});

async function isReachable(store: Store): Promise<boolean> {
  try {
    await store.listSessions("ann");
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return false;
  }
}

test("calls at the same time may share a store", async () => {
  await using store = new PostgresStore(url);
  const appends = Array.from({ length: 40 }, () => store.append("ann", "shared", TURN));
  const turns = (await Promise.all(appends)).map((session) => session.last_turn);
  expect(turns.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 2));
  await expectWhole(store, 41);
});

test("a writer killed at any moment leaves whole turns", async () => {
  const appender = join(import.meta.dirname, "appender.ts");
  let stored = 0;
  for (let delay = 0; delay < 8; delay += 1) {
    const writer = spawn(process.execPath, [appender, url, "60", `writer ${delay}`]);
    const lines = createInterface(writer.stdout);
    let told = 0;
    for await (const _ of lines) {
      told += 1;
      if (told === 3) void sleep(delay * 3.1).then(() => writer.kill("SIGKILL"));
    }
    expect(told).toBeGreaterThanOrEqual(3);
    stored += told;
  }
  await using store = new PostgresStore(url);
  const { session } = await store.openSession("ann", "shared");
  // What was told to be stored is; a kill may come between the commit and the telling.
  expect(session.last_turn).toBeGreaterThanOrEqual(stored + 1);
  expect(session.last_turn).toBeLessThanOrEqual(stored + 1 + 8);
  await expectWhole(store, session.last_turn);
});

/** Expect so many turns of a question and its answer, numbered without a gap. */
async function expectWhole(store: Store, count: number): Promise<void> {
  const [session] = (await store.exportSessions("ann", "shared")).sessions;
  const turns = session?.turns ?? [];
  expect(turns.map((turn) => turn.turn)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  const messages = turns.flatMap((turn) => turn.messages);
  expect(messages.map((each) => each.seq)).toEqual(
    Array.from({ length: 2 * count }, (_, i) => i + 1),
  );
  for (const { messages: pair } of turns) {
    const [question = "", answer = ""] = pair.map((each) => each.message.content);
    expect(answer).toBe(question.replace(/^hello$/, "hi").replace("asks", "answers"));
  }
}
