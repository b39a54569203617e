/** Explanations: which turn is kept, which left, by which rule, and at what token cost. */

import type { Context } from "./frame.ts";
import type { Message } from "./messages.ts";
import type { Summary } from "./summary.ts";
import type { Step, Turn } from "./turns.ts";
import { isClosed, turnMessages } from "./turns.ts";
import type { Cut } from "./window.ts";

type Rule = "max_turns" | "max_tokens";

/**
 * A turn, or the steps that left the newest turn.
 *
 * `rule` is null for what is kept. `open` is true for a turn that still waits for its answer.
 * `summarised`: whether the summary tells of it.
 */
export interface ExplainedPart {
  part: "turn" | "steps";
  kept: boolean;
  rule: Rule | null;
  open: boolean;
  summarised: boolean;
  tokens: number;
  messages: Message[];
}

/**
 * A window as `MemoryManager.explain` tells it, oldest part first.
 *
 * `tokens` is the cost of all that is kept, `system_tokens` of the system message alone,
 * `context_tokens` of what was recalled, wherever that stands. `dropped_turns`: how many turns
 * have left the window, those among the parts included.
 */
export interface Explanation {
  tokens: number;
  max_tokens: number | null;
  max_turns: number | null;
  trim_to: number | null;
  over_budget: boolean;
  system_prompt: string | null;
  summary: Summary | null;
  context: Context | null;
  system_tokens: number;
  context_tokens: number;
  dropped_turns: number;
  parts: ExplainedPart[];
}

/** Return the parts that left by `cut`: whole turns, then steps of the newest turn. */
export function explainCut(
  turns: readonly Turn[],
  steps: readonly Step[],
  cut: Cut,
): ExplainedPart[] {
  const parts = turns.map((turn, i) =>
    dropped("turn", i < cut.byTurns ? "max_turns" : "max_tokens", turn.steps),
  );
  return steps.length > 0 ? [...parts, dropped("steps", "max_tokens", steps)] : parts;
}

/**
 * Return the parts of a window with those that left, in the conversation's order.
 *
 * `told`: how many of the window's turns the summary tells of; below 0, how many of the newest that
 * left it does not tell of.
 */
export function explainWindow(
  turns: readonly Turn[],
  droppedParts: readonly ExplainedPart[],
  told: number,
): ExplainedPart[] {
  // Steps that left stand just before the newest turn, from which they came.
  const left = droppedParts.filter(({ part }) => part === "turn");
  const steps = droppedParts.filter(({ part }) => part === "steps");
  const kept = turns.map((turn) =>
    keptTurn(turn, { isOpen: turn === turns.at(-1) && !isClosed(turn) }),
  );
  const whole = [...left, ...kept].map((part, i) => ({
    ...part,
    summarised: i < left.length + told,
  }));
  const before = kept.length > 0 ? whole.slice(0, -1) : whole;
  return [...before, ...steps, ...whole.slice(before.length)];
}

function keptTurn(turn: Turn, { isOpen }: { isOpen: boolean }): ExplainedPart {
  return {
    part: "turn",
    kept: true,
    rule: null,
    open: isOpen,
    summarised: false,
    tokens: turn.tokens,
    messages: turnMessages([turn]),
  };
}

function dropped(part: "turn" | "steps", rule: Rule, steps: readonly Step[]): ExplainedPart {
  return {
    part,
    kept: false,
    rule,
    open: false,
    summarised: false,
    tokens: steps.reduce((total, step) => total + step.tokens, 0),
    messages: steps.flatMap((step) => step.messages),
  };
}
