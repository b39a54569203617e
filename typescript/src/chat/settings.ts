/** Settings of a model: the closed list of what an entry may say, and how each value is checked. */

import { InvalidModelFileError, quote } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/values.ts";
import { copyJson, isObject, wholeNumber } from "../core/values.ts";

/** Whether a model thinks before it answers, or how much; null leaves it to the server. */
export type Think = boolean | "low" | "medium" | "high" | null;

const DEFAULT_HOST = "http://127.0.0.1:11434";

const MOST_ANSWER_TOKENS = 4096;

const ADDRESS =
  /^(?:(https?):\/\/)?([\w.~%:+-]*@)?(\[[\da-f:.]+\]|[\w.-]*)(?::(\d{1,5}))?(\/[\w.~%:+/-]*)?$/i;

const DEFAULT_PORTS = { http: 80, https: 443 };

const THIS_MACHINE = new Map([
  ["", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["[::]", "[::1]"],
]);

/**
 * One model with its settings, as the groups above it handed them down.
 *
 * `path`: where it stands in the tree, such as `local/chat/small`.
 * `model`: the name by which the engine knows it, such as `qwen3:0.6b`.
 * `engine`: what runs it; so far `ollama` alone.
 * `host`: the server's URL; default: what OLLAMA_HOST says, else `http://127.0.0.1:11434`.
 * `numCtx`: the context in tokens, always sent; default 8192.
 * `answerTokens`: the part of it that is kept free for the answer; default a quarter, at most 4096.
 * `maxTurns`, `trimTo`: the window's limits; default 20, and half of `maxTurns`, so that the front
 *     of the prompt stands still and the server's prompt cache keeps serving.
 * `think`: whether the model is asked to think; default null, which says nothing about it.
 * `sendThinking`: whether earlier thinking is sent back; default false.
 * `opensThinking`: whether the model's template opens the block of thinking, so that the text
 *     starts inside it; default false.
 * `keepAlive`: how long the server keeps the model loaded (`"5m"`, or seconds); default null, which
 *     leaves it to the server.
 * `options`: the engine's own options (`temperature`, `seed`, `num_predict`, …) as they are sent.
 */
export interface ModelEntry {
  readonly path: string;
  readonly model: string;
  readonly engine: "ollama";
  readonly host: string;
  readonly numCtx: number;
  readonly answerTokens: number;
  readonly maxTurns: number | null;
  readonly trimTo: number | null;
  readonly think: Think;
  readonly sendThinking: boolean;
  readonly opensThinking: boolean;
  readonly keepAlive: string | number | null;
  readonly options: JsonObject;
}

/**
 * Return an entry of settings by their names in a model file, with the defaults of the rest.
 *
 * `host` is the server where `settings` names none. Throws `InvalidModelFileError`.
 */
export function makeEntry(
  path: string,
  settings: JsonObject,
  { host = DEFAULT_HOST }: { host?: string } = {},
): ModelEntry {
  const given = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      readSetting("the entry", path, name, value),
    ]),
  );
  const {
    num_ctx = 8192,
    answer_tokens = answerRoom(num_ctx as number),
    max_turns = 20,
    trim_to = half(max_turns as number | null),
  } = given;
  // `readSetting` has checked each type.
  return {
    path,
    model: given.model,
    engine: given.engine ?? "ollama",
    host: given.host ?? host,
    numCtx: num_ctx,
    answerTokens: answer_tokens,
    maxTurns: max_turns,
    trimTo: trim_to,
    think: given.think ?? null,
    sendThinking: given.send_thinking ?? false,
    opensThinking: given.opens_thinking ?? false,
    keepAlive: given.keep_alive ?? null,
    options: given.options ?? {},
  } as ModelEntry;
}

/** Return the part of a context that is kept free for the answer where nothing else is said. */
export function answerRoom(numCtx: number): number {
  return Math.min(Math.max(Math.floor(numCtx / 4), 1), MOST_ANSWER_TOKENS);
}

/** Return `trimTo` for `maxTurns`, so that the prompt's front stands still between trims. */
export function half(maxTurns: number | null): number | null {
  return maxTurns === null ? null : Math.floor((maxTurns + 1) / 2);
}

/** Whether a model file may use `name` for a setting; any other name is a table's. */
export function isSetting(name: string): boolean {
  return SETTINGS.has(name);
}

/**
 * Return the checked value of one setting, or throw `InvalidModelFileError`.
 *
 * `path` is the table's path, `file` what the error names. `"none"` is TOML's spelling of null.
 */
export function readSetting(file: string, path: string, name: string, value: unknown): JsonValue {
  const where = path ? `${path}/${name}` : name;
  const setting = SETTINGS.get(name);
  if (!setting) {
    const hint = `is no setting; there are: ${[...SETTINGS.keys()].join(", ")}`;
    throw new InvalidModelFileError(file, where, hint);
  }
  const [check, allowed] = setting;
  const checked = check(value);
  if (checked === undefined) {
    throw new InvalidModelFileError(file, where, `is ${quote(value)}; it must be ${allowed}`);
  }
  return checked;
}

/**
 * Return the URL that OLLAMA_HOST means, by Ollama's own rules (envconfig/config.go).
 *
 * The scheme may be missing (http), and so may the host (127.0.0.1) and the port: 11434, but the
 * scheme's own where one is given. A server's "all addresses" is this machine for a client. Returns
 * null for what is no address.
 */
export function readHost(value: string): string | null {
  const match = ADDRESS.exec(value.replace(/^[ \t\r\n"']+|[ \t\r\n"']+$/g, ""));
  if (match === null) return null;
  const [given = "", user = "", name = "", port = "", path = ""] = match.slice(1);
  const scheme = given.toLowerCase() === "https" ? "https" : "http";
  const number = Number(port || (given ? DEFAULT_PORTS[scheme] : 11434));
  const host = (THIS_MACHINE.get(name) ?? name).toLowerCase();
  if (number > 65535) return null;
  return `${scheme}://${user}${host}:${number}${path.replace(/\/+$/, "")}`;
}

/** Return a checked value, or undefined for one that is not allowed. */
type Check = (value: unknown) => JsonValue | undefined;

function text(value: unknown): JsonValue | undefined {
  return typeof value === "string" && value ? value : undefined;
}

function host(value: unknown): JsonValue | undefined {
  return typeof value === "string" ? (readHost(value) ?? undefined) : undefined;
}

function boolean(value: unknown): JsonValue | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function atLeast(least: number): Check {
  return (value) => {
    const whole = wholeNumber(value);
    return whole === null || whole < least ? undefined : whole;
  };
}

function oneOf(...values: JsonValue[]): Check {
  return (value) => values.find((each) => each === value);
}

function orNone(check: Check): Check {
  return (value) => (value === null || value === "none" ? null : check(value));
}

function keepAlive(value: unknown): JsonValue | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : text(value);
}

function options(value: unknown): JsonValue | undefined {
  if (!isObject(value) || "num_ctx" in value) return undefined;
  return Object.values(value).every(isOption) ? copyJson(value as JsonObject) : undefined;
}

function isOption(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === "string");
  return ["boolean", "string"].includes(typeof value) || Number.isFinite(value);
}

const SETTINGS: ReadonlyMap<string, readonly [Check, string]> = new Map([
  ["model", [text, "a model's name"]],
  ["engine", [oneOf("ollama"), '"ollama"']],
  ["host", [host, "an http or https address, such as http://127.0.0.1:11434"]],
  ["num_ctx", [atLeast(1), "a whole number from 1 up"]],
  ["answer_tokens", [atLeast(1), "a whole number from 1 up"]],
  ["max_turns", [orNone(atLeast(0)), 'a whole number from 0 up, or "none" for no limit']],
  ["trim_to", [orNone(atLeast(0)), 'a whole number from 0 up, or "none" for no limit']],
  [
    "think",
    [
      orNone(oneOf(true, false, "low", "medium", "high")),
      'true, false, "low", "medium", "high" or "none"',
    ],
  ],
  ["send_thinking", [boolean, "true or false"]],
  ["opens_thinking", [boolean, "true or false"]],
  ["keep_alive", [orNone(keepAlive), 'a duration such as "5m", whole seconds, or "none"']],
  [
    "options",
    [
      options,
      "a table of numbers, booleans, strings and lists of strings, and num_ctx stands beside it",
    ],
  ],
]);
