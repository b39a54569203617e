/**
 * The summarizer of a chat: the making of a summary, and what the conversation keeps of it.
 *
 * Nothing here waits for anything.
 */

import { InvalidLimitError } from "../core/errors.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import type { Summary } from "../core/summary.ts";
import { readSummaryReply, summaryMessages } from "../core/summary.ts";
import { ThinkingSplitter } from "../core/thinking.ts";
import { wholeNumber } from "../core/values.ts";
import { Coverage } from "./coverage.ts";
import type { ModelEntry } from "./settings.ts";
import type { Delta } from "./wire.ts";

/** What of a conversation is sent to be summarised at most; less where the context is small. */
const MOST_INPUT_TOKENS = 2048;

const LEAST_INPUT_TOKENS = 64;

/** How many answers are not followed by a try at most, after tries that failed in a row. */
const MOST_PAUSE = 15;

/** What the request itself costs, and the template around it. */
const REQUEST_TOKENS = 128;

/**
 * How far a conversation is summarised, by summaries of at most `maxTokens`.
 *
 * `making`: the summary that is being made, null where none is, or where the conversation has gone
 *     on since. Throws `InvalidLimitError`.
 */
export class Summarizer {
  making: Making | null = null;
  readonly #maxTokens: number;
  #coverage = new Coverage();
  #memory: MemoryManager | null = null;
  #failures = 0;
  #pause = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = readSummaryTokens(maxTokens);
  }

  /**
   * Count an answer, and return whether a summary is to be tried after it.
   *
   * Each try costs the server its prompt cache, so after tries that failed in a row more and more
   * answers go without one: none, one, three, seven, and fifteen from then on.
   */
  countAnswer(): boolean {
    if (this.#pause === 0) return true;
    this.#pause--;
    return false;
  }

  /** Take note that the summary could not be made. */
  fail(): void {
    this.making = null;
    this.#pause = Math.min(2 ** this.#failures - 1, MOST_PAUSE);
    this.#failures++;
  }

  /**
   * Return how far `memory` is summarised.
   *
   * What was planned for another window is void; then `waiting` are the turns that had left it before
   * it was restored, and more may have left by that.
   */
  coverage(memory: MemoryManager, waiting: readonly (readonly Message[])[]): Coverage {
    if (this.#memory !== memory) {
      this.cover(memory, new Coverage(waiting).without(memory.explain().parts));
    }
    return this.#coverage;
  }

  /** Take over how far `memory` is summarised. */
  cover(memory: MemoryManager, coverage: Coverage): void {
    this.#coverage = coverage;
    this.#memory = memory;
    this.making = null;
  }

  /**
   * Return the making of the next summary, where it is time for one.
   *
   * `worst`: in thousandths, how many times its estimate a text may cost the model.
   */
  plan(memory: MemoryManager, entry: ModelEntry, worst: number): Making | null {
    const [turns, until] = this.#coverage.waiting(memory);
    const { summary } = memory;
    this.making =
      turns.length > 0
        ? new Making(this.#coverage, summary, turns, until, entry, this.#maxTokens, worst)
        : null;
    return this.making;
  }

  /** Keep the summary for the next trim, unless the conversation has gone on meanwhile. */
  keep(memory: MemoryManager, making: Making): void {
    const coverage = making.finish();
    if (this.making === making && this.#memory === memory) {
      this.cover(memory, coverage);
      making.kept = true;
      this.#failures = 0;
    }
  }
}

/**
 * The making of a summary: send `messages` under `entry`, `take` each delta, then `finish`.
 *
 * `entry` is the conversation's own, without thinking where the model can do without, and with a
 * bound on the answer. `coverage` is what the plan was made on. `kept` says whether the summary was
 * made, and the conversation has it.
 */
export class Making {
  readonly coverage: Coverage;
  kept = false;
  readonly entry: ModelEntry;
  readonly messages: readonly Message[];
  readonly #until: number;
  readonly #maxTokens: number;
  #text = "";
  #fieldThinks = false;
  #doneReason: string | null = null;

  constructor(
    coverage: Coverage,
    previous: Summary | null,
    turns: readonly (readonly Message[])[],
    until: number,
    entry: ModelEntry,
    maxTokens: number,
    worst: number,
  ) {
    this.coverage = coverage;
    const [used, maxInputTokens] = summarizing(entry, maxTokens, worst);
    this.entry = used;
    this.messages = summaryMessages(previous, turns.flat(), { maxTokens, maxInputTokens });
    this.#until = until;
    this.#maxTokens = maxTokens;
  }

  /** Take the next piece of the summary. */
  take(delta: Delta): void {
    this.#text += delta.content;
    this.#fieldThinks ||= delta.thinking !== "";
    if (delta.ending) this.#doneReason = delta.ending.doneReason;
  }

  /** Return the coverage with the summary, or throw `SummaryFailedError`. */
  finish(): Coverage {
    const opensThinking = this.entry.opensThinking && !this.#fieldThinks;
    const splitter = new ThinkingSplitter({ opensThinking });
    const written = splitter.feed(this.#text).content + splitter.finish().content;
    const maxTokens = this.#maxTokens;
    const text = readSummaryReply(written, this.#doneReason, { maxTokens });
    return new Coverage(this.coverage.backlog, this.coverage.loose, text, this.#until);
  }
}

/** Return the limit of a summary, checked, or throw `InvalidLimitError`. */
function readSummaryTokens(value: unknown): number {
  const whole = wholeNumber(value);
  if (whole === null || whole < 1) {
    throw new InvalidLimitError("summary_tokens", value, "a whole number from 1 up");
  }
  return whole;
}

/** Return the settings under which `entry` summarises, and the room for the conversation. */
function summarizing(
  entry: ModelEntry,
  maxTokens: number,
  worst: number,
): [entry: ModelEntry, room: number] {
  const { think, opensThinking, answerTokens, numCtx } = entry;
  // A model that always thinks does so before the summary, and needs room for it.
  const alwaysThinks = opensThinking || typeof think === "string";
  // Twice the limit: one that is passed is told apart from an answer that was cut off.
  const most = maxTokens * 2 + (alwaysThinks ? answerTokens : 0);
  const room = Math.floor(((numCtx - most - maxTokens - REQUEST_TOKENS) * 1000) / worst);
  const options = { ...entry.options, num_predict: most };
  const used = { ...entry, think: typeof think === "string" ? ("low" as const) : false, options };
  return [used, Math.min(Math.max(room, LEAST_INPUT_TOKENS), MOST_INPUT_TOKENS)];
}
