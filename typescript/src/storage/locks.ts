/**
 * Waiting for SQLite's write lock, so that everybody gets it.
 *
 * SQLite's own wait sleeps up to a tenth of a second between two looks, and so misses the short
 * gaps that a busy writer leaves, again and again: of four that wrote for a minute, up to three gave
 * up after ten seconds. Looking every few milliseconds, nobody waits for long. This wait is also one
 * in which the rest of the program goes on.
 */

import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

/** How long a writer waits for others' transactions; theirs are short. */
export const BUSY_MILLISECONDS = 10_000;

/** SQLite's result code for a lock that somebody else has (sqlite.org/rescode.html). */
const BUSY = 5;

const LONGEST_LOOK = 4;

/**
 * Run `body` in a transaction that writes, as soon as there is no other one.
 *
 * `body` ends the transaction. It follows the beginning at once, so that no other task's statements
 * come into it.
 */
export async function whenWritable<Result>(
  connection: DatabaseSync,
  body: () => Result,
): Promise<Result> {
  const end = performance.now() + BUSY_MILLISECONDS;
  while (!tryToBegin(connection, { isLast: performance.now() > end })) {
    await sleep(Math.random() * LONGEST_LOOK);
  }
  return body();
}

/** Begin a transaction that writes; returns false, or throws if it `isLast`, if one runs. */
export function tryToBegin(
  connection: DatabaseSync,
  { isLast = false }: { isLast?: boolean } = {},
): boolean {
  connection.exec("PRAGMA busy_timeout = 0");
  try {
    connection.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    const code = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
    if (isLast || (code & 0xff) !== BUSY) throw error;
    return false;
  } finally {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_MILLISECONDS}`);
  }
}
