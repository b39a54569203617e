/**
 * Rolling summaries of a chat: which turns are to be summarised next, and when a summary is put in.
 *
 * A summary is made beforehand, of the turns that the next trim is to drop, and put in together
 * with that trim: so nobody waits for it, and the prompt's front changes once. Nothing here waits
 * for anything.
 */

import { BudgetExceededError, InvalidLimitError } from "../core/errors.ts";
import type { ExplainedPart } from "../core/explanation.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import type { Summary } from "../core/summary.ts";
import { readSummaryReply, summaryMessages } from "../core/summary.ts";
import { ThinkingSplitter } from "../core/thinking.ts";
import { wholeNumber } from "../core/values.ts";
import type { ModelEntry } from "./settings.ts";
import type { Delta } from "./wire.ts";

/** How many turns may wait for a summary; the oldest go first, and stay in the store alone. */
const MOST_TURNS = 64;

/** What of a conversation is sent to be summarised at most; less where the context is small. */
const MOST_INPUT_TOKENS = 2048;

const LEAST_INPUT_TOKENS = 64;

/** What the request itself costs, and the template around it. */
const REQUEST_TOKENS = 128;

/**
 * How far a conversation is summarised; it is never changed, but replaced.
 *
 * What waits for a summary is `backlog`, then the window without its first `ahead` turns.
 *
 * `backlog`: turns that left before a summary told of them, oldest first.
 * `ahead`: how many turns in front of the window the memory's summary tells of already.
 * `text`, `turns`: the next summary, and how many of what waits it tells of; null and 0 is none.
 */
export class Coverage {
  readonly backlog: readonly (readonly Message[])[];
  readonly ahead: number;
  readonly text: string | null;
  readonly turns: number;

  constructor(
    backlog: readonly (readonly Message[])[] = [],
    ahead = 0,
    text: string | null = null,
    turns = 0,
  ) {
    this.backlog = backlog;
    this.ahead = ahead;
    this.text = text;
    this.turns = turns;
  }

  /**
   * Go on after an add to `memory` that `dropped` these; returns all that left by it.
   *
   * Once a turn of the next summary has left, that is put in. More turns leave where it needs their
   * room; the newest one stays whole, or the summary waits.
   */
  follow(memory: MemoryManager, dropped: Message[]): [coverage: Coverage, dropped: Message[]] {
    const parts = dropped.length > 0 ? memory.explain().parts : [];
    const after = this.#without(parts);
    if (after.text === null || after.backlog.length === 0 || hasSteps(parts)) {
      return [after, dropped];
    }
    const before = memory.snapshot();
    const told = memory.summary?.turns ?? 0;
    const left = putIn(memory, { text: after.text, turns: told + after.turns });
    if (left === null) {
      memory.restore(before);
      return [after, dropped];
    }
    const rest = after.backlog.slice(after.turns);
    const covering = new Coverage(rest, Math.max(after.turns - after.backlog.length, 0));
    const moved = left.length > 0 ? memory.explain().parts : [];
    return [covering.#without(moved), [...dropped, ...left]];
  }

  /** Go on after an undo, which left `memory`: the next summary may tell of what is undone. */
  undone(memory: MemoryManager): Coverage {
    const turns = memory.explain().parts.filter(({ part, kept }) => part === "turn" && kept).length;
    return new Coverage(this.backlog, Math.min(this.ahead, turns));
  }

  /** Return the making of the next summary, or null while there is one, or no need of one. */
  plan(memory: MemoryManager, entry: ModelEntry, maxTokens: number): Making | null {
    const turns = [...this.backlog, ...memory.leaving().slice(this.ahead)];
    if (this.text !== null || turns.length === 0) return null;
    return new Making(this, memory.summary, turns, entry, maxTokens);
  }

  /** Go on without the turns that `parts` says have left. */
  #without(parts: readonly ExplainedPart[]): Coverage {
    const gone = parts.filter(({ part, kept }) => part === "turn" && !kept);
    const left = gone.map(({ messages }) => messages);
    const backlog = [...this.backlog, ...left.slice(this.ahead)];
    const ahead = Math.max(this.ahead - left.length, 0);
    if (backlog.length <= MOST_TURNS) return new Coverage(backlog, ahead, this.text, this.turns);
    return new Coverage(backlog.slice(-MOST_TURNS), ahead);
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
  readonly #turns: number;
  readonly #maxTokens: number;
  #text = "";
  #fieldThinks = false;
  #doneReason: string | null = null;

  constructor(
    coverage: Coverage,
    previous: Summary | null,
    turns: readonly (readonly Message[])[],
    entry: ModelEntry,
    maxTokens: number,
  ) {
    this.coverage = coverage;
    const [used, maxInputTokens] = summarizing(entry, maxTokens);
    this.entry = used;
    this.messages = summaryMessages(previous, turns.flat(), { maxTokens, maxInputTokens });
    this.#turns = turns.length;
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
    return new Coverage(this.coverage.backlog, this.coverage.ahead, text, this.#turns);
  }
}

/** Return the limit of a summary, checked, or throw `InvalidLimitError`. */
export function readSummaryTokens(value: unknown): number {
  const whole = wholeNumber(value);
  if (whole === null || whole < 1) {
    throw new InvalidLimitError("summary_tokens", value, "a whole number from 1 up");
  }
  return whole;
}

/** Return the settings under which `entry` summarises, and the room for the conversation. */
function summarizing(entry: ModelEntry, maxTokens: number): [entry: ModelEntry, room: number] {
  const { think, opensThinking, answerTokens, numCtx } = entry;
  // A model that always thinks does so before the summary, and needs room for it.
  const alwaysThinks = opensThinking || typeof think === "string";
  // Twice the limit: one that is passed is told apart from an answer that was cut off.
  const most = maxTokens * 2 + (alwaysThinks ? answerTokens : 0);
  const room = numCtx - most - maxTokens - REQUEST_TOKENS;
  const options = { ...entry.options, num_predict: most };
  const used = { ...entry, think: typeof think === "string" ? ("low" as const) : false, options };
  return [used, Math.min(Math.max(room, LEAST_INPUT_TOKENS), MOST_INPUT_TOKENS)];
}

/** Set the summary and make room for it; returns what left, null where there is no room. */
function putIn(memory: MemoryManager, summary: Summary): Message[] | null {
  try {
    memory.summary = summary;
  } catch (error) {
    if (error instanceof BudgetExceededError) return null;
    throw error;
  }
  if (!memory.overBudget) return [];
  const left = memory.restore(memory.snapshot());
  const noRoom = memory.overBudget || hasSteps(memory.explain().parts);
  return noRoom ? null : left;
}

function hasSteps(parts: readonly ExplainedPart[]): boolean {
  return parts.some(({ part }) => part === "steps");
}
