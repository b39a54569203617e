/**
 * Rolling summaries: what a summariser is sent, and what of its answer is taken.
 *
 * A summary stands for turns that have left the window. It is made from the summary before it and
 * the turns that leave next, so it covers all turns up to the last of them. Making one needs a
 * model, which is the caller's; here are the two ends of it, as pure functions.
 */

import { InvalidMessageError, quote, SummaryFailedError } from "./errors.ts";
import type { Message } from "./messages.ts";
import { splitThinking, trimWhiteSpace } from "./thinking.ts";
import { estimateText } from "./tokens.ts";
import { canonicalJson, isObject, readJson, wholeNumber } from "./values.ts";

/** What of one message is sent to the summariser at most; less where all would be too much. */
const MOST_CODE_POINTS = 4000;

const LEAST_CODE_POINTS = 40;

const BEFORE_LIMIT =
  "Below is a conversation. Write a summary of it for somebody who is to continue it. Keep every " +
  "name, number, date, place, preference, decision and open question. Leave out greetings. Write " +
  "short plain sentences in the language of the conversation, at most ";
const AFTER_LIMIT = " words. Write the summary and nothing else.";

/** What stands above a summary, for the model that talks and for the one that summarises. */
export const HEADING = "Summary of the conversation so far:";

// Digits, signs and white space; beyond Latin-1's first half everything may be a word.
const NO_WORDS = /^[^A-Za-z\xaa-\u{10ffff}]*$/u;

/** A summary's text, and how many turns it covers: all up to the last that it tells of. */
export interface Summary {
  text: string;
  turns: number;
}

export interface SummaryOptions {
  maxTokens?: number;
  maxInputTokens?: number;
}

/**
 * Return what to send to a model, so that it folds `leaving` into the summary `previous`.
 *
 * `maxTokens`: what the summary may cost; the model is told half of it, in words.
 * `maxInputTokens`: what the conversation's text may cost; long messages lose their middle.
 *
 * Each message has its role before it, so that nobody's words become somebody else's; thinking is
 * left out.
 */
export function summaryMessages(
  previous: Summary | null,
  leaving: readonly Message[],
  { maxTokens = 256, maxInputTokens = 2048 }: SummaryOptions = {},
): Message[] {
  const request = `${BEFORE_LIMIT}${Math.max(Math.floor(maxTokens / 2), 1)}${AFTER_LIMIT}`;
  const before = previous ? [`${HEADING}\n${previous.text}`] : [];
  const after = `Conversation:\n${transcript(leaving, maxInputTokens)}`;
  return [{ role: "user", content: [request, ...before, after].join("\n\n") }];
}

/** Return messages as text of at most `maxTokens`, by cutting the longest ones shorter. */
function transcript(messages: readonly Message[], maxTokens: number): string {
  const write = (limit: number) => messages.map((message) => line(message, limit)).join("\n");
  let limit = MOST_CODE_POINTS;
  let text = write(limit);
  while (limit > LEAST_CODE_POINTS && estimateText(text) > maxTokens) {
    limit = Math.floor(limit / 2);
    text = write(limit);
  }
  // So many messages that even their beginnings are too much: the middle ones go.
  let size = Array.from(text).length;
  while (size > LEAST_CODE_POINTS && estimateText(text) > maxTokens) {
    size = Math.floor(size / 2);
    text = shorten(text, size);
  }
  return text;
}

function line({ role, content, ...message }: Message, limit: number): string {
  const name = message.tool_name;
  const label =
    name === undefined ? `${role.charAt(0).toUpperCase()}${role.slice(1)}` : `Tool ${name}`;
  const calls = (message.tool_calls ?? []).map(
    (call) => `[calls ${call.function.name} ${canonicalJson(call.function.arguments)}]`,
  );
  const text = [content, ...calls].filter((part) => part).join(" ");
  return `${label}: ${shorten(text, limit)}`;
}

/** Return `text` without its middle where it has over `size` code points. */
function shorten(text: string, size: number): string {
  const points = Array.from(text);
  if (points.length <= size) return text;
  const tail = Math.floor(size / 3);
  const end = points.slice(points.length - tail);
  return `${points.slice(0, size - tail).join("")} … ${end.join("")}`;
}

/**
 * Return the summary that a model wrote, or throw `SummaryFailedError` with the reason.
 *
 * `cut_off`: it stopped for want of room. `empty`: nothing but thinking or white space came.
 * `no_words`: nothing but digits and signs came. `too_long`: it costs over `maxTokens`.
 */
export function readSummaryReply(
  text: string,
  doneReason: string | null,
  { maxTokens = 256 }: { maxTokens?: number } = {},
): string {
  const summary = trimWhiteSpace(splitThinking(text).content);
  if (doneReason === "length") throw new SummaryFailedError("cut_off");
  if (!summary) throw new SummaryFailedError("empty");
  if (NO_WORDS.test(summary)) throw new SummaryFailedError("no_words");
  if (estimateText(summary) > maxTokens) throw new SummaryFailedError("too_long");
  return summary;
}

/** Return a summary, checked and copied; null where there is none. */
export function readSummary(value: unknown): Summary | null {
  const fields = readJson(value ?? null, "summary");
  if (fields === null) return null;
  if (!isObject(fields)) {
    const hint = `must be an object or null, not ${quote(fields)}`;
    throw new InvalidMessageError("summary", "wrong_type", hint);
  }
  const { text } = fields;
  const turns = wholeNumber(fields.turns);
  if (typeof text !== "string" || !text) {
    throw new InvalidMessageError("summary.text", "wrong_type", "must be a text, and not empty");
  }
  if (turns === null) {
    const hint = "must be a whole number from 0 up";
    throw new InvalidMessageError("summary.turns", "wrong_type", hint);
  }
  return { text, turns };
}
