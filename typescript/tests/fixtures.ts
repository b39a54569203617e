/**
 * Runs the shared fixtures: `node fixtures.ts FILE…` prints a JSON line for each case.
 *
 * Twin: python/tests/fixtures.py. It needs no test framework, so that the checks can run it too.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Corrections } from "../src/chat/correction.ts";
import { textCosts } from "../src/core/costs.ts";
import { TandemError } from "../src/core/errors.ts";
import type { MemoryManagerOptions } from "../src/core/manager.ts";
import { MemoryManager } from "../src/core/manager.ts";
import type { Message } from "../src/core/messages.ts";
import { readMessage } from "../src/core/messages.ts";
import { readSummaryReply, summaryMessages } from "../src/core/summary.ts";
import { splitThinking, ThinkingSplitter } from "../src/core/thinking.ts";
import { estimateText, estimateTokens, estimateTools, messageCosts } from "../src/core/tokens.ts";
import type { CountTokens } from "../src/core/turns.ts";
import { canonicalJson, wellFormed } from "../src/core/values.ts";
import { window } from "../src/core/window.ts";
import { chatSubject, modelsSubject } from "./chats.ts";
import type { Json } from "./encoding.ts";
import { camelCase, camelKeys, decode, encode, expand, spoil, write } from "./encoding.ts";
import { StoredChatSubject } from "./storedchats.ts";
import { StoreSubject, variants } from "./stores.ts";
import { terminalSubject } from "./terminals.ts";

export type { Json } from "./encoding.ts";

export interface Case {
  readonly id: string;
  readonly given: Json;
  readonly steps: Json[];
}

const CASES = join(import.meta.dirname, "../../shared-fixtures/cases");

const COUNTERS: Record<string, (message: Message) => unknown> = {
  ones: () => 1,
  code_points: (message) => Array.from(message.content).length,
  fields: (message) => Object.keys(message).length,
  roles: (message) => message.role.length,
  estimate: estimateTokens,
  half: () => 0.5,
  negative: () => -1,
  not_a_number: () => Number.NaN,
  text: () => "1",
  boolean: () => true,
};

const FUNCTIONS: Record<string, (args: Json) => unknown> = {
  canonical_json: ({ value }) => canonicalJson(value),
  estimate_text: ({ text }) => estimateText(text),
  estimate_tokens: ({ message }) => estimateTokens(message),
  estimate_tools: ({ tools }) => estimateTools(tools),
  message_costs: ({ message }) => messageCosts(message),
  new_manager: (options) => managerState(makeManager(options), options),
  read_message: ({ value }) => readMessage(value),
  read_summary_reply: ({ text, done_reason, ...options }) =>
    readSummaryReply(text, done_reason, camelKeys(options)),
  split_thinking: ({ text, ...options }) => splitThinking(text, camelKeys(options)),
  summary_messages: ({ previous, messages, ...options }) =>
    summaryMessages(previous, messages, camelKeys(options)),
  text_costs: ({ text }) => textCosts(text),
  well_formed: ({ text }) => wellFormed(text),
  window: ({ messages, ...options }) => window(messages, camelKeys(options)),
};

/** The arguments that a method takes by position; all others go into its options object. */
const BY_POSITION: Record<string, string[]> = {
  add: ["message"],
  add_assistant_message: ["content"],
  add_tool_message: ["content"],
  add_user_message: ["content"],
  apply: ["model", "costs"],
  feed: ["piece"],
  learn: ["model", "costs", "tokens"],
  restore: ["snapshot"],
  tighten: ["model", "costs", "tokens"],
  worst: ["model"],
};

/** Return the cases of all fixture files in `folder`. */
export function loadCases(folder = CASES): Case[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.sort().flatMap((name) => readFile(join(folder, name)));
}

function readFile(file: string): Case[] {
  return JSON.parse(readFileSync(file, "utf8")).cases;
}

/** Run one case, or throw with what was expected and what came. */
export async function runCase({ id, given, steps }: Case): Promise<void> {
  for (const variant of variants(given)) {
    const subject = makeSubject(variant);
    for (const [i, step] of steps.entries()) {
      const came = await perform(subject, step);
      const { call: _call, args: _args, ...expected } = step;
      if (write(expected) !== write(came)) {
        throw new Error(
          `${id}, step ${i + 1} (${step.call}), ${JSON.stringify(variant)}: ` +
            `expected\n${write(expected)}\ncame\n${write(came)}`,
        );
      }
    }
  }
}

/** Make the one object of a case. */
export function makeSubject(given: Json): Subject {
  const [[kind, options] = ["", {}], ...rest] = Object.entries(decode(given));
  const make = SUBJECTS[kind];
  if (!make || rest.length > 0) throw new Error("one object a case");
  return make(options);
}

/** Do a step and return what came of it: what it returns or throws, and the state after it. */
export async function perform(subject: Subject, step: Json): Promise<Record<string, Json>> {
  const came = await call(subject, step.call, decode(step.args));
  return { ...came, state: encode(await subject.state()) };
}

async function call(subject: Subject, name: string, args: Json): Promise<Record<string, Json>> {
  let returned: Json;
  try {
    returned = (await subject.call(name, args)) ?? null;
  } catch (error) {
    if (!(error instanceof TandemError)) throw error;
    return { throws: { code: error.code, data: encode(error.data) } };
  }
  const came = encode(returned);
  spoil(args);
  spoil(returned);
  return { returns: came };
}

/** What a case calls: an object's methods by name, maybe async, and how to read its state. */
export interface Subject {
  call(name: string, args: Json): Json;
  state(): Json;
}

function objectSubject(target: Json, state: () => Json): Subject {
  return {
    call(name, args) {
      if (name.startsWith("set_")) {
        target[camelCase(name.slice("set_".length))] = args.value;
        return null;
      }
      const positions = BY_POSITION[name] ?? [];
      const options = Object.entries(args).filter(([key]) => !positions.includes(key));
      const given = positions.map((key) => args[key]);
      return target[camelCase(name)](...given, camelKeys(Object.fromEntries(options)));
    },
    state,
  };
}

/** The functions of the core, which have no state. */
const functions: Subject = {
  call(name, args) {
    if (args.messages) args.messages = args.messages.map(expand);
    if (name === "window") args.count_tokens = COUNTERS[args.count_tokens ?? "ones"];
    const run = FUNCTIONS[name];
    if (!run) throw new Error(`no function ${name}`);
    return run(args);
  },
  state: () => null,
};

function managerSubject(options: Json): Subject {
  const manager = makeManager(options);
  return objectSubject(manager, () => managerState(manager, options));
}

function makeManager(options: Json): MemoryManager {
  const countTokens = COUNTERS[options.count_tokens ?? "ones"] as CountTokens;
  return new MemoryManager({ ...camelKeys(options), countTokens } as MemoryManagerOptions);
}

function managerState(manager: MemoryManager, options: Json): Json {
  const { version: _, ...held } = manager.snapshot();
  const counted = { tokens: manager.tokens, over_budget: manager.overBudget };
  return { ...held, ...("count_tokens" in options ? counted : {}) };
}

function splitterSubject(options: Json): Subject {
  const splitter = new ThinkingSplitter(camelKeys(options));
  const seen = { content: "", thinking: "" };
  const subject = objectSubject(splitter, () => ({ ...seen }));
  return {
    ...subject,
    call(name, args) {
      const thought = subject.call(name, args);
      seen.content += thought.content;
      seen.thinking += thought.thinking;
      return thought;
    },
  };
}

function correctionsSubject(weights: Json): Subject {
  const corrections = new Corrections(weights);
  const subject = objectSubject(corrections, () => corrections.weights);
  return {
    ...subject,
    call: (name, args) =>
      name === "new_corrections" ? new Corrections(args.weights).weights : subject.call(name, args),
  };
}

const SUBJECTS: Record<string, (options: Json) => Subject> = {
  chat: ({ count_tokens = "ones", ...options }) =>
    chatSubject(options, COUNTERS[count_tokens] as CountTokens),
  cli: () => terminalSubject,
  core: () => functions,
  corrections: correctionsSubject,
  manager: managerSubject,
  models: modelsSubject,
  splitter: splitterSubject,
  stored_chat: ({ count_tokens = "ones", ...options }) =>
    new StoredChatSubject(options, COUNTERS[count_tokens] as CountTokens),
  store: (options) => new StoreSubject(options),
};

if (import.meta.main) {
  for (const file of process.argv.slice(2)) {
    for (const each of readFile(file)) {
      const result = { id: each.id, passed: true, why: "" };
      try {
        await runCase(each);
      } catch (error) {
        Object.assign(result, { passed: false, why: String(error) });
      }
      process.stdout.write(`${JSON.stringify(result)}\n`);
    }
  }
}
