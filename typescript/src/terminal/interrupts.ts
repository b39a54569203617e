/** Ctrl-C stops what is running, and never the program. */

/**
 * Takes Ctrl-C for as long as the program runs.
 *
 * `idle` is called where nothing is running that could be stopped.
 */
export class Interrupts {
  readonly #idle: () => void;
  #running: AbortController | null = null;

  constructor(idle: () => void) {
    this.#idle = idle;
    process.on("SIGINT", () => this.#interrupt());
  }

  /** Wait for `work`, or until Ctrl-C aborts its signal; returns whether it came to its end. */
  async run(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const running = new AbortController();
    this.#running = running;
    try {
      await work(running.signal);
    } catch (error) {
      if (!running.signal.aborted) throw error;
    } finally {
      this.#running = null;
    }
    return !running.signal.aborted;
  }

  #interrupt(): void {
    // Aborting twice is nothing, so a second Ctrl-C does not stop the clearing up that follows.
    if (this.#running) this.#running.abort();
    else this.#idle();
  }
}

/** Wait for what knows no signal, but no longer than until Ctrl-C. */
export function unlessStopped<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return Promise.race([work, promise]);
}
