/**
 * The budget of a chat's window: what the model's context leaves, by its server's own count.
 *
 * Tokens are counted by the estimate, corrected as the server's counts come in. The context is the
 * one that the entry asks for, or what the model has where that is less.
 */

import { InvalidLimitError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import { estimateTokens, messageCosts, toolsCosts } from "../core/tokens.ts";
import type { CountTokens } from "../core/turns.ts";
import { countMessage } from "../core/turns.ts";
import type { JsonObject } from "../core/values.ts";
import { readLimits } from "../core/window.ts";
import { Corrections } from "./correction.ts";
import type { ModelEntry } from "./settings.ts";
import { answerRoom } from "./settings.ts";

/**
 * What the window may cost under an entry; each of several models has counts of its own.
 *
 * `maxTokens`: undefined is all that the context leaves beside the answer and the `tools`; a number
 *     is that or less, null is no limit.
 * `countTokens`: one that is not `estimateTokens` is taken as it is, and corrected only where the
 *     server refuses a prompt that it took for short enough; no other chat shares that.
 *
 * Throws `InvalidLimitError`.
 */
export class Budget {
  readonly #tools: readonly number[];
  readonly #maxTokens: number | null | undefined;
  readonly #costs: (message: Message) => number[];
  readonly #learns: boolean;
  readonly #corrections: Corrections;
  readonly #lengths = new Map<string, number | null>();

  constructor(
    tools: readonly JsonObject[],
    maxTokens: number | null | undefined,
    countTokens: CountTokens,
    corrections: Corrections,
  ) {
    this.#tools = toolsCosts(tools);
    this.#maxTokens =
      maxTokens === undefined ? undefined : readLimits(null, maxTokens, null).maxTokens;
    this.#learns = countTokens === estimateTokens;
    this.#costs = this.#learns ? messageCosts : plain(countTokens);
    this.#corrections = this.#learns ? corrections : new Corrections();
  }

  /** Return whether the entry's model was seen. */
  knows(entry: ModelEntry): boolean {
    return this.#lengths.has(placeOf(entry));
  }

  /** Take note of the model's whole context; null where its server does not say it. */
  see(entry: ModelEntry, contextLength: number | null): void {
    this.#lengths.set(placeOf(entry), contextLength);
  }

  /** Return the entry with no more context than its model has, and room for the answer. */
  fit(entry: ModelEntry): ModelEntry {
    const length = this.#lengths.get(placeOf(entry)) ?? null;
    if (length === null || length >= entry.numCtx) return entry;
    const room = Math.min(entry.answerTokens, answerRoom(length));
    return { ...entry, numCtx: length, answerTokens: room };
  }

  /** Return what the window may cost, or throw `InvalidLimitError` where that is nothing. */
  limit(entry: ModelEntry): number | null {
    if (this.#maxTokens === null) return null;
    const tools = this.#corrections.apply(entry.model, this.#tools);
    const left = entry.numCtx - entry.answerTokens - tools;
    if (left < 1) {
      const allowed = `so small that num_ctx, ${entry.numCtx}, has room for a question and tools`;
      throw new InvalidLimitError("answer_tokens", entry.answerTokens, allowed);
    }
    return this.#maxTokens === undefined ? left : Math.min(this.#maxTokens, left);
  }

  /** Return what counts a message's tokens for the entry's model. */
  counter(entry: ModelEntry): CountTokens {
    return (message) => this.#corrections.apply(entry.model, this.#costs(message));
  }

  /** Return how many times its estimate a text may cost the entry's model, in thousandths. */
  worst(entry: ModelEntry): number {
    return this.#corrections.worst(entry.model);
  }

  /**
   * Learn the server's own count of what was sent.
   *
   * Images would teach of words what is true of images alone.
   */
  learn(entry: ModelEntry, sent: readonly Message[], tokens: number): void {
    if (!this.#learns || hasImages(sent)) return;
    this.#corrections.learn(entry.model, this.#whole(sent), tokens);
  }

  /** Count what was sent as so many tokens at least from now on. */
  tighten(entry: ModelEntry, sent: readonly Message[], tokens: number): void {
    this.#corrections.tighten(entry.model, this.#whole(sent), tokens);
  }

  #whole(sent: readonly Message[]): number[] {
    const all = sent.map(this.#costs);
    return this.#tools.map((cost, i) => all.reduce((sum, costs) => sum + (costs[i] ?? 0), cost));
  }
}

/** Return whether images are among what was sent: their real costs differ most by model. */
export function hasImages(sent: readonly Message[]): boolean {
  return sent.some(({ images = [] }) => images.length > 0);
}

/** Return what tells the entry's model from those of other servers. */
function placeOf({ host, model }: ModelEntry): string {
  return JSON.stringify([host, model]);
}

/** Return a counter's tokens as costs of one group. */
function plain(countTokens: CountTokens): (message: Message) => number[] {
  return (message) => [100 * countMessage(message, countTokens), 0, 0, 0];
}
