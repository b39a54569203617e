/**
 * Corrections: in what a tokenizer differs from the estimate, learnt from its server's counts.
 *
 * The estimate is fitted to Qwen3. Each group of scripts has a weight, in thousandths, by which it
 * is multiplied for a model; a count of a whole prompt says what the weighted groups should add up
 * to, and its difference to the count before says it of what was new. The weights move by the least
 * that satisfies each (Kaczmarz 1937), damped as in normalized least mean squares (Nagumo and Noda
 * 1967), so that short texts teach little.
 */

import { GROUPS } from "../core/costs.ts";
import { InvalidLimitError } from "../core/errors.ts";
import { wholeNumber } from "../core/values.ts";

/** Bounds of a weight: a vocabulary without a script's characters spells them byte by byte. */
const LEAST = 500;
const MOST = 8000;

/** A text of so many tokens moves the weights half of the way. */
const STEADY = 16;

/**
 * What was counted too high is taken back by this part: it costs a little of the window, while what
 * was counted too low costs the answer its room.
 */
const EASE = 16;

const UNLEARNT: readonly number[] = GROUPS.map(() => 1000);

/**
 * What was learnt of each model, by its name; chats of one process may share it.
 *
 * `weights`: what `weights` said before, to go on with it: thousandths for Latin letters, digits
 *     and signs, Chinese, Japanese and Korean, and the other scripts. Throws `InvalidLimitError`.
 */
export class Corrections {
  readonly #weights = new Map<string, readonly number[]>();
  readonly #last = new Map<string, { costs: readonly number[]; tokens: number }>();

  constructor(weights: Readonly<Record<string, readonly number[]>> | null = null) {
    // In order of their names, so that of several faults both languages tell the same.
    const given = Object.entries(weights ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [model, each] of given) this.#weights.set(model, readWeights(each));
  }

  /** The weights by model, a copy that can be kept as JSON. */
  get weights(): Record<string, number[]> {
    return Object.fromEntries([...this.#weights].map(([model, each]) => [model, [...each]]));
  }

  /** Return the tokens that `costs` are to the model: hundredths by group, rounded up. */
  apply(model: string, costs: readonly number[]): number {
    const weights = this.#weights.get(model);
    if (!weights) return Math.ceil(sumUp(costs) / 100);
    return Math.ceil(
      weights.reduce((sum, weight, i) => sum + weight * (costs[i] ?? 0), 0) / 100_000,
    );
  }

  /** Return the most, in thousandths, by which a text may be more than its estimate. */
  worst(model: string): number {
    return Math.max(1000, ...(this.#weights.get(model) ?? []));
  }

  /** Learn that a whole prompt of `costs` was `tokens` to the model's server. */
  learn(model: string, costs: readonly number[], tokens: number): void {
    let weights = this.#weights.get(model) ?? UNLEARNT;
    const last = this.#last.get(model);
    if (last) {
      // What left teaches as much as what came, so it is taken the other way round.
      const sign = sumUp(costs) >= sumUp(last.costs) ? 1 : -1;
      const changed = costs.map((cost, i) => sign * (cost - (last.costs[i] ?? 0)));
      weights = fit(weights, changed, sign * (tokens - last.tokens));
    }
    this.#weights.set(model, fit(weights, costs, tokens));
    this.#last.set(model, { costs: [...costs], tokens });
  }

  /** Take `costs` for `tokens` at least, where all that is known is that they are as many. */
  tighten(model: string, costs: readonly number[], tokens: number): void {
    const known = this.apply(model, costs);
    if (known <= 0 || known >= tokens) return;
    const weights = this.#weights.get(model) ?? UNLEARNT;
    this.#weights.set(
      model,
      weights.map((weight) => Math.min(Math.ceil((weight * tokens) / known), MOST)),
    );
  }
}

function sumUp(costs: readonly number[]): number {
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/** Return the weights moved so that `costs` come nearer to `tokens`. */
function fit(weights: readonly number[], costs: readonly number[], tokens: number): number[] {
  const sizes = costs.map((cost) => cost / 100);
  let missing = tokens;
  let reach = STEADY * STEADY;
  for (const [i, size] of sizes.entries()) {
    missing -= ((weights[i] ?? 0) * size) / 1000;
    reach += size * size;
  }
  if (missing < 0) missing /= EASE;
  return weights.map((weight, i) => {
    const moved = weight + (1000 * missing * (sizes[i] ?? 0)) / reach;
    return Math.min(Math.max(Math.floor(moved + 0.5), LEAST), MOST);
  });
}

function readWeights(value: readonly unknown[]): number[] {
  const items = Array.isArray(value) ? value : [];
  const weights = items.map(wholeNumber).filter((whole) => whole !== null);
  if (weights.length !== GROUPS.length || !weights.every((each) => LEAST <= each && each <= MOST)) {
    const allowed = `${GROUPS.length} whole numbers from ${LEAST} to ${MOST} for each model`;
    throw new InvalidLimitError("corrections", value, allowed);
  }
  return weights;
}
