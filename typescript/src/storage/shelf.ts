/** `Shelf`: what a store must be able to do with its rows; all else is the same for every store. */

import type { SessionDocument } from "./documents.ts";
import type { Removed, Session, StoredMessage, StoredTurn } from "./records.ts";
import type { Rule, State } from "./rules.ts";

/**
 * What holds the rows. Each call is one transaction: all of it happens, or nothing does.
 *
 * Ids have been checked. Returned values are the caller's own. A session that is not there throws
 * `SessionNotFoundError`; in `change` and `open` it is a state without a session instead.
 */
export interface Shelf {
  /** Read the session's state, write what `rule` makes of it, return its row after that. */
  change(userId: string, sessionId: string, rule: Rule): Promise<Session>;

  /** Return a session's state and the messages of its window. */
  open(userId: string, sessionId: string): Promise<{ state: State; messages: StoredMessage[] }>;

  /** Return a user's sessions, the highest revision first, at most `limit`. */
  sessions(userId: string, limit: number | null): Promise<Session[]>;

  /** Return the newest turns that were not removed, numbered below `before`, oldest first. */
  turns(
    userId: string,
    sessionId: string,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]>;

  /** Remove a session for good, unless `check` throws. */
  remove(userId: string, sessionId: string, check: (state: State) => void): Promise<Removed>;

  /** Remove all that there is of a user. */
  forget(userId: string): Promise<Removed>;

  /** Return one session, or all of a user's by ascending revision, with all their rows. */
  read(userId: string, sessionId: string | null): Promise<SessionDocument[]>;

  /** Add sessions in their order; throws `SessionExistsError` and then adds none of them. */
  insert(userId: string, sessions: readonly SessionDocument[]): Promise<Session[]>;

  /** Give back what the shelf holds open. */
  close(): Promise<void>;
}
