/**
 * `Store`: the sessions of many users, behind one interface whatever holds them.
 *
 * The calls and their rules are written once, here and in `rules`. What differs from one store to
 * the next is its shelf: where the rows are, and how a change to them is made all at once.
 */

import { readMessage } from "../core/messages.ts";
import type { Export } from "./exports.ts";
import {
  readChanges,
  readCount,
  readExport,
  readStatus,
  readStored,
  writeExport,
} from "./exports.ts";
import { failPending, isDeserted, releaseLease, takeLease } from "./leases.ts";
import type {
  OpenedSession,
  Removed,
  Session,
  SessionChanges,
  Status,
  StoredTurn,
  StoreOptions,
} from "./records.ts";
import { messageText, readId, readIds, systemClock } from "./records.ts";
import type { Change, State } from "./rules.ts";
import {
  appendMessages,
  clearTurns,
  createSession,
  requireWritable,
  retryTurn,
  undoTurn,
  updateSession,
} from "./rules.ts";
import type { Shelf } from "./shelf.ts";

/** How long a lease runs unless it is prolonged; a heartbeat every third of it is enough. */
export const LEASE_MILLISECONDS = 30_000;

export interface HolderOptions {
  holder?: string | undefined;
}

/**
 * The sessions of users; see `MemoryStore`, `SqliteStore` and `JsonStore`.
 *
 * Every call names the user first, and sees that user's sessions alone. Ids are any text but the
 * empty one (`InvalidIdError`). A call on a session that is not there throws
 * `SessionNotFoundError`. Messages and records are copied on their way in and out. After an error
 * the store is as it was before the call.
 *
 * `holder`: a call that writes to a session is refused with `SessionBusyError` while somebody else
 * holds its lease; whoever took the lease names itself with each call.
 * `clock`: the time in milliseconds since 1970. `newId`: makes the id of a session without one.
 */
export class Store {
  readonly #shelf: Shelf;
  readonly #clock: () => number;
  readonly #newId: () => string;

  constructor(
    shelf: Shelf,
    { clock = systemClock, newId = () => crypto.randomUUID() }: StoreOptions = {},
  ) {
    this.#shelf = shelf;
    this.#clock = clock;
    this.#newId = newId;
  }

  /** Make a session, of an id of its own where none is given; throws `SessionExistsError`. */
  async createSession(
    userId: string,
    sessionId: string | null = null,
    { systemPrompt = null }: { systemPrompt?: string | null | undefined } = {},
  ): Promise<Session> {
    const made = sessionId === null ? this.#newId() : sessionId;
    const { system_prompt: prompt = null } = readChanges({ system_prompt: systemPrompt });
    return this.#change(userId, made, (state, now) =>
      createSession(state, { systemPrompt: prompt, now }),
    );
  }

  /**
   * Return a session with the messages of its window, at a cost of the window alone.
   *
   * A turn that a dead process left pending becomes failed once its lease has run out.
   */
  async openSession(userId: string, sessionId: string): Promise<OpenedSession> {
    const { state, messages } = await this.#shelf.open(...readIds(userId, sessionId));
    let { session } = state;
    if (session === null || isDeserted(state, this.#clock())) {
      session = await this.#change(userId, sessionId, (each, now) => failPending(each, { now }));
    }
    return { session, messages };
  }

  /** Return a user's sessions, the one used last first, at most `limit`; null is all. */
  async listSessions(userId: string, limit: number | null = null): Promise<Session[]> {
    readId("user_id", userId);
    return this.#shelf.sessions(userId, readCount("limit", limit));
  }

  /** Remove a session for good, what `undo` and `clear` had only marked included. */
  async deleteSession(
    userId: string,
    sessionId: string,
    { holder }: HolderOptions = {},
  ): Promise<Removed> {
    const ids = readIds(userId, sessionId);
    const writing = { holder: holder ?? null, now: this.#clock() };
    return this.#shelf.remove(...ids, (state) => void requireWritable(state, writing));
  }

  /**
   * Store messages behind the last one, and set the newest turn's status and what changed.
   *
   * A user message opens a turn; all others join the newest one. A turn still pending when the next
   * opens has failed. Where `changes` has no `window`, the messages join it, unless the turn is
   * pending or has failed; those of a pending turn join it with the answer. The messages got the
   * numbers up to the `last_seq` returned. Throws `InvalidMessageError`; a system message is one,
   * as the system prompt has its field.
   */
  async append(
    userId: string,
    sessionId: string,
    messages: readonly unknown[],
    {
      status = "complete",
      changes = {},
      holder,
    }: {
      status?: Status | undefined;
      changes?: SessionChanges | undefined;
    } & HolderOptions = {},
  ): Promise<Session> {
    const read = {
      messages: messages.map((message, i) => readStored(message, `messages[${i}]`)),
      status: readStatus(status),
      changes: readChanges(changes),
      holder: holder ?? null,
    };
    return this.#change(userId, sessionId, (state, now) => appendMessages(state, { ...read, now }));
  }

  /** Set the session's system prompt, summary or window; what is absent stays. */
  async updateSession(
    userId: string,
    sessionId: string,
    changes: SessionChanges,
    { holder }: HolderOptions = {},
  ): Promise<Session> {
    const read = { changes: readChanges(changes), holder: holder ?? null };
    return this.#change(userId, sessionId, (state, now) => updateSession(state, { ...read, now }));
  }

  /**
   * Take up the newest turn again if it failed and `message` is its user message.
   *
   * It is pending then, and its user message is all that is left in it: so asking once more stores
   * nothing twice. Returns null where there is no such turn, or one that was opened since was
   * undone: that was the newest.
   */
  async retryTurn(
    userId: string,
    sessionId: string,
    message: unknown,
    { holder }: HolderOptions = {},
  ): Promise<StoredTurn | null> {
    const asked = readMessage(message);
    const [turn] = await this.history(userId, sessionId, 1);
    const first = turn?.messages[0];
    if (turn?.status !== "failed" || first === undefined) return null;
    if (asked.role !== "user" || messageText(first.message) !== messageText(asked)) return null;
    const { last_turn } = await this.#change(userId, sessionId, (state, now) =>
      retryTurn(state, { turn: turn.turn, holder: holder ?? null, now }),
    );
    if (last_turn !== turn.turn) return null;
    return { ...turn, status: "pending", messages: [first] };
  }

  /**
   * Take the window's last turn back, with what failed after it.
   *
   * The rows are marked, not removed; no turn that left the window comes back.
   */
  async undo(userId: string, sessionId: string, { holder }: HolderOptions = {}): Promise<Session> {
    return this.#change(userId, sessionId, (state, now) =>
      undoTurn(state, { holder: holder ?? null, now }),
    );
  }

  /**
   * Empty the session: its turns are marked as removed, its summary is dropped.
   *
   * The system prompt stays, and no number is given a second time.
   */
  async clear(userId: string, sessionId: string, { holder }: HolderOptions = {}): Promise<Session> {
    return this.#change(userId, sessionId, (state, now) =>
      clearTurns(state, { holder: holder ?? null, now }),
    );
  }

  /**
   * Return the newest `limit` turns, oldest first, failed ones too; null is all.
   *
   * `before`: only turns with a lower number, to page backwards. Throws `InvalidLimitError`.
   */
  async history(
    userId: string,
    sessionId: string,
    limit: number | null = 20,
    { before = null }: { before?: number | null | undefined } = {},
  ): Promise<StoredTurn[]> {
    const ids = readIds(userId, sessionId);
    return this.#shelf.turns(...ids, readCount("limit", limit), readCount("before", before));
  }

  /**
   * Make `holder` the session's one writer for so long; the same call again prolongs it.
   *
   * Throws `SessionBusyError` while another has it. A turn that another left pending has failed.
   * Compare the returned `revision` with the one known: another writer may have gone on.
   */
  async acquireLease(
    userId: string,
    sessionId: string,
    holder: string,
    { milliseconds = LEASE_MILLISECONDS }: { milliseconds?: number | undefined } = {},
  ): Promise<Session> {
    readId("holder", holder);
    return this.#change(userId, sessionId, (state, now) =>
      takeLease(state, { holder, milliseconds, now }),
    );
  }

  /** End the holder's lease; where it has none, nothing changes. */
  async releaseLease(userId: string, sessionId: string, holder: string): Promise<Session> {
    readId("holder", holder);
    return this.#shelf.change(...readIds(userId, sessionId), (state) =>
      releaseLease(state, { holder }),
    );
  }

  /**
   * Return a session, or all of a user's, as one JSON document, removed rows and all.
   *
   * Its form is `shared-fixtures/schema/export.schema.json`.
   */
  async exportSessions(userId: string, sessionId: string | null = null): Promise<Export> {
    readId("user_id", userId);
    if (sessionId !== null) readId("session_id", sessionId);
    return writeExport(userId, await this.#shelf.read(userId, sessionId));
  }

  /**
   * Add the sessions of an exported document, to another user if `userId` says so.
   *
   * All of them or none: throws `InvalidDocumentError` and `SessionExistsError`.
   */
  async importSessions(
    document: unknown,
    { userId = null }: { userId?: string | null | undefined } = {},
  ): Promise<Session[]> {
    const { user_id: exported, sessions } = readExport(document);
    return this.#shelf.insert(userId === null ? exported : readId("user_id", userId), sessions);
  }

  /** Remove a user's every trace, leases notwithstanding, and tell what that was. */
  async forget(userId: string): Promise<Removed> {
    return this.#shelf.forget(readId("user_id", userId));
  }

  /** Close the store; it can't be used any more. */
  async close(): Promise<void> {
    await this.#shelf.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #change(
    userId: string,
    sessionId: string,
    rule: (state: State, now: number) => Change,
  ): Promise<Session> {
    const now = this.#clock();
    return this.#shelf.change(...readIds(userId, sessionId), (state) => rule(state, now));
  }
}
