/**
 * What a store holds, as plain values: sessions, turns, messages, and the ids that name them.
 *
 * All of them are JSON objects with the same names in both languages and in every store. Times are
 * ISO 8601 texts in UTC with milliseconds; they are for people, nothing is ever ordered by them.
 */

import { InvalidIdError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { JsonObject } from "../core/values.ts";
import { canonicalJson } from "../core/values.ts";

/** How a turn stands: its answer is awaited, there, failed, or was stopped by its reader. */
export type Status = "pending" | "complete" | "failed" | "interrupted";

/** Ascending pairs `[first, last]` of sequence numbers, both ends included. */
export type Ranges = [number, number][];

/**
 * One conversation of one user, without its messages.
 *
 * `window` says which messages a model is sent, but for those in it that are marked as removed.
 * `last_seq` and `last_turn` are the highest numbers ever given in this session; none is given
 * twice. `revision` grows with every change and is another one in each of a user's sessions: the
 * highest is the session used last.
 */
export interface Session {
  user_id: string;
  session_id: string;
  system_prompt: string | null;
  summary: JsonObject | null;
  window: Ranges;
  last_seq: number;
  last_turn: number;
  revision: number;
  created_at: string;
  updated_at: string;
}

/** What may be set on a session; what is absent stays as it is. */
export interface SessionChanges {
  system_prompt?: string | null;
  summary?: JsonObject | null;
  window?: Ranges;
}

/** A message with its sequence number in the session, which alone orders it. */
export interface StoredMessage {
  seq: number;
  created_at: string;
  message: Message;
}

/** A turn with its number in the session, from one user message up to the next. */
export interface StoredTurn {
  turn: number;
  status: Status;
  created_at: string;
  messages: StoredMessage[];
}

/** A session with the messages of its window, oldest first. */
export interface OpenedSession {
  session: Session;
  messages: StoredMessage[];
}

/**
 * What was removed for good. `purge_pending`: its bytes leave the file at the next open.
 *
 * That is so where somebody else was reading the file, or writing it, all the while.
 */
export interface Removed {
  sessions: number;
  turns: number;
  messages: number;
  purge_pending: boolean;
}

/** Where a store takes its time (milliseconds since 1970) and the ids of new sessions from. */
export interface StoreOptions {
  clock?: (() => number) | undefined;
  newId?: (() => string) | undefined;
}

/**
 * Return `value` as an id: any text but the empty one, never normalised, cut or folded.
 *
 * A lone surrogate is refused: it has no UTF-8, so SQLite could not hold it. Throws
 * `InvalidIdError`, which calls the id by `name`.
 */
export function readId(name: string, value: unknown): string {
  if (typeof value !== "string") throw new InvalidIdError(name, "wrong_type", "must be a string");
  if (value === "") {
    throw new InvalidIdError(name, "empty", "is empty; it must be at least one character long");
  }
  if (!value.isWellFormed()) {
    throw new InvalidIdError(name, "lone_surrogate", "holds half of a surrogate pair");
  }
  return value;
}

/** Return both as ids, or throw `InvalidIdError`. */
export function readIds(userId: unknown, sessionId: unknown): [string, string] {
  return [readId("user_id", userId), readId("session_id", sessionId)];
}

/** Return the one text of a message, in which stores keep and compare it. */
export function messageText(message: Message): string {
  return canonicalJson(message as unknown as JsonObject);
}

/** Return the time in milliseconds since 1970, UTC. */
export function systemClock(): number {
  return Date.now();
}

/** Return a clock's time as records hold it: `2026-11-30T07:46:02.123Z`. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Return the last number in `ranges`, 0 where there is none. */
export function endOf(ranges: Ranges): number {
  return ranges.at(-1)?.[1] ?? 0;
}

/** Return `ranges` with ascending `seqs` put behind them. */
export function joinRanges(ranges: Ranges, seqs: Iterable<number>): Ranges {
  const joined: Ranges = ranges.map(([first, last]) => [first, last]);
  for (const seq of seqs) {
    const newest = joined.at(-1);
    if (newest?.[1] === seq - 1) newest[1] = seq;
    else joined.push([seq, seq]);
  }
  return joined;
}

/** Return what of `ranges` lies before the sequence number `end`. */
export function cutRanges(ranges: Ranges, end: number): Ranges {
  return ranges
    .filter(([first]) => first < end)
    .map(([first, last]) => [first, Math.min(last, end - 1)]);
}
