/** What the property tests draw from; twin: python/tests/strategies.py. */

import fc from "fast-check";
import { TandemError } from "../src/core/errors.ts";
import type { Context } from "../src/core/frame.ts";
import { MemoryManager, type MemoryManagerOptions } from "../src/core/manager.ts";
import type { Message, ToolCall } from "../src/core/messages.ts";

/** Texts of every script, lone surrogates and the tags included. */
export const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ unit: fc.integer({ min: 0xd700, max: 0xe0ff }).map((c) => String.fromCharCode(c)) }),
  fc.constantFrom("", "<think>", "</think>", "我的猫叫花花", "🐈‍⬛", "é", "\0", "__proto__"),
);

const names = fc.constantFrom("f", "g", "__proto__");
const ids = fc.constantFrom(undefined, "c1", "c2");

function callOf(name: string, id: string | undefined): ToolCall {
  const call = { function: { name, arguments: {} } };
  return id === undefined ? call : { id, ...call };
}

const calls = fc.array(
  fc.tuple(names, ids).map((parts) => callOf(...parts)),
  { maxLength: 3 },
);

/** One call of a `MemoryManager`. */
export interface Operation {
  readonly method: string;
  run(manager: MemoryManager): unknown;
}

export const operations: fc.Arbitrary<Operation> = fc.oneof(
  texts.map((text) => ({
    method: "addUserMessage",
    run: (manager: MemoryManager) => manager.addUserMessage(text),
  })),
  fc.tuple(texts, calls).map(([text, toolCalls]) => ({
    method: "addAssistantMessage",
    run: (manager: MemoryManager) => manager.addAssistantMessage(text, { toolCalls }),
  })),
  fc.tuple(texts, fc.option(names, { nil: undefined }), ids).map(([text, name, id]) => ({
    method: "addToolMessage",
    run: (manager: MemoryManager) =>
      manager.add({ role: "tool", content: text, tool_name: name, tool_call_id: id }),
  })),
  fc.constant({ method: "undo", run: (manager: MemoryManager) => manager.undo() }),
  fc.constant({ method: "clear", run: (manager: MemoryManager) => manager.clear() }),
);

/** One that sets a part of the frame, which is held under the name of its `method`. */
export interface Setting extends Operation {
  readonly method: "systemPrompt" | "summary" | "context";
}

export function settingOf<Name extends Setting["method"]>(
  method: Name,
  value: MemoryManager[Name],
): Setting {
  return {
    method,
    run(manager) {
      manager[method] = value;
    },
  };
}

const prompts = fc.constantFrom(null, "", "S", "Be kind.");
const summaries = fc.record({ text: texts, turns: fc.nat({ max: 4 }) });
export const contexts: fc.Arbitrary<Context> = fc.record({
  text: texts,
  place: fc.constantFrom("system", "question"),
});

/** What changes the frame; an empty text is refused. */
export const settings: fc.Arbitrary<Setting> = fc.oneof(
  prompts.map((prompt) => settingOf("systemPrompt", prompt)),
  fc.option(summaries).map((summary) => settingOf("summary", summary)),
  fc.option(contexts).map((context) => settingOf("context", context)),
);

const limits = fc.option(fc.nat({ max: 4 }));

/** Options of a `MemoryManager` that it accepts; a code point costs one token. */
export const options: fc.Arbitrary<MemoryManagerOptions> = limits.chain((maxTurns) =>
  fc.record({
    systemPrompt: fc.constantFrom(null, "S"),
    maxTurns: fc.constant(maxTurns),
    maxTokens: fc.option(fc.integer({ min: 1, max: 60 })),
    trimTo: maxTurns === null ? fc.constant(null) : fc.option(fc.nat({ max: maxTurns })),
    countTokens: fc.constant(countCodePoints),
  }),
);

export function countCodePoints(message: Message): number {
  return Array.from(message.content).length;
}

/** Run `operation`, and return null where it is refused. */
export function attempt(operation: Operation, manager: MemoryManager): unknown {
  try {
    return operation.run(manager);
  } catch (error) {
    if (error instanceof TandemError) return null;
    throw error;
  }
}

export function played(
  given: MemoryManagerOptions,
  script: readonly Operation[],
  afterEach: (manager: MemoryManager) => void = () => {},
): MemoryManager {
  const manager = new MemoryManager(given);
  for (const operation of script) {
    attempt(operation, manager);
    afterEach(manager);
  }
  return manager;
}
