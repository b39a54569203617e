/**
 * The frame: what is sent beside the turns, in the system message or before the newest question.
 *
 * The system message holds the system prompt, then the summary, then what was recalled. It stands
 * in front of all, so a change of it makes a model server read the whole prompt again. What stands
 * before the newest question is read with that question alone, but has to be read anew for each.
 */

import { InvalidMessageError, quote } from "./errors.ts";
import type { Message } from "./messages.ts";
import type { Summary } from "./summary.ts";
import { HEADING } from "./summary.ts";
import type { CountTokens } from "./turns.ts";
import { countMessage } from "./turns.ts";
import { isObject, readJson } from "./values.ts";

/** Where context is sent: at the end of the system message, or before the newest question. */
export type Place = "system" | "question";

/** What was recalled from elsewhere, such as facts of other sessions, and where it is sent. */
export interface Context {
  text: string;
  place: Place;
}

/**
 * The parts of the frame, the one system message that they make, and what they cost.
 *
 * `tokens` is the cost of all, `systemTokens` that of the system message alone.
 */
export interface Frame {
  readonly systemPrompt: string | null;
  readonly summary: Summary | null;
  readonly context: Context | null;
  readonly system: Message | null;
  readonly systemTokens: number;
  readonly tokens: number;
}

/**
 * Return the frame of these parts; context before the question counts as a message.
 *
 * There is one system message, for recent Qwen templates refuse a second.
 */
export function makeFrame(
  systemPrompt: string | null,
  summary: Summary | null,
  context: Context | null,
  countTokens: CountTokens,
): Frame {
  const asked = context?.place === "question";
  const told = summary && `${HEADING}\n${summary.text}`;
  const parts = [systemPrompt, told, context && !asked ? context.text : null];
  const content = parts.filter((part) => part).join("\n\n");
  const system: Message | null = content ? { role: "system", content } : null;
  const systemTokens = system ? countMessage(system, countTokens) : 0;
  let tokens = systemTokens;
  if (context && asked)
    tokens += countMessage({ role: "user", content: context.text }, countTokens);
  return { systemPrompt, summary, context, system, systemTokens, tokens };
}

/** Return what the frame's context costs in its place. */
export function countContext(frame: Frame, countTokens: CountTokens): number {
  const without = makeFrame(frame.systemPrompt, frame.summary, null, countTokens);
  return Math.max(frame.tokens - without.tokens, 0);
}

/** Return `messages` with the context before the newest question, if that is its place. */
export function placeContext(messages: readonly Message[], context: Context | null): Message[] {
  const placed = [...messages];
  if (context === null || context.place === "system") return placed;
  const i = placed.findLastIndex(({ role }) => role === "user");
  const asked = placed[i];
  if (asked) placed[i] = { ...asked, content: `${context.text}\n\n${asked.content}` };
  return placed;
}

/** Return context, checked and copied; null where there is none. */
export function readContext(value: unknown): Context | null {
  const fields = readJson(value ?? null, "context");
  if (fields === null) return null;
  if (!isObject(fields)) {
    const hint = `must be an object or null, not ${quote(fields)}`;
    throw new InvalidMessageError("context", "wrong_type", hint);
  }
  const { text, place = null } = fields;
  if (typeof text !== "string" || !text) {
    throw new InvalidMessageError("context.text", "wrong_type", "must be a text, and not empty");
  }
  return { text, place: readPlace(place) };
}

/** Return a place of context, checked. */
export function readPlace(value: unknown): Place {
  if (value !== "system" && value !== "question") {
    const hint = `must be "system" or "question", not ${quote(value)}`;
    throw new InvalidMessageError("context.place", "not_allowed", hint);
  }
  return value;
}
