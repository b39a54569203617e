/** Room: what else is sent makes room for the question, and turns leave for what is put in. */

import { BudgetExceededError } from "../core/errors.ts";
import type { ExplainedPart } from "../core/explanation.ts";
import type { Context } from "../core/frame.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import type { CountTokens } from "../core/turns.ts";

/** Recalled context takes this part of the budget at most: a quarter, so that the turns go on. */
const CONTEXT_SHARE = 4;

/**
 * Make a change of what stands beside the turns, and let the oldest turns leave for it.
 *
 * Returns what left. Where the newest turn would not stay whole, returns null, and all is as it
 * was.
 */
export function makeRoom(memory: MemoryManager, change: () => void): Message[] | null {
  const before = memory.snapshot();
  try {
    change();
  } catch (error) {
    if (error instanceof BudgetExceededError) return null;
    throw error;
  }
  if (!memory.overBudget) return [];
  const left = memory.restore(memory.snapshot());
  if (memory.overBudget || hasSteps(memory.explain().parts)) {
    memory.restore(before, { trim: false });
    return null;
  }
  return left;
}

/** Return what of `context` there is room for beside the newest turn: its first lines. */
export function fitContext(
  memory: MemoryManager,
  context: Context,
  countTokens: CountTokens,
): Context | null {
  const { max_tokens: allowed, tokens, parts } = memory.explain();
  if (allowed === null) return context.text ? context : null;
  const newest = parts.at(-1)?.tokens ?? 0;
  const frame = parts.reduce((rest, part) => rest - (part.kept ? part.tokens : 0), tokens);
  const room = Math.min(allowed - frame - newest, Math.floor(allowed / CONTEXT_SHARE));
  const lines = context.text.split("\n");
  while (lines.length > 0) {
    const text = lines.join("\n");
    if (text && countTokens({ role: "user", content: text }) <= room) return { ...context, text };
    lines.pop();
  }
  return null;
}

/** Return whether steps of the newest turn are among what left. */
export function hasSteps(parts: readonly ExplainedPart[]): boolean {
  return parts.some(({ part }) => part === "steps");
}
