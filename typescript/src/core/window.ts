/**
 * The window: what a model is sent. Turns and limits in, a cut out; pure functions.
 *
 * A window is the newest turns, always whole, within a number of turns and a number of tokens. Only
 * inside the newest turn, where that alone is over the token budget, do single steps leave.
 */

import { InvalidLimitError } from "./errors.ts";
import type { Message } from "./messages.ts";
import { readMessage } from "./messages.ts";
import { estimateTokens } from "./tokens.ts";
import type { CountTokens, Turn } from "./turns.ts";
import {
  countMessage,
  extendTurns,
  firstLooseStep,
  isClosed,
  takeSteps,
  turnMessages,
} from "./turns.ts";
import { wholeNumber } from "./values.ts";

/** A conversation in two parts, each in its order, and the token cost of the kept one. */
export interface Window {
  kept: Message[];
  dropped: Message[];
  tokens: number;
}

export interface WindowOptions {
  maxTurns?: number | null | undefined;
  maxTokens?: number | null | undefined;
  trimTo?: number | null | undefined;
  countTokens?: CountTokens | undefined;
}

/**
 * Return which of `messages` a model should see: `MemoryManager`'s rule as a pure function.
 *
 * `messages` is a whole conversation; a system message may stand first and is always kept. The
 * limits are `MemoryManager`'s. What comes back are copies. Where even the least window is over
 * `maxTokens`, it is kept all the same and `tokens` shows it. Throws `InvalidLimitError`,
 * `InvalidMessageError`, `ToolCallNotFoundError` and `InvalidTokenCountError`.
 */
export function window(
  messages: readonly unknown[],
  {
    maxTurns = 20,
    maxTokens = null,
    trimTo = null,
    countTokens = estimateTokens,
  }: WindowOptions = {},
): Window {
  const limits = readLimits(maxTurns, maxTokens, trimTo);
  const rest = messages.map((message, i) => readMessage(message, `messages[${i}]`));
  const system = rest[0]?.role === "system" ? rest.splice(0, 1) : [];
  const turns: Turn[] = [];
  for (const message of rest) extendTurns(turns, message, countTokens);
  const tokens =
    sum(system.map((message) => countMessage(message, countTokens))) +
    sum(turns.map((turn) => turn.tokens));
  const cut = cutTurns(turns, limits, tokens);
  const newest = turns.at(-1);
  const steps = newest && cut.steps > 0 ? takeSteps(newest, cut.steps) : [];
  const dropped = turnMessages(turns.slice(0, cut.turns));
  return {
    kept: [...system, ...turnMessages(turns.slice(cut.turns))],
    dropped: [...dropped, ...steps.flatMap((step) => step.messages)],
    tokens: tokens - cut.tokens,
  };
}

/** The limits of a window, as `readLimits` checked them; null is no limit. */
export interface Limits {
  readonly maxTurns: number | null;
  readonly maxTokens: number | null;
  readonly trimTo: number | null;
}

/** How many closed turns a trim leaves. */
function targetTurns(limits: Limits): number | null {
  return limits.trimTo ?? limits.maxTurns;
}

/** How many tokens a trim leaves: under `trimTo`, the same share of `maxTokens`. */
function targetTokens({ maxTurns, maxTokens, trimTo }: Limits): number | null {
  if (maxTokens === null || trimTo === null || !maxTurns) return maxTokens;
  return Number((BigInt(maxTokens) * BigInt(trimTo)) / BigInt(maxTurns));
}

/** Return the limits, checked; throws `InvalidLimitError` naming the first that is wrong. */
export function readLimits(maxTurns: unknown, maxTokens: unknown, trimTo: unknown): Limits {
  const limits = {
    maxTurns: readLimit("max_turns", maxTurns),
    maxTokens: readLimit("max_tokens", maxTokens),
    trimTo: readLimit("trim_to", trimTo),
  };
  if (limits.trimTo !== null) {
    if (limits.maxTurns === null) {
      throw new InvalidLimitError("trim_to", trimTo, "left out where there is no maxTurns");
    }
    if (limits.trimTo > limits.maxTurns) {
      throw new InvalidLimitError("trim_to", trimTo, `at most maxTurns, ${limits.maxTurns}`);
    }
  }
  return limits;
}

function readLimit(name: string, value: unknown): number | null {
  if (value === null) return null;
  const whole = wholeNumber(value);
  if (whole === null) {
    throw new InvalidLimitError(name, value, "a whole number from 0 up, or null for no limit");
  }
  return whole;
}

/**
 * What must leave a window: its oldest turns, then the oldest loose steps of its newest turn.
 *
 * `byTurns` says how many of the turns leave by `maxTurns`; all else leaves by `maxTokens`.
 * `tokens` is what leaves in all.
 */
export interface Cut {
  readonly turns: number;
  readonly byTurns: number;
  readonly steps: number;
  readonly tokens: number;
}

const NO_CUT: Cut = { turns: 0, byTurns: 0, steps: 0, tokens: 0 };

/**
 * Return how many of the oldest `turns` the next trim is to drop, once it is near; else 0.
 *
 * It is near when there are `maxTurns` closed turns, or when three quarters of `maxTokens` are used
 * up: then it will leave about as much less than the tokens that a trim leaves.
 */
export function foreseeCut(turns: readonly Turn[], limits: Limits, tokens: number): number {
  const newest = turns.at(-1);
  if (newest === undefined) return 0;
  const closed = isClosed(newest) ? turns.length : turns.length - 1;
  const nearTurns = limits.maxTurns !== null && closed >= limits.maxTurns;
  const nearTokens = limits.maxTokens !== null && tokens * 4 > limits.maxTokens * 3;
  if (!nearTurns && !nearTokens) return 0;
  const keep = targetTurns(limits);
  let leaving = keep === null ? 0 : Math.max(closed + 1 - keep, 0);
  const target = targetTokens(limits);
  if (target !== null) {
    let cost = sum(turns.slice(0, leaving).map((turn) => turn.tokens));
    while (leaving < closed && (tokens - cost) * 4 > target * 3) {
      cost += turns[leaving]?.tokens ?? 0;
      leaving += 1;
    }
  }
  return Math.min(leaving, closed);
}

/**
 * Return what must leave the window `turns[start..]`; `tokens` is its cost, system included.
 *
 * Nothing is read but the ends, so the cost is that of what leaves, not of the window.
 */
export function cutTurns(turns: readonly Turn[], limits: Limits, tokens: number, start = 0): Cut {
  const count = turns.length - start;
  const newest = turns.at(-1);
  if (newest === undefined || count === 0) return NO_CUT;
  const closed = isClosed(newest) ? count : count - 1;
  const pastTurns = limits.maxTurns !== null && closed > limits.maxTurns;
  const pastTokens = limits.maxTokens !== null && tokens > limits.maxTokens;
  if (!pastTurns && !pastTokens) return NO_CUT;
  const keep = targetTurns(limits);
  let leaving = keep === null ? 0 : Math.max(closed - keep, 0);
  const byTurns = pastTurns ? leaving : 0;
  let cost = sum(turns.slice(start, start + leaving).map((turn) => turn.tokens));
  let steps = 0;
  const target = targetTokens(limits);
  if (target !== null && leaving < count) {
    const excess = tokens - target;
    while (cost < excess && leaving < count - 1) {
      cost += turns[start + leaving]?.tokens ?? 0;
      leaving += 1;
    }
    const first = firstLooseStep(newest);
    while (cost < excess && first + steps < newest.steps.length - 1) {
      cost += newest.steps[first + steps]?.tokens ?? 0;
      steps += 1;
    }
  }
  return { turns: leaving, byTurns, steps, tokens: cost };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
