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
import { MOST_TURNS } from "./backlog.ts";
import type { ModelEntry } from "./settings.ts";
import type { Delta } from "./wire.ts";

/** What of a conversation is sent to be summarised at most; less where the context is small. */
const MOST_INPUT_TOKENS = 2048;

const LEAST_INPUT_TOKENS = 64;

/** What the request itself costs, and the template around it. */
const REQUEST_TOKENS = 128;

/**
 * How far a conversation is summarised; it is never changed, but replaced.
 *
 * The memory's summary tells of the conversation's first turns, up to its number of `turns`. What
 * waits for the next one are the turns behind these: those that have left, then those that are
 * about to leave.
 *
 * `backlog`: the newest of the turns that left and are not told, oldest first.
 * `loose`: the steps that have left the window's oldest turn while it was its only one.
 * `text`: the next summary, null where there is none. `until`: the number of the last turn that it
 *     tells of, counted from the conversation's first.
 */
export class Coverage {
  readonly backlog: readonly (readonly Message[])[];
  readonly loose: readonly Message[];
  readonly text: string | null;
  readonly until: number;

  constructor(
    backlog: readonly (readonly Message[])[] = [],
    loose: readonly Message[] = [],
    text: string | null = null,
    until = 0,
  ) {
    this.backlog = backlog;
    this.loose = loose;
    this.text = text;
    this.until = until;
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
    const leftBefore = memory.droppedTurns;
    const left = putIn(memory, { text: after.text, turns: after.until });
    if (left === null) {
      memory.restore(before, { trim: false });
      return [after, dropped];
    }
    const told = Math.max(after.until - leftBefore + after.backlog.length, 0);
    const covering = new Coverage(after.backlog.slice(told), after.loose);
    const moved = left.length > 0 ? memory.explain().parts : [];
    return [covering.#without(moved), [...dropped, ...left]];
  }

  /** Go on after an undo, which left `memory`: the next summary may tell of what is undone. */
  undone(memory: MemoryManager): Coverage {
    return new Coverage(this.backlog, memory.snapshot().messages.length > 0 ? this.loose : []);
  }

  /** Return the making of the next summary, or null while there is one, or no need of one. */
  plan(memory: MemoryManager, entry: ModelEntry, maxTokens: number): Making | null {
    const { summary, droppedTurns } = memory;
    const told = Math.max((summary?.turns ?? 0) - droppedTurns, 0);
    const leaving = memory.leaving().map((turn, i) => withSteps(turn, i === 0 ? this.loose : []));
    const ahead = leaving.slice(told);
    const turns = [...this.backlog, ...ahead];
    if (this.text !== null || turns.length === 0) return null;
    const until = droppedTurns + (ahead.length > 0 ? leaving.length : 0);
    return new Making(this, summary, turns, until, entry, maxTokens);
  }

  /** Go on without the turns, and the steps, that `parts` says have left. */
  #without(parts: readonly ExplainedPart[]): Coverage {
    let loose = this.loose;
    const backlog = [...this.backlog];
    for (const { part, kept, summarised, messages } of parts) {
      if (part === "steps") {
        loose = [...loose, ...messages];
      } else if (!kept) {
        if (!summarised) backlog.push(withSteps(messages, loose));
        loose = [];
      }
    }
    return new Coverage(backlog.slice(-MOST_TURNS), loose, this.text, this.until);
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
  ) {
    this.coverage = coverage;
    const [used, maxInputTokens] = summarizing(entry, maxTokens);
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

/** Return a turn with the steps that had left it back behind its question. */
function withSteps(turn: readonly Message[], steps: readonly Message[]): Message[] {
  const first = turn[0]?.role === "user" ? 1 : 0;
  return [...turn.slice(0, first), ...steps, ...turn.slice(first)];
}

function hasSteps(parts: readonly ExplainedPart[]): boolean {
  return parts.some(({ part }) => part === "steps");
}
