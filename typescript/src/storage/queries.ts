/**
 * One user's rows in PostgreSQL, as a transaction reads and writes them.
 *
 * The statements of `rows` serve here too; what differs is that texts from outside are JSON (see
 * `tables`) and that rows go in by the list, since each statement is a message to another machine.
 */

import { SessionExistsError, SessionNotFoundError } from "../core/errors.ts";
import { canonicalJson } from "../core/values.ts";
import type { Transaction } from "./connections.ts";
import type { Row } from "./database.ts";
import type { SessionDocument } from "./documents.ts";
import { readSheet, turnRow, writeSheet } from "./documents.ts";
import type { Ranges, Removed, Session, StoredMessage, StoredTurn } from "./records.ts";
import { endOf } from "./records.ts";
import {
  INSERT_SESSION,
  idHash,
  messageValues,
  NEWEST_TURNS,
  readLease,
  readMessageDocument,
  readSession,
  readStoredMessage,
  readStoredTurn,
  readTurn,
  readTurnDocument,
  SESSION,
  sessionValues,
  TURN,
  turnValues,
  UPDATE_SESSION,
} from "./rows.ts";
import type { Change, Lease, State, TurnRow } from "./rules.ts";
import { noSession } from "./rules.ts";

/** More than there are of anything. */
const ALL = 2 ** 53 - 1;

const USER = "SELECT user_no, revision FROM users WHERE id_hash = ?";

// Where another transaction has just made the user, this waits for it, and locks the row.
const INSERT_USER = `INSERT INTO users (id_hash, user_id, revision) VALUES (?, ?, 0)
ON CONFLICT (id_hash) DO UPDATE SET revision = users.revision RETURNING user_no, revision`;

const PUT_TURNS = `INSERT INTO turns
SELECT ?, ?, turn, status, removed, first_seq, last_seq, created_at
FROM unnest(?::bigint[], ?::text[], ?::integer[], ?::bigint[], ?::bigint[], ?::text[])
AS t (turn, status, removed, first_seq, last_seq, created_at) ON CONFLICT (session_no, turn)
DO UPDATE SET status = excluded.status, last_seq = excluded.last_seq`;

const INSERT_MESSAGES = `INSERT INTO messages (user_no, session_no, seq, created_at, message, removed)
SELECT ?, ?, seq, created_at, message, removed
FROM unnest(?::bigint[], ?::text[], ?::text[], ?::integer[])
AS m (seq, created_at, message, removed)`;

const MESSAGES = `SELECT seq, created_at, message, removed FROM messages
WHERE session_no = ? AND seq BETWEEN ? AND ? ORDER BY seq`;

const COUNT = `SELECT (SELECT count(*) FROM turns WHERE session_no = ANY (?)),
(SELECT count(*) FROM messages WHERE session_no = ANY (?))`;

/** Wait for the user's other writers and keep them waiting; makes the user if need be. */
export async function lockUser(transaction: Transaction, userId: string): Promise<UserRows> {
  const hash = idHash(userId);
  let [row] = await transaction.run(`${USER} FOR UPDATE`, [hash]);
  if (!row) [row] = await transaction.run(INSERT_USER, [hash, canonicalJson(userId)]);
  return new UserRows(transaction, userId, Number(row?.[0]), Number(row?.[1]));
}

/** Return what there is of the user, for reading. */
export async function lookUpUser(transaction: Transaction, userId: string): Promise<UserRows> {
  const [row] = await transaction.run(USER, [idHash(userId)]);
  return new UserRows(transaction, userId, row ? Number(row[0]) : null, row ? Number(row[1]) : 0);
}

/** What a transaction does with the rows of the user that it names. */
export class UserRows {
  readonly #transaction: Transaction;
  readonly #userId: string;
  readonly #userNo: number | null;
  #revision: number;

  constructor(transaction: Transaction, userId: string, userNo: number | null, revision: number) {
    this.#transaction = transaction;
    this.#userId = userId;
    this.#userNo = userNo;
    this.#revision = revision;
  }

  /**
   * Return the user's sessions by revision, `ASC` or `DESC`, with their numbers.
   *
   * At most `limit`; null is all.
   */
  async sessions(order: "ASC" | "DESC", limit: number | null): Promise<[number, Session][]> {
    const sql = `${SESSION} WHERE user_no = ? ORDER BY revision ${order} LIMIT ?`;
    const rows = await this.#transaction.run(sql, [this.#userNo, limit]);
    return rows.map((row) => [Number(row[0]), readSession(decoded(row), this.#userId)]);
  }

  /** Return a session with its number and lease, or throw `SessionNotFoundError`. */
  async find(sessionId: string): Promise<[number, Session, Lease | null]> {
    const sql = `${SESSION} WHERE user_no = ? AND id_hash = ?`;
    const [found] = await this.#transaction.run(sql, [this.#userNo, idHash(sessionId)]);
    if (!found) throw new SessionNotFoundError(this.#userId, sessionId);
    const row = decoded(found);
    return [Number(row[0]), readSession(row, this.#userId), readLease(row)];
  }

  /** Return a session's number and its state. */
  async state(sessionId: string): Promise<[number | null, State]> {
    const revision = this.#revision + 1;
    const found = await this.find(sessionId).catch((error: unknown) => {
      if (error instanceof SessionNotFoundError) return null;
      throw error;
    });
    if (found === null) return [null, noSession(this.#userId, sessionId, revision)];
    const [sessionNo, session, lease] = found;
    const last = await this.#turnAt(sessionNo, session.last_seq);
    const windowLast = await this.#turnAt(sessionNo, endOf(session.window));
    const userId = this.#userId;
    return [sessionNo, { userId, sessionId, revision, session, lease, last, windowLast }];
  }

  /** Return a session's messages within these ranges that were not removed. */
  async messages(sessionNo: number | null, ranges: Ranges): Promise<StoredMessage[]> {
    const found: StoredMessage[] = [];
    for (const [first, last] of ranges) {
      const rows = await this.#transaction.run(MESSAGES, [sessionNo, first, last]);
      found.push(...rows.filter((row) => row[3] === 0).map(readStoredMessage));
    }
    return found;
  }

  /** Return the newest turns that were not removed, numbered below `before`. */
  async turns(
    sessionNo: number,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]> {
    const values = [sessionNo, before ?? ALL, limit];
    const rows = (await this.#transaction.run(NEWEST_TURNS, values)).reverse();
    const messages = await this.#messagesOf(sessionNo, rows);
    return rows.map((row, i) => ({
      ...readStoredTurn(row),
      messages: (messages[i] ?? []).filter((each) => each[3] === 0).map(readStoredMessage),
    }));
  }

  /** Return a session with all its rows. */
  async document(sessionNo: number, session: Session): Promise<SessionDocument> {
    const sql = `${TURN} WHERE session_no = ? ORDER BY turn`;
    const rows = await this.#transaction.run(sql, [sessionNo]);
    const messages = await this.#messagesOf(sessionNo, rows);
    const turns = rows.map((row, i) => ({
      ...readTurnDocument(row),
      messages: (messages[i] ?? []).map(readMessageDocument),
    }));
    return writeSheet({ session, turns, lease: null });
  }

  /** Write a change on the session, which is made where it has no number. */
  async write(sessionNo: number | null, change: Change): Promise<void> {
    const { session, lease, turns = [], messages = [], removeTurns, removeMessages } = change;
    const number = sessionNo ?? (await this.#insertSession(session));
    const holder = lease ? [canonicalJson(lease.holder), lease.until] : [null, null];
    await this.#transaction.run(UPDATE_SESSION, [...encoded(session), ...holder, number]);
    if (removeTurns !== undefined) {
      const sql = "UPDATE turns SET removed = 1 WHERE session_no = ? AND turn >= ? AND removed = 0";
      await this.#transaction.run(sql, [number, removeTurns]);
    }
    if (removeMessages !== undefined) {
      const sql = "UPDATE messages SET removed = 1 WHERE session_no = ? AND seq >= ?";
      await this.#transaction.run(sql, [number, removeMessages]);
    }
    await this.#put(
      number,
      turns,
      messages.map(([, stored]) => [stored, false]),
    );
    await this.#setRevision(session.revision);
  }

  /** Add a session with all its rows. */
  async insert(document: SessionDocument): Promise<Session> {
    const [number, state] = await this.state(document.session_id);
    if (number !== null) throw new SessionExistsError(this.#userId, document.session_id);
    const { session, turns } = readSheet(document, this.#userId, state.revision);
    const sessionNo = await this.#insertSession(session);
    const messages = turns.flatMap((turn) => turn.messages);
    await this.#put(
      sessionNo,
      turns.map(turnRow),
      messages.map((each) => [each, each.removed]),
    );
    await this.#setRevision(state.revision);
    return session;
  }

  /** Remove sessions by their numbers. */
  async remove(sessions: readonly (number | null)[]): Promise<Removed> {
    const [row] = await this.#transaction.run(COUNT, [sessions, sessions]);
    await this.#transaction.run("DELETE FROM sessions WHERE session_no = ANY (?)", [sessions]);
    return {
      sessions: sessions.length,
      turns: Number(row?.[0]),
      messages: Number(row?.[1]),
      purge_pending: false,
    };
  }

  /** Remove the user, of whom no session is left. */
  async removeUser(): Promise<void> {
    await this.#transaction.run("DELETE FROM users WHERE user_no = ?", [this.#userNo]);
  }

  async #setRevision(revision: number): Promise<void> {
    if (revision <= this.#revision) return;
    const sql = "UPDATE users SET revision = ? WHERE user_no = ?";
    await this.#transaction.run(sql, [revision, this.#userNo]);
    this.#revision = revision;
  }

  async #turnAt(sessionNo: number, seq: number): Promise<TurnRow | null> {
    // Nothing is before the first message, and the whole index would be passed to see that.
    if (seq === 0) return null;
    const sql = `${TURN} WHERE session_no = ? AND first_seq <= ? ORDER BY turn DESC LIMIT 1`;
    const [row] = await this.#transaction.run(sql, [sessionNo, seq]);
    return row ? readTurn(row) : null;
  }

  /**
   * Return the rows of messages of each of these turns, which are in their order.
   *
   * A join over ranges would do, but PostgreSQL may compare every message with every turn.
   */
  async #messagesOf(sessionNo: number, turns: readonly Row[]): Promise<Row[][]> {
    const found: Row[][] = turns.map(() => []);
    const firsts = turns.map((row) => Number(row[3]));
    const lasts = turns.map((row) => Number(row[4]));
    let place = 0;
    const ends = [firsts[0] ?? 0, lasts.at(-1) ?? 0];
    for (const row of await this.#transaction.run(MESSAGES, [sessionNo, ...ends])) {
      const seq = Number(row[0]);
      while (seq > (lasts[place] ?? seq)) place += 1;
      if (seq >= (firsts[place] ?? seq)) found[place]?.push(row);
    }
    return found;
  }

  async #insertSession(session: Session): Promise<number> {
    const ids = [this.#userNo, idHash(session.session_id), canonicalJson(session.session_id)];
    const sql = `${INSERT_SESSION} RETURNING session_no`;
    const [row] = await this.#transaction.run(sql, [...ids, ...encoded(session)]);
    return Number(row?.[0]);
  }

  /** Put rows in; `messages` have beside them whether they are marked as removed. */
  async #put(
    sessionNo: number,
    turns: readonly TurnRow[],
    messages: readonly [StoredMessage, boolean][],
  ): Promise<void> {
    const stored = messages.map(([each, removed]) => messageValues(each, { removed }));
    for (const [sql, rows] of [
      [PUT_TURNS, turns.map(turnValues)],
      [INSERT_MESSAGES, stored],
    ] as const) {
      const columns = rows[0]?.map((_, column) => rows.map((row) => row[column]));
      if (columns) await this.#transaction.run(sql, [this.#userNo, sessionNo, ...columns]);
    }
  }
}

/** Return a session's values from `system_prompt` to `updated_at`, the prompt as JSON. */
function encoded(session: Session): Row {
  const [prompt, ...others] = sessionValues(session);
  return [prompt === null ? null : canonicalJson(String(prompt)), ...others] as Row;
}

/** Return a `SESSION` row with its id, system prompt and lease's holder as they came in. */
function decoded(row: Row): Row {
  const texts = [1, 2, 10];
  return row.map((value, i) =>
    texts.includes(i) && value !== null ? JSON.parse(String(value)) : value,
  );
}
