/** `Lock`: Python takes its own from `threading` and `asyncio`. */

/** Lets one work at a time be done, in the order in which they were asked for. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /** Do `work` once all before it is done; returns what comes of it. */
  hold<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
