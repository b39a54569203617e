/**
 * Tokens: an estimate of what a message costs a model, by the costs of its texts.
 *
 * A sum of costs is rounded up once. The costs by group of scripts let a chat learn in what another
 * tokenizer differs from Qwen3's.
 */

import { GROUPS, textCosts } from "./costs.ts";
import type { Message } from "./messages.ts";
import type { JsonObject } from "./values.ts";
import { canonicalJson } from "./values.ts";

/**
 * Tokens of an image, whose size in bytes says nothing: the 24 x 24 patches of LLaVA-1.5 (arXiv
 * 2310.03744). Gemma 3 takes 256; a model that scales with the picture may take thousands.
 */
export const IMAGE_TOKENS = 576;

/** `<|im_start|>role\n` and `<|im_end|>\n`, by Qwen3's chat template, as are the three below. */
const MESSAGE_TOKENS = 5;

/** `\n<tool_call>\n` and `</tool_call>` around the JSON of a call, which ends the line. */
const CALL_TOKENS = 4;

/** `<tool_response>\n` and `\n</tool_response>` around a tool's result. */
const RESULT_TOKENS = 4;

/** The instructions around the tools' schemas, in a system message of their own. */
const TOOLS_TOKENS = 82;

/**
 * Return about how many tokens `text` is, within a few percent of Qwen3's own count.
 *
 * It is never less for a longer text, and what two texts cost apart and joined differs by a few
 * tokens at most. A lone surrogate counts as U+FFFD.
 */
export function estimateText(text: string): number {
  return roundUp(textCosts(text));
}

/**
 * Return about how many tokens `message` takes in the prompt, as it is sent.
 *
 * Counted are the template, content, images, and the calls' names and arguments; not `thinking`,
 * which isn't sent back, nor any field that no template shows. The three tokens that open the
 * answer belong to no message.
 */
export function estimateTokens(message: Message): number {
  return roundUp(messageCosts(message));
}

/** Return about how many tokens the tools' schemas take in the prompt (none take 0). */
export function estimateTools(tools: readonly JsonObject[]): number {
  return roundUp(toolsCosts(tools));
}

/** Return what `estimateTokens` rounds up: the template counts as Latin, as do images. */
export function messageCosts(message: Message): number[] {
  let whole = MESSAGE_TOKENS;
  const texts = [message.content];
  whole += IMAGE_TOKENS * (message.images ?? []).length;
  if (message.role === "tool") whole += RESULT_TOKENS;
  for (const { function: called } of message.tool_calls ?? []) {
    texts.push(canonicalJson({ name: called.name, arguments: called.arguments }));
    whole += CALL_TOKENS;
  }
  return addUp(whole, texts);
}

/** Return what `estimateTools` rounds up. */
export function toolsCosts(tools: readonly JsonObject[]): number[] {
  return addUp(tools.length > 0 ? TOOLS_TOKENS : 0, tools.map(canonicalJson));
}

function addUp(whole: number, texts: readonly string[]): number[] {
  const costs: number[] = GROUPS.map((_, group) => (group === 0 ? 100 * whole : 0));
  for (const text of texts) {
    textCosts(text).forEach((cost, group) => {
      costs[group] = (costs[group] ?? 0) + cost;
    });
  }
  return costs;
}

/** Return costs in hundredths as whole tokens. */
function roundUp(costs: readonly number[]): number {
  return Math.ceil(costs.reduce((sum, cost) => sum + cost, 0) / 100);
}
