/**
 * What each call makes of a session: pure functions from its state to a change.
 *
 * They are the same for every store. A store's shelf reads a `State`, hands it to one of these
 * functions, and writes the `Change` that comes back, all in one transaction; after an error
 * nothing is written.
 */

import {
  InvalidDocumentError,
  SessionBusyError,
  SessionExistsError,
  SessionNotFoundError,
} from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { Session, SessionChanges, Status, StoredMessage } from "./records.ts";
import { cutRanges, endOf, joinRanges, timestamp } from "./records.ts";

/** Who alone may write to a session, and until when (milliseconds since 1970). */
export interface Lease {
  readonly holder: string;
  readonly until: number;
}

/** A turn without its messages; it holds those from `first_seq` to `last_seq`. */
export interface TurnRow {
  readonly turn: number;
  readonly status: Status;
  readonly removed: boolean;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly created_at: string;
}

/**
 * What a rule reads: a session's row (null: there is none), its lease, and two of its turns.
 *
 * `last` is the newest turn, removed or not; `windowLast` the turn of the window's last message.
 * `revision` is the next one of the user.
 */
export interface State {
  readonly userId: string;
  readonly sessionId: string;
  readonly revision: number;
  readonly session: Session | null;
  readonly lease: Lease | null;
  readonly last: TurnRow | null;
  readonly windowLast: TurnRow | null;
}

/** Return the state of a session that is not there. */
export function noSession(userId: string, sessionId: string, revision: number): State {
  return { userId, sessionId, revision, session: null, lease: null, last: null, windowLast: null };
}

/**
 * What a shelf writes: the session's row and lease as they shall be, and rows of other tables.
 *
 * Turns from `removeTurns` on and messages from `removeMessages` on are marked as removed. Then
 * `turns` are put in by their number, and `messages` (of the turn beside them), which are new.
 */
export interface Change {
  readonly session: Session;
  readonly lease: Lease | null;
  readonly turns?: readonly TurnRow[];
  readonly messages?: readonly (readonly [number, StoredMessage])[];
  readonly removeTurns?: number | undefined;
  readonly removeMessages?: number | undefined;
}

export type Rule = (state: State) => Change;

interface Writing {
  readonly holder: string | null;
  readonly now: number;
}

/** Make the session; throws `SessionExistsError` where there is one of this id. */
export function createSession(
  state: State,
  { systemPrompt, now }: { systemPrompt: string | null; now: number },
): Change {
  if (state.session !== null) throw new SessionExistsError(state.userId, state.sessionId);
  const session: Session = {
    user_id: state.userId,
    session_id: state.sessionId,
    system_prompt: systemPrompt,
    summary: null,
    window: [],
    last_seq: 0,
    last_turn: 0,
    revision: state.revision,
    created_at: timestamp(now),
    updated_at: timestamp(now),
  };
  return { session, lease: null };
}

/** Set fields of the session. */
export function updateSession(
  state: State,
  { changes, holder, now }: { changes: SessionChanges } & Writing,
): Change {
  const session = requireWritable(state, { holder, now });
  return { session: touch(state, session, changes, now), lease: state.lease };
}

/**
 * Put messages behind the last: a user message opens a turn, all others join the newest one.
 *
 * One that was removed, or that failed out of the window, is joined by none: they open another. What
 * joins one that failed in the window takes the place of the part that came of its answer. The
 * newest turn takes `status`. One still pending when the next opens has failed. Without a `window`
 * in `changes`, the messages join the window if the turn has an answer, and those that waited for
 * it with them.
 */
export function appendMessages(
  state: State,
  {
    messages,
    status,
    changes,
    holder,
    now,
  }: { messages: readonly Message[]; status: Status; changes: SessionChanges } & Writing,
): Change {
  const session = requireWritable(state, { holder, now });
  let { last_seq: seq, last_turn: number } = session;
  const at = timestamp(now);
  let turn = state.last;
  const isOut = turn?.status === "failed" && turn.turn !== state.windowLast?.turn;
  if (turn?.removed || isOut) turn = null;
  let part: number | undefined;
  if (turn?.status === "failed" && messages[0] && messages[0].role !== "user") {
    part = endOf(session.window) + 1;
  }
  let start = seq + 1;
  const turns = new Map<number, TurnRow>();
  const rows: [number, StoredMessage][] = [];
  for (const message of messages) {
    seq += 1;
    if (turn === null || message.role === "user") {
      if (turn?.status === "pending") {
        turns.set(turn.turn, withStatus(turn, "failed"));
        start = seq;
      }
      number += 1;
      turn = newTurn(number, seq, at);
    }
    turn = { ...turn, last_seq: seq };
    turns.set(turn.turn, turn);
    rows.push([turn.turn, { seq, created_at: at, message }]);
  }
  if (turn !== null) turns.set(turn.turn, withStatus(turn, status));
  let { window } = session;
  if (status === "complete" || status === "interrupted") {
    if (turn?.status === "pending") start = Math.max(turn.first_seq, endOf(window) + 1);
    const joining = Array.from({ length: seq + 1 - start }, (_, i) => start + i);
    window = joinRanges(window, joining);
  }
  const appended = { ...session, window, last_seq: seq, last_turn: number };
  return {
    session: touch(state, appended, changes, now),
    lease: state.lease,
    turns: [...turns.values()],
    messages: rows,
    removeMessages: part,
  };
}

/**
 * Take up the failed turn again: all but its user message is marked as removed.
 *
 * Nothing changes where another turn was opened since, even one that was undone. Throws
 * `SessionBusyError` where somebody else took it up.
 */
export function retryTurn(state: State, { turn, holder, now }: { turn: number } & Writing): Change {
  const session = requireWritable(state, { holder, now });
  const { last } = state;
  if (last?.turn !== turn) return { session, lease: state.lease };
  if (last.removed || last.status !== "failed") {
    throw new SessionBusyError(state.userId, state.sessionId);
  }
  return {
    session: touch(state, session, {}, now),
    lease: state.lease,
    turns: [withStatus(last, "pending")],
    removeMessages: last.first_seq + 1,
  };
}

/** Remove the window's last turn and what came after it; none that left it comes back. */
export function undoTurn(state: State, { holder, now }: Writing): Change {
  const session = requireWritable(state, { holder, now });
  const last = state.windowLast;
  if (last === null) return { session, lease: state.lease };
  const window = cutRanges(session.window, last.first_seq);
  const undone = touch(state, session, { window }, now);
  return { session: undone, lease: state.lease, removeTurns: last.turn };
}

/** Remove all turns and the summary. */
export function clearTurns(state: State, { holder, now }: Writing): Change {
  const session = requireWritable(state, { holder, now });
  const cleared = touch(state, session, { window: [], summary: null }, now);
  return { session: cleared, lease: state.lease, removeTurns: 1 };
}

function newTurn(number: number, seq: number, at: string): TurnRow {
  return {
    turn: number,
    status: "complete",
    removed: false,
    first_seq: seq,
    last_seq: seq,
    created_at: at,
  };
}

/** Return the turn with another status. */
export function withStatus(turn: TurnRow, status: Status): TurnRow {
  return { ...turn, status };
}

/** Return the session, or throw `SessionNotFoundError`. */
export function requireSession(state: State): Session {
  if (state.session === null) throw new SessionNotFoundError(state.userId, state.sessionId);
  return state.session;
}

/**
 * Return the session if `holder` may write to it.
 *
 * A holder must still have the lease that it took: another one may have gone on since. Without a
 * holder, nobody's lease may run. Throws `SessionBusyError` and `SessionNotFoundError`.
 */
export function requireWritable(state: State, { holder, now }: Writing): Session {
  const session = requireSession(state);
  const { lease } = state;
  const free = holder === null ? lease === null || lease.until <= now : lease?.holder === holder;
  if (!free) throw new SessionBusyError(state.userId, state.sessionId);
  return session;
}

/** Return the session with these changes, and as just changed; throws `InvalidDocumentError`. */
export function touch(
  state: State,
  session: Session,
  changes: SessionChanges,
  now: number,
): Session {
  const changed = { ...session, ...changes };
  if (endOf(changed.window) > changed.last_seq) {
    throw new InvalidDocumentError("window", `goes beyond last_seq, ${changed.last_seq}`);
  }
  return { ...changed, revision: state.revision, updated_at: timestamp(now) };
}
