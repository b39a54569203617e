/**
 * Ollama's wire format: the chat request as it is sent, and the lines of an answer as they come.
 *
 * Pure functions over plain values, shared by every way of sending. The official clients can't say
 * all that must be said: Python's drops `tool_call_id`, the ids of tool calls and unknown fields,
 * and knows neither `truncate` nor `shift`; the npm one skips lines that it can't read.
 */

import type { TandemError } from "../core/errors.ts";
import {
  ContextTruncatedError,
  ModelNotFoundError,
  ReplyBrokenOffError,
  ServerFailedError,
  UnsupportedCapabilityError,
} from "../core/errors.ts";
import type { Message, ToolCall } from "../core/messages.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { JsonObject, JsonValue } from "../core/values.ts";
import { canonicalJson, isObject, wholeNumber } from "../core/values.ts";
import type { ModelEntry } from "./settings.ts";

/** How long the server took, in nanoseconds, as far as it says. */
export interface Durations {
  readonly total: number | null;
  readonly load: number | null;
  readonly prompt: number | null;
  readonly reply: number | null;
}

/**
 * What the last line of an answer says.
 *
 * `doneReason` is `stop`, `length` (the answer was cut off) or another word of the server's.
 * `promptTokens` is the whole prompt's size, what the prompt cache served included
 * (`prompt_eval_count`), `replyTokens` the answer's (`eval_count`).
 */
export interface Ending {
  readonly doneReason: string | null;
  readonly promptTokens: number | null;
  readonly replyTokens: number | null;
  readonly durations: Durations;
}

/** What one line adds to the answer. `ending` is there on the last one alone. */
export interface Delta {
  readonly content: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly ending: Ending | null;
}

/**
 * Return the body of `POST /api/chat`.
 *
 * `num_ctx` is always in it, for the server's default depends on its memory. `truncate` and `shift`
 * ask for an error instead of a prompt or an answer that lost its front unseen; servers that are too
 * old for them ignore them.
 */
export function chatRequest(
  entry: ModelEntry,
  messages: readonly Message[],
  { tools = [], format = null }: { tools?: readonly JsonObject[]; format?: JsonValue } = {},
): JsonObject {
  return {
    model: entry.model,
    messages: messages as unknown as JsonValue[],
    stream: true,
    truncate: false,
    shift: false,
    options: { ...entry.options, num_ctx: entry.numCtx },
    ...(entry.think === null ? {} : { think: entry.think }),
    ...(entry.keepAlive === null ? {} : { keep_alive: entry.keepAlive }),
    ...(tools.length === 0 ? {} : { tools: [...tools] }),
    ...(format === null ? {} : { format }),
  };
}

/**
 * Reads an answer from the bytes of its lines, cut anywhere.
 *
 * `feed` each piece as it comes and `finish` at its end; both return the deltas that became whole.
 * `finish` throws `ReplyBrokenOffError` where the last line never came; a line that is no JSON
 * object throws it at once, and one that says `error` what `serverError` makes of it.
 */
export class ReplyReader {
  readonly #entry: ModelEntry;
  readonly #messages: readonly Message[];
  readonly #decoder = new TextDecoder();
  #buffer = "";
  #received = "";
  #ended = false;

  constructor(entry: ModelEntry, messages: readonly Message[]) {
    this.#entry = entry;
    this.#messages = messages;
  }

  /** Take the next bytes and return the deltas of the lines that they complete. */
  feed(data: Uint8Array): Delta[] {
    const lines = (this.#buffer + this.#decoder.decode(data, { stream: true })).split("\n");
    this.#buffer = lines.pop() ?? "";
    return lines.filter((line) => line.trim()).map((line) => this.#read(line));
  }

  /** Say that no more bytes come, and return the delta of a last line without an end. */
  finish(): Delta[] {
    const rest = this.#buffer.trim() ? [this.#read(this.#buffer)] : [];
    if (!this.#ended) throw this.brokenOff();
    return rest;
  }

  /** Return the error of an answer that ends here. */
  brokenOff(): ReplyBrokenOffError {
    return new ReplyBrokenOffError(this.#received);
  }

  #read(line: string): Delta {
    let reply: unknown;
    try {
      reply = JSON.parse(line);
    } catch {
      throw this.brokenOff();
    }
    if (!isObject(reply)) throw this.brokenOff();
    if ("error" in reply)
      throw serverError(200, reply.error as JsonValue, this.#entry, this.#messages);
    const message = isObject(reply.message) ? reply.message : {};
    const delta = {
      content: readText(message.content),
      thinking: readText(message.thinking),
      toolCalls: (message.tool_calls ?? []) as ToolCall[],
      ending: reply.done === true ? readEnding(reply) : null,
    };
    this.#received += delta.content;
    this.#ended = delta.ending !== null;
    return delta;
  }
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function readEnding(reply: Record<string, unknown>): Ending {
  return {
    doneReason: typeof reply.done_reason === "string" ? reply.done_reason : null,
    promptTokens: wholeNumber(reply.prompt_eval_count),
    replyTokens: wholeNumber(reply.eval_count),
    durations: {
      total: wholeNumber(reply.total_duration),
      load: wholeNumber(reply.load_duration),
      prompt: wholeNumber(reply.prompt_eval_duration),
      reply: wholeNumber(reply.eval_duration),
    },
  };
}

const MISSING = /model .*not found/is;
const UNSUPPORTED = /does not support ([a-z]+)/i;
// The last is what a Qwen template says once the server has cut away the user's message.
const TOO_LONG = /exceed.*context|context.*exceed|no user query found/is;

const MOST_DIGITS = 10;

/** How llama.cpp says of a prompt that is too long how long it is; Ollama says nothing of it. */
const COUNTED = /(\d+) tokens/g;

/**
 * Return the error that the server's `status` and words mean.
 *
 * `messages` are those that were sent: where they were too long, the server's count is told, or
 * their estimate, which is more than the context then.
 */
export function serverError(
  status: number,
  detail: JsonValue,
  entry: ModelEntry,
  messages: readonly Message[],
): TandemError {
  const words = typeof detail === "string" ? detail : canonicalJson(detail);
  if (status === 404 && MISSING.test(words)) return new ModelNotFoundError(entry.model, entry.host);
  const unsupported = UNSUPPORTED.exec(words)?.[1];
  if (unsupported) return new UnsupportedCapabilityError(entry.model, unsupported.toLowerCase());
  if (TOO_LONG.test(words)) {
    const counts = Array.from(words.matchAll(COUNTED), ([, digits = ""]) => digits);
    const counted = counts.find((digits) => digits.length < MOST_DIGITS);
    const estimate = messages.reduce((sum, message) => sum + estimateTokens(message), 0);
    const told = counted === undefined ? estimate : Number(counted);
    return new ContextTruncatedError(Math.max(told, entry.numCtx + 1), entry.numCtx);
  }
  return new ServerFailedError(status, words);
}

/** Return what the body of an error says: Ollama's are `{"error": …}`. */
export function readError(text: string): JsonValue {
  try {
    const fields: JsonValue = JSON.parse(text);
    return isObject(fields) ? (fields.error ?? text) : text;
  } catch {
    return text;
  }
}
