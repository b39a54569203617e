/** `SqliteStore`: sessions in one SQLite file, which both languages may use at the same time. */

import type { SQLInputValue } from "node:sqlite";
import { SessionExistsError, SessionNotFoundError } from "../core/errors.ts";
import { Database } from "./database.ts";
import type { SessionDocument } from "./documents.ts";
import { readSheet, turnRow, writeSheet } from "./documents.ts";
import type { Removed, Session, StoredMessage, StoredTurn, StoreOptions } from "./records.ts";
import { endOf, systemClock, timestamp } from "./records.ts";
import {
  INSERT_MESSAGE,
  INSERT_SESSION,
  idHash,
  MESSAGE,
  MESSAGES_OF_TURNS,
  messageValues,
  NEWEST_TURNS,
  PUT_TURN,
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
import type { Change, Rule, State, TurnRow } from "./rules.ts";
import { noSession } from "./rules.ts";
import type { Shelf } from "./shelf.ts";
import { Store } from "./store.ts";

/** More than there are of anything. */
const ALL = 2 ** 53 - 1;

/**
 * Keeps sessions in the SQLite file at `path`, made if there is none.
 *
 * Several processes of both languages may use the file at once. Close it, or declare it with
 * `await using`. Throws `StoreDamagedError`, `NotAStoreError` and `StoreTooNewError`, and leaves
 * such a file as it is; every call may throw `StoreFullError` and `StoreUnavailableError`.
 */
export class SqliteStore extends Store {
  constructor(path: string, options: StoreOptions = {}) {
    const { clock = systemClock } = options;
    super(new SqliteShelf(new Database(path, timestamp(clock()))), options);
  }
}

/** Holds rows in the tables that `migrations` made. */
class SqliteShelf implements Shelf {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async change(userId: string, sessionId: string, rule: Rule): Promise<Session> {
    return this.#database.transact("IMMEDIATE", () => {
      let { userNo, revision } = this.#user(userId);
      let { sessionNo, state } = this.#state(userId, sessionId);
      const change = rule(state);
      if (sessionNo === null) {
        userNo ??= this.#insertUser(userId);
        sessionNo = this.#insertSession(userNo, change.session);
      }
      this.#write(sessionNo, change);
      if (change.session.revision > revision) this.#setRevision(userNo, change.session.revision);
      return change.session;
    });
  }

  async open(
    userId: string,
    sessionId: string,
  ): Promise<{ state: State; messages: StoredMessage[] }> {
    return this.#database.transact("DEFERRED", () => {
      const { sessionNo, state } = this.#state(userId, sessionId);
      const ends = "seq BETWEEN ? AND ? AND removed = 0";
      const sql = `${MESSAGE} WHERE session_no = ? AND ${ends} ORDER BY seq`;
      const messages = (state.session?.window ?? []).flatMap(([first, last]) =>
        this.#database.rows(sql, [sessionNo, first, last]).map(readStoredMessage),
      );
      return { state, messages };
    });
  }

  async sessions(userId: string, limit: number | null): Promise<Session[]> {
    return this.#database.transact("DEFERRED", () => {
      const sql = `${SESSION} WHERE user_no = ? ORDER BY revision DESC LIMIT ?`;
      const { userNo } = this.#user(userId);
      const rows = this.#database.rows(sql, [userNo, limit ?? ALL]);
      return rows.map((row) => readSession(row, userId));
    });
  }

  async turns(
    userId: string,
    sessionId: string,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]> {
    return this.#database.transact("DEFERRED", () => {
      const sessionNo = this.#find(userId, sessionId);
      const ends = [before ?? ALL, limit ?? ALL];
      const rows = this.#database.rows(NEWEST_TURNS, [sessionNo, ...ends]).reverse();
      const turns = new Map(rows.map((row) => [row[0], readStoredTurn(row)]));
      const [first, last] = [rows[0]?.[0], rows.at(-1)?.[0]];
      if (first !== undefined && last !== undefined) {
        const sql = `${MESSAGES_OF_TURNS} AND t.removed = 0 AND m.removed = 0 ORDER BY m.seq`;
        for (const [turn, ...row] of this.#database.rows(sql, [sessionNo, first, last])) {
          turns.get(turn ?? null)?.messages.push(readStoredMessage(row));
        }
      }
      return [...turns.values()];
    });
  }

  async remove(userId: string, sessionId: string, check: (state: State) => void): Promise<Removed> {
    const removed = await this.#database.transact("IMMEDIATE", () => {
      const { sessionNo, state } = this.#state(userId, sessionId);
      check(state);
      return this.#remove([sessionNo]);
    });
    return this.#purged(removed);
  }

  async forget(userId: string): Promise<Removed> {
    const removed = await this.#database.transact("IMMEDIATE", () => {
      const { userNo } = this.#user(userId);
      const rows = this.#database.rows(`${SESSION} WHERE user_no = ?`, [userNo]);
      const counted = this.#remove(rows.map((row) => Number(row[0])));
      this.#database.run("DELETE FROM users WHERE user_no = ?", [userNo]);
      return counted;
    });
    return this.#purged(removed);
  }

  async read(userId: string, sessionId: string | null): Promise<SessionDocument[]> {
    return this.#database.transact("DEFERRED", () => {
      const rows =
        sessionId === null
          ? this.#database.rows(`${SESSION} WHERE user_no = ? ORDER BY revision`, [
              this.#user(userId).userNo,
            ])
          : this.#database.rows(`${SESSION} WHERE session_no = ?`, [this.#find(userId, sessionId)]);
      return rows.map((row) => this.#document(Number(row[0]), readSession(row, userId)));
    });
  }

  async insert(userId: string, sessions: readonly SessionDocument[]): Promise<Session[]> {
    return this.#database.transact("IMMEDIATE", () => {
      let { userNo, revision } = this.#user(userId);
      userNo ??= this.#insertUser(userId);
      const added: Session[] = [];
      for (const document of sessions) {
        revision += 1;
        added.push(this.#insertDocument(userNo, userId, document, revision));
      }
      this.#setRevision(userNo, revision);
      return added;
    });
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  #user(userId: string): { userNo: number | null; revision: number } {
    const sql = "SELECT user_no, revision FROM users WHERE id_hash = ?";
    const [row] = this.#database.rows(sql, [idHash(userId)]);
    return row
      ? { userNo: Number(row[0]), revision: Number(row[1]) }
      : { userNo: null, revision: 0 };
  }

  #state(userId: string, sessionId: string): { sessionNo: number | null; state: State } {
    const { userNo, revision } = this.#user(userId);
    const sql = `${SESSION} WHERE user_no = ? AND id_hash = ?`;
    const [row] = this.#database.rows(sql, [userNo, idHash(sessionId)]);
    if (!row) return { sessionNo: null, state: noSession(userId, sessionId, revision + 1) };
    const sessionNo = Number(row[0]);
    const session = readSession(row, userId);
    const state = {
      userId,
      sessionId,
      revision: revision + 1,
      session,
      lease: readLease(row),
      last: this.#turnAt(sessionNo, session.last_seq),
      windowLast: this.#turnAt(sessionNo, endOf(session.window)),
    };
    return { sessionNo, state };
  }

  #turnAt(sessionNo: number, seq: number): TurnRow | null {
    // Nothing is before the first message, and the whole index would be passed to see that.
    if (seq === 0) return null;
    const sql = `${TURN} WHERE session_no = ? AND first_seq <= ? ORDER BY turn DESC LIMIT 1`;
    const [row] = this.#database.rows(sql, [sessionNo, seq]);
    return row ? readTurn(row) : null;
  }

  #find(userId: string, sessionId: string): number {
    const sql = `SELECT s.session_no FROM users u JOIN sessions s ON s.user_no = u.user_no
WHERE u.id_hash = ? AND s.id_hash = ?`;
    const [row] = this.#database.rows(sql, [idHash(userId), idHash(sessionId)]);
    if (!row) throw new SessionNotFoundError(userId, sessionId);
    return Number(row[0]);
  }

  #insertUser(userId: string): number {
    const sql = "INSERT INTO users (id_hash, user_id, revision) VALUES (?, ?, 0)";
    return this.#database.run(sql, [idHash(userId), userId]);
  }

  #setRevision(userNo: number | null, revision: number): void {
    this.#database.run("UPDATE users SET revision = ? WHERE user_no = ?", [revision, userNo]);
  }

  #insertSession(userNo: number, session: Session): number {
    const ids = [userNo, idHash(session.session_id), session.session_id];
    return this.#database.run(INSERT_SESSION, [...ids, ...sessionValues(session)]);
  }

  #write(sessionNo: number, change: Change): void {
    const { lease, turns = [], messages = [], removeTurns, removeMessages } = change;
    const holder: SQLInputValue[] = lease ? [lease.holder, lease.until] : [null, null];
    this.#database.run(UPDATE_SESSION, [...sessionValues(change.session), ...holder, sessionNo]);
    if (removeTurns !== undefined) {
      const sql = "UPDATE turns SET removed = 1 WHERE session_no = ? AND turn >= ? AND removed = 0";
      this.#database.run(sql, [sessionNo, removeTurns]);
    }
    if (removeMessages !== undefined) {
      const sql = "UPDATE messages SET removed = 1 WHERE session_no = ? AND seq >= ?";
      this.#database.run(sql, [sessionNo, removeMessages]);
    }
    for (const turn of turns) this.#database.run(PUT_TURN, [sessionNo, ...turnValues(turn)]);
    for (const [, stored] of messages) {
      const values = messageValues(stored, { removed: false });
      this.#database.run(INSERT_MESSAGE, [sessionNo, ...values]);
    }
  }

  #document(sessionNo: number, session: Session): SessionDocument {
    const rows = this.#database.rows(`${TURN} WHERE session_no = ? ORDER BY turn`, [sessionNo]);
    const turns = new Map(rows.map((row) => [row[0], readTurnDocument(row)]));
    const sql = `${MESSAGES_OF_TURNS} ORDER BY m.seq`;
    for (const [turn, ...row] of this.#database.rows(sql, [sessionNo, 0, ALL])) {
      turns.get(turn ?? null)?.messages.push(readMessageDocument(row));
    }
    return writeSheet({ session, turns: [...turns.values()], lease: null });
  }

  #insertDocument(
    userNo: number,
    userId: string,
    document: SessionDocument,
    revision: number,
  ): Session {
    const { session, turns } = readSheet(document, userId, revision);
    const { state } = this.#state(userId, document.session_id);
    if (state.session !== null) throw new SessionExistsError(userId, document.session_id);
    const sessionNo = this.#insertSession(userNo, session);
    for (const turn of turns) {
      this.#database.run(PUT_TURN, [sessionNo, ...turnValues(turnRow(turn))]);
      for (const message of turn.messages) {
        this.#database.run(INSERT_MESSAGE, [sessionNo, ...messageValues(message, message)]);
      }
    }
    return session;
  }

  /** Remove sessions by their numbers, and mark the file as to be purged. */
  #remove(sessions: readonly (number | null)[]): Removed {
    let turns = 0;
    let messages = 0;
    for (const number of sessions) {
      turns += this.#count("SELECT count(*) FROM turns WHERE session_no = ?", number);
      messages += this.#count("SELECT count(*) FROM messages WHERE session_no = ?", number);
      this.#database.run("DELETE FROM sessions WHERE session_no = ?", [number]);
    }
    this.#database.run("UPDATE purges SET pending = 1");
    return { sessions: sessions.length, turns, messages, purge_pending: true };
  }

  #count(sql: string, number: number | null): number {
    return Number(this.#database.rows(sql, [number])[0]?.[0]);
  }

  #purged(removed: Removed): Removed {
    return { ...removed, purge_pending: this.#database.purge() };
  }
}
