/**
 * A program that writes turns into a session: `writer.ts KIND PLACE SESSION [SECONDS NAME]`.
 *
 * Twin: python/tests/writer.py. It prints the number of each turn once that is stored. Without
 * SECONDS it writes until it is killed, or until the disk is full, which it says; with them it
 * shares the session with other writers, a lease for each turn, and puts its NAME before every text.
 */

import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionBusyError, SessionExistsError, StoreFullError } from "../src/core/errors.ts";
import type { Ranges, Store } from "../src/storage/index.ts";
import { JsonStore, SqliteStore } from "../src/storage/index.ts";

// Over a page of SQLite's with two of them, so that a turn can be torn.
const PADDING = "x".repeat(3000);

const USER = "ann";

function openPlace(kind: string, place: string): Store {
  return kind === "sqlite" ? new SqliteStore(place) : new JsonStore(place);
}

async function makeSession(store: Store, sessionId: string): Promise<void> {
  try {
    await store.createSession(USER, sessionId);
  } catch (error) {
    if (!(error instanceof SessionExistsError)) throw error;
  }
}

/** Write turns for ever: one in a single append, one in two, its window being itself alone. */
async function writeTurns(store: Store, sessionId: string): Promise<void> {
  await makeSession(store, sessionId);
  let { session } = await store.openSession(USER, sessionId);
  while (true) {
    const [turn, seq] = [session.last_turn + 1, session.last_seq + 1];
    const question = { role: "user", content: `q${turn} ${PADDING}` };
    const answer = { role: "assistant", content: `a${turn} ${PADDING}` };
    if (turn % 2 === 1) {
      session = await store.append(USER, sessionId, [question, answer]);
    } else {
      await store.append(USER, sessionId, [question], { status: "pending" });
      const window: Ranges = [[seq, seq + 1]];
      session = await store.append(USER, sessionId, [answer], { changes: { window } });
    }
    writeSync(1, `${turn}\n`);
  }
}

/** Write turns, taking the session's lease for each, until the time is over. */
async function shareSession(
  store: Store,
  sessionId: string,
  seconds: number,
  name: string,
): Promise<void> {
  await makeSession(store, sessionId);
  const end = performance.now() + seconds * 1000;
  for (let count = 0; performance.now() < end; ) {
    try {
      await store.acquireLease(USER, sessionId, name);
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error;
      await sleep(2);
      continue;
    }
    const question = { role: "user", content: `${name} q${count}` };
    await store.append(USER, sessionId, [question], { status: "pending", holder: name });
    const answer = { role: "assistant", content: `${name} a${count}` };
    const { last_turn: turn } = await store.append(USER, sessionId, [answer], { holder: name });
    await store.releaseLease(USER, sessionId, name);
    writeSync(1, `${turn}\n`);
    count += 1;
  }
}

const [kind = "", place = "", sessionId = "", seconds = "", name = ""] = process.argv.slice(2);
try {
  await using store = openPlace(kind, place);
  if (seconds) await shareSession(store, sessionId, Number(seconds), name);
  else await writeTurns(store, sessionId);
} catch (error) {
  if (!(error instanceof StoreFullError)) throw error;
  writeSync(1, `${error.code}\n`);
}
