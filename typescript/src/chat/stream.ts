/** `ChatStream`: an answer as it comes. */

import { NoAnswerError } from "../core/errors.ts";
import type { Reply } from "./exchange.ts";
import type { Lock } from "./lock.ts";

/**
 * The text of an answer, piece by piece; with `await using` it ends with its block.
 *
 * `reply`: the answer, once the stream has ended; null before, and where it failed. A stream that is
 * left before its end is interrupted, which closes the connection at once.
 */
export class ChatStream implements AsyncIterableIterator<string>, AsyncDisposable {
  reply: Reply | null = null;
  readonly #pieces: AsyncGenerator<string>;
  readonly #lock: Lock;
  readonly #closing = new AbortController();

  constructor(
    answer: (stream: ChatStream, closing: AbortSignal) => AsyncGenerator<string>,
    lock: Lock,
  ) {
    this.#pieces = answer(this, this.#closing.signal);
    this.#lock = lock;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<string>> {
    return this.#lock.hold(() => this.#pieces.next());
  }

  async return(): Promise<IteratorResult<string>> {
    await this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Read to the end and return the answer. */
  async read(): Promise<Reply> {
    await this.#lock.hold(async () => {
      for await (const _ of this.#pieces);
    });
    if (this.reply === null) throw new NoAnswerError(null); // another hand has ended it
    return this.reply;
  }

  /** Stop: interrupt the answer, unless it has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pieces.return(undefined);
  }
}
