/**
 * Rows of the SQLite tables: the statements that name their columns, and their values as records.
 *
 * The order of the columns in a statement is that of the values here. JSON is text in its one
 * canonical form, so that the same record is the same row from either language.
 */

import { createHash } from "node:crypto";
import type { SQLInputValue } from "node:sqlite";
import { canonicalJson } from "../core/values.ts";
import type { Row } from "./database.ts";
import type { MessageDocument, TurnDocument } from "./documents.ts";
import type { Session, Status, StoredMessage, StoredTurn } from "./records.ts";
import { messageText } from "./records.ts";
import type { Lease, TurnRow } from "./rules.ts";

export const SESSION = `SELECT session_no, session_id, system_prompt, summary, window_ranges, last_seq,
last_turn, revision, created_at, updated_at, lease_holder, lease_until FROM sessions`;

export const INSERT_SESSION = `INSERT INTO sessions (user_no, id_hash, session_id, system_prompt, summary,
window_ranges, last_seq, last_turn, revision, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export const UPDATE_SESSION = `UPDATE sessions SET system_prompt = ?, summary = ?, window_ranges = ?,
last_seq = ?, last_turn = ?, revision = ?, created_at = ?, updated_at = ?, lease_holder = ?,
lease_until = ? WHERE session_no = ?`;

export const TURN = `SELECT turn, status, removed, first_seq, last_seq, created_at FROM turns`;

export const NEWEST_TURNS = `${TURN} WHERE session_no = ? AND removed = 0 AND turn < ?
ORDER BY turn DESC LIMIT ?`;

export const PUT_TURN = `INSERT INTO turns (session_no, turn, status, removed, first_seq, last_seq, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_no, turn)
DO UPDATE SET status = excluded.status, last_seq = excluded.last_seq`;

export const MESSAGE = `SELECT seq, created_at, message FROM messages`;

export const MESSAGES_OF_TURNS = `SELECT t.turn, m.seq, m.created_at, m.message, m.removed FROM turns t
JOIN messages m ON m.session_no = t.session_no AND m.seq BETWEEN t.first_seq AND t.last_seq
WHERE t.session_no = ? AND t.turn BETWEEN ? AND ?`;

export const INSERT_MESSAGE = `INSERT INTO messages (session_no, seq, created_at, message, removed)
VALUES (?, ?, ?, ?, ?)`;

/** Return what an id is found by: SHA-256 of its UTF-8, in hex. */
export function idHash(value: string): string {
  return createHash("sha256").update(value, "utf8").digest("hex");
}

/** Return a session's values from `system_prompt` to `updated_at`. */
export function sessionValues(session: Session): SQLInputValue[] {
  return [
    session.system_prompt,
    session.summary === null ? null : canonicalJson(session.summary),
    canonicalJson(session.window),
    session.last_seq,
    session.last_turn,
    session.revision,
    session.created_at,
    session.updated_at,
  ];
}

/** Return the session of a `SESSION` row. */
export function readSession(row: Row, userId: string): Session {
  return {
    user_id: userId,
    session_id: String(row[1]),
    system_prompt: row[2] === null ? null : String(row[2]),
    summary: row[3] === null ? null : JSON.parse(String(row[3])),
    window: JSON.parse(String(row[4])),
    last_seq: Number(row[5]),
    last_turn: Number(row[6]),
    revision: Number(row[7]),
    created_at: String(row[8]),
    updated_at: String(row[9]),
  };
}

/** Return the lease of a `SESSION` row. */
export function readLease(row: Row): Lease | null {
  return row[10] === null ? null : { holder: String(row[10]), until: Number(row[11]) };
}

/** Return a turn's values from `turn` to `created_at`. */
export function turnValues(turn: TurnRow): SQLInputValue[] {
  return [
    turn.turn,
    turn.status,
    Number(turn.removed),
    turn.first_seq,
    turn.last_seq,
    turn.created_at,
  ];
}

/** Return the turn of a `TURN` row. */
export function readTurn(row: Row): TurnRow {
  return {
    turn: Number(row[0]),
    status: row[1] as Status,
    removed: row[2] !== 0,
    first_seq: Number(row[3]),
    last_seq: Number(row[4]),
    created_at: String(row[5]),
  };
}

/** Return the turn of a `TURN` row, still without messages. */
export function readStoredTurn(row: Row): StoredTurn {
  return {
    turn: Number(row[0]),
    status: row[1] as Status,
    created_at: String(row[5]),
    messages: [],
  };
}

/** Return the turn of a `TURN` row with what is stored beside it, still without messages. */
export function readTurnDocument(row: Row): TurnDocument {
  return {
    turn: Number(row[0]),
    status: row[1] as Status,
    removed: row[2] !== 0,
    created_at: String(row[5]),
    messages: [],
  };
}

/** Return a message's values from `seq` to `removed`. */
export function messageValues(
  stored: StoredMessage,
  { removed }: { removed: boolean },
): SQLInputValue[] {
  const text = messageText(stored.message);
  return [stored.seq, stored.created_at, text, Number(removed)];
}

/** Return the message of a `MESSAGE` row. */
export function readStoredMessage(row: Row): StoredMessage {
  return {
    seq: Number(row[0]),
    created_at: String(row[1]),
    message: JSON.parse(String(row[2])),
  };
}

/** Return the message of a row of `MESSAGES_OF_TURNS`, its turn left out. */
export function readMessageDocument(row: Row): MessageDocument {
  return { ...readStoredMessage(row), removed: row[3] !== 0 };
}
