/**
 * `Lease`: the sole right to write to a session, held for as long as a turn takes.
 *
 * No lock of the store is held while a model speaks: a lease is a row that says who writes, and
 * until when. A heartbeat prolongs it, by a timer of its own, so that a slow model does not let it
 * run out; it keeps no process alive.
 */

import { TandemError } from "../core/errors.ts";
import type { Session } from "../storage/records.ts";
import type { Store } from "../storage/store.ts";
import { Lock } from "./lock.ts";

/** The lease of one session, which runs `milliseconds` after each beat. */
export class Lease {
  readonly #store: Store;
  readonly #ids: readonly [userId: string, sessionId: string];
  readonly #milliseconds: number;
  readonly #holder = crypto.randomUUID();
  #revision = 0;
  #timer: NodeJS.Timeout | null = null;
  readonly #lock = new Lock();

  constructor(store: Store, userId: string, sessionId: string, milliseconds: number) {
    this.#store = store;
    this.#ids = [userId, sessionId];
    this.#milliseconds = milliseconds;
  }

  /** Take it, or throw `SessionBusyError`; another writer may have gone on meanwhile. */
  take(): Promise<Session> {
    return this.#lock.hold(async () => {
      const session = await this.#acquire();
      this.#revision = session.revision;
      this.#timer = setInterval(() => this.#keepUp(), this.#milliseconds / 3);
      this.#timer.unref();
      return session;
    });
  }

  /**
   * Make `call`, which writes as the holder that it is given; returns the session after it.
   *
   * That is what `call` returns; where it returns null, the session is read anew. Throws what `call`
   * throws: `SessionBusyError` where the lease was lost.
   */
  write(call: (holder: string) => Promise<Session | null>): Promise<Session> {
    return this.#lock.hold(async () => {
      const session = (await call(this.#holder)) ?? (await this.#acquire());
      this.#revision = session.revision;
      return session;
    });
  }

  /** Give it back. Where the store can't be told, it runs out by itself. */
  end(): Promise<void> {
    return this.#lock.hold(async () => {
      if (this.#timer === null) return;
      this.#stop();
      await this.#release();
    });
  }

  async #keepUp(): Promise<void> {
    const timer = this.#timer;
    await this.#lock.hold(async () => {
      if (this.#timer === timer && timer !== null) await this.#beat().catch(unlessOurs);
    });
  }

  async #beat(): Promise<void> {
    // A process that was asleep may find that others have come and gone. What it was about to write
    // no longer fits, so it gives up, and its own next write is refused.
    const { revision } = await this.#acquire();
    if (revision === this.#revision) return;
    this.#stop();
    await this.#release();
  }

  #acquire(): Promise<Session> {
    return this.#store.acquireLease(...this.#ids, this.#holder, {
      milliseconds: this.#milliseconds,
    });
  }

  async #release(): Promise<void> {
    await this.#store.releaseLease(...this.#ids, this.#holder).catch(unlessOurs);
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}

function unlessOurs(error: unknown): void {
  if (!(error instanceof TandemError)) throw error;
}
