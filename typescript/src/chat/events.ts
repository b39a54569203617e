/** Events: what a chat tells of what it did besides answering. */

import type { ContextTruncatedError } from "../core/errors.ts";
import type { Context } from "../core/frame.ts";
import type { Message } from "../core/messages.ts";
import type { Summary } from "../core/summary.ts";
import { copyJson } from "../core/values.ts";

/** Something was recalled for a question; `context` is what of it there was room for. */
export interface Recalled {
  readonly context: Context;
  readonly type: "recalled";
}

/** A summary took the place of the one before. */
export interface Summarised {
  readonly summary: Summary;
  readonly type: "summarised";
}

/** No summary could be made, and all is as it was; what waits for one is in the next. */
export interface SummaryFailed {
  readonly error: unknown;
  readonly type: "summary_failed";
}

/** Messages left the window, oldest first. */
export interface Trimmed {
  readonly messages: readonly Message[];
  readonly type: "trimmed";
}

/**
 * The prompt was too long for the model's context.
 *
 * `askedAgain`: whether it was made shorter and sent again. Otherwise the server answered all the
 * same, to a prompt that had lost its front.
 */
export interface Truncated {
  readonly error: ContextTruncatedError;
  readonly askedAgain: boolean;
  readonly type: "truncated";
}

/** What `onEvent` is called with; `type` tells them apart. */
export type ChatEvent = Recalled | Summarised | SummaryFailed | Trimmed | Truncated;

/** Tells events to `onEvent`, once what they tell of is done. */
export class Teller {
  readonly #onEvent: ((event: ChatEvent) => unknown) | null;
  readonly #noted: ChatEvent[] = [];

  constructor(onEvent: ((event: ChatEvent) => unknown) | null) {
    this.#onEvent = onEvent;
  }

  /** Keep an event in mind. */
  note(event: ChatEvent): void {
    this.#noted.push(event);
  }

  /** Keep in mind what left the window, and the summary where it is another than before. */
  noteWindow(dropped: readonly Message[], before: Summary | null, summary: Summary | null): void {
    if (dropped.length > 0) this.note({ messages: copyJson([...dropped]), type: "trimmed" });
    if (summary && (summary.text !== before?.text || summary.turns !== before.turns)) {
      this.note({ summary, type: "summarised" });
    }
  }

  /** Tell what was kept in mind; where `onEvent` throws, the rest is told the next time. */
  tell(): void {
    while (this.#noted.length > 0) {
      const [event] = this.#noted.splice(0, 1);
      if (event) this.#onEvent?.(event);
    }
  }
}
