/**
 * `StoredJournal`: a conversation's memory that outlives its process, as a session of a store.
 *
 * The question is stored as a pending turn before the model is called. The answer is stored with the
 * window that it leaves, in one transaction; so opening the session again restores just that window.
 * With a summary is stored how many turns had left by then: so a later process knows which of them
 * it tells of, and finds the others in the store.
 */

import {
  InvalidLimitError,
  SessionBusyError,
  SessionExistsError,
  SessionNotFoundError,
  TandemError,
} from "../core/errors.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import type { JsonObject } from "../core/values.ts";
import { canonicalJson, wholeNumber } from "../core/values.ts";
import type { OpenedSession, Session, SessionChanges, Status } from "../storage/records.ts";
import { joinRanges } from "../storage/records.ts";
import type { Store } from "../storage/store.ts";
import { findWaiting } from "./backlog.ts";
import type { SettleOptions } from "./journal.ts";
import { Journal } from "./journal.ts";
import { Lease } from "./lease.ts";
import type { Places } from "./places.ts";
import { followWindow, lastPlace, newestQuestion, readPlaces } from "./places.ts";

/** How long to wait before trying again to get a session that another writer has. */
const PAUSE_MILLISECONDS = 50;

interface StoredJournalOptions {
  systemPrompt: string | null;
  waitMilliseconds: number;
  leaseMilliseconds: number;
  mostWaiting: number;
}

/** Writes the memory to one session of `store`, under a lease of its own for each turn. */
export class StoredJournal extends Journal {
  override readonly sessionId: string;
  readonly #store: Store;
  readonly #ids: readonly [userId: string, sessionId: string];
  readonly #wait: number;
  readonly #lease: Lease;
  readonly #mostWaiting: number;
  #session: Session;
  #places: Places = [];
  // The question of the exchange under way, while it is pending in the store.
  #question: number | null = null;
  #isAsked = false;

  private constructor(
    newMemory: () => MemoryManager,
    store: Store,
    session: Session,
    waitMilliseconds: number,
    leaseMilliseconds: number,
    mostWaiting: number,
  ) {
    super(newMemory);
    this.sessionId = session.session_id;
    this.#store = store;
    this.#ids = [session.user_id, session.session_id];
    this.#wait = waitMilliseconds;
    this.#lease = new Lease(store, ...this.#ids, leaseMilliseconds);
    this.#mostWaiting = mostWaiting;
    this.#session = session;
  }

  /**
   * Open the user's session, or make it where there is none; null makes a new one.
   *
   * `mostWaiting`: how many turns to look for that left without being summarised.
   */
  static async open(
    newMemory: () => MemoryManager,
    store: Store,
    userId: string,
    sessionId: string | null,
    { systemPrompt, waitMilliseconds, leaseMilliseconds, mostWaiting }: StoredJournalOptions,
  ): Promise<StoredJournal> {
    const wait = readMilliseconds("wait_milliseconds", waitMilliseconds, 0);
    const lease = readMilliseconds("lease_milliseconds", leaseMilliseconds, 1);
    const id = sessionId ?? (await store.createSession(userId, null, { systemPrompt })).session_id;
    let opened: OpenedSession;
    try {
      opened = await store.openSession(userId, id);
    } catch (error) {
      if (!(error instanceof SessionNotFoundError)) throw error;
      await store.createSession(userId, id, { systemPrompt }).catch((cause) => {
        if (!(cause instanceof SessionExistsError)) throw cause; // another made it just now
      });
      opened = await store.openSession(userId, id);
    }
    const { session } = opened;
    const journal = new StoredJournal(newMemory, store, session, wait, lease, mostWaiting);
    await journal.#load(opened, systemPrompt ?? session.system_prompt);
    return journal;
  }

  /** Take the session's lease, and take over what other writers have made of the session. */
  override async hold({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const session = await this.#take(signal);
    if (session.revision !== this.#session.revision) await this.#reload();
    if (this.#isAsked) {
      // The store could not be told what came of the question before.
      await this.#append([], "failed");
      this.#question = null;
      this.#isAsked = false;
    }
  }

  /** Give the lease back. */
  override async release(): Promise<void> {
    await this.#lease.end();
  }

  /** Store the question as a pending turn, or take up the one that failed with it just now. */
  override async ask(question: JsonObject | null): Promise<void> {
    await super.ask(question);
    if (question !== null) {
      this.#question = await this.#retry(question);
      if (this.#question === null) {
        await this.#append([question], "pending");
        this.#question = this.#session.last_seq;
      }
    }
    this.#isAsked = true;
  }

  /** Store `message`, how the turn stands, and the window that `memory` has, all at once. */
  override async settle({ memory, message, dropped, status }: SettleOptions): Promise<void> {
    const messages = message === null ? [] : [message];
    if (memory === null) {
      // Why the answer failed is worth more to the caller than why the store could not be told of
      // it; `hold` makes up for that.
      if (this.#isAsked && (await succeeds(this.#append(messages, status)))) {
        this.#question = null;
        this.#isAsked = false;
      }
      return;
    }
    const arrived = this.#question === null ? [] : [this.#question];
    arrived.push(this.#session.last_seq + 1);
    const question =
      this.#question ?? newestQuestion(this.#places, this.memory.snapshot().messages);
    const { parts } = memory.explain();
    const places = followWindow(this.#places, arrived, dropped, parts, question);
    await this.#append(messages, status, this.#changes(memory, places));
    this.#question = null;
    this.#isAsked = false;
    this.#places = places;
    this.memory = memory;
  }

  /** Take the window's last turn back in the store too, and what failed after it. */
  override async undo(): Promise<Message[]> {
    const memory = this.copy();
    const undone = memory.undo();
    const end = this.#places.length - undone.length;
    const [places, gone] = [this.#places.slice(0, end), this.#places.slice(end)];
    // A turn in the window may be several in the store: one that went on after a failed one.
    while (gone.includes(lastStored(this.#session))) {
      await this.#write((holder) => this.#store.undo(...this.#ids, { holder }));
    }
    this.#places = places;
    this.memory = memory;
    return undone;
  }

  /** Empty the session in the store too. */
  override async clear(): Promise<void> {
    await this.#write((holder) => this.#store.clear(...this.#ids, { holder }));
    this.#places = [];
    await super.clear();
  }

  async #take(signal: AbortSignal | undefined): Promise<Session> {
    const deadline = performance.now() + this.#wait;
    while (true) {
      signal?.throwIfAborted();
      try {
        return await this.#lease.take();
      } catch (error) {
        if (!(error instanceof SessionBusyError) || performance.now() >= deadline) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
  }

  /** Make the memory what the session holds, within this conversation's limits. */
  async #load(
    { session, messages: rows }: OpenedSession,
    systemPrompt: string | null,
  ): Promise<void> {
    const memory = this.newMemory();
    const [waiting, droppedTurns] = await findWaiting(this.#store, session, this.#mostWaiting);
    this.waiting = waiting;
    const messages = rows.map(({ message }) => message);
    const left = memory.restore({
      version: 1,
      system_prompt: systemPrompt,
      summary: session.summary,
      dropped_turns: droppedTurns,
      messages,
    });
    const numbers = rows.map(({ seq }) => seq);
    const question = newestQuestion(numbers, messages);
    this.#places = followWindow(readPlaces(rows), [], left, memory.explain().parts, question);
    this.#session = session;
    this.memory = memory;
    this.#question = null;
    this.#isAsked = false;
  }

  /** Take over what another writer has made of the session; an unsaved system prompt stays. */
  async #reload(): Promise<void> {
    const own = this.memory.systemPrompt;
    const isSaved = own === this.#session.system_prompt;
    const opened = await this.#store.openSession(...this.#ids);
    await this.#load(opened, isSaved ? opened.session.system_prompt : own);
  }

  /** Take up the newest turn again where it failed with this question; returns its number. */
  async #retry(question: JsonObject): Promise<number | null> {
    const end = lastPlace(this.#places);
    if (end === this.#session.last_seq) return null;
    const [newest] = await this.#store.history(...this.#ids, 1);
    // A turn that failed when it went on after its tool results is still in the window.
    const first = newest?.messages[0];
    if (first === undefined || first.seq <= end) return null;
    let retried: number | null = null;
    await this.#write(async (holder) => {
      const turn = await this.#store.retryTurn(...this.#ids, question, { holder });
      retried = turn?.messages[0]?.seq ?? null;
      return null;
    });
    return retried;
  }

  #changes(memory: MemoryManager, places: Places): SessionChanges {
    const { systemPrompt, droppedTurns, summary: told } = memory;
    const isBehind = told !== null && told.turns !== droppedTurns;
    const summary = (
      isBehind ? { ...told, dropped_turns: droppedTurns } : told
    ) as JsonObject | null;
    const { system_prompt: storedPrompt, summary: storedSummary } = this.#session;
    const isSame = canonicalJson(summary) === canonicalJson(storedSummary);
    return {
      window: joinRanges(
        [],
        places.filter((place) => place !== null),
      ),
      ...(systemPrompt === storedPrompt ? {} : { system_prompt: systemPrompt }),
      ...(isSame ? {} : { summary }),
    };
  }

  async #append(
    messages: readonly unknown[],
    status: Status,
    changes: SessionChanges = {},
  ): Promise<void> {
    await this.#write((holder) =>
      this.#store.append(...this.#ids, messages, { status, changes, holder }),
    );
  }

  async #write(call: (holder: string) => Promise<Session | null>): Promise<void> {
    this.#session = await this.#lease.write(call);
  }
}

function readMilliseconds(name: string, value: unknown, least: number): number {
  const whole = wholeNumber(value);
  if (whole === null || whole < least) {
    throw new InvalidLimitError(name, value, `a whole number from ${least} up`);
  }
  return whole;
}

function lastStored({ window }: Session): number {
  return window.at(-1)?.[1] ?? 0;
}

async function succeeds(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof TandemError) return false;
    throw error;
  }
}
