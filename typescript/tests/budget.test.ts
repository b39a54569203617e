/**
 * The room that a chat's options leave, and when a model is asked what it is.
 *
 * How the budget holds is in the fixtures; twin: python/tests/test_budget.py.
 */

import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelEntry } from "../src/index.ts";
import { Chat, InvalidLimitError, ModelNotFoundError, makeEntry } from "../src/index.ts";
import type { Json } from "./fixtures.ts";
import type { Loopback } from "./loopback.ts";
import { startLoopback, thrown, whole } from "./loopback.ts";

let server: Loopback;
let entry: ModelEntry;
beforeEach(async () => {
  server = await startLoopback({ shows: true });
  entry = makeEntry("t", { model: "m:1", host: server.url });
});
afterEach(() => server.close());

test("an answer without room for a question is refused at once", () => {
  const small = makeEntry("t", { model: "m:1", num_ctx: 100, answer_tokens: 100 });
  expect(() => new Chat(small)).toThrow(InvalidLimitError);
});

test("tools take their room from the window", () => {
  const description = "word ".repeat(100);
  const tool = { type: "function", function: { name: "look", description } };
  const [plain, withTools] = [[], [tool]].map(
    (tools) => new Chat(entry, { tools }).memory.explain().max_tokens ?? 0,
  );
  expect(plain).toBe(8192 - 2048);
  expect((plain ?? 0) - (withTools ?? 0)).toBeGreaterThanOrEqual(100);
  expect((plain ?? 0) - (withTools ?? 0)).toBeLessThanOrEqual(250);
});

test.each([-1, 10_000.5, Number.POSITIVE_INFINITY, Number.NaN, "50", true])(
  "a wrong budget, %s, is refused though the context leaves less",
  (wrong: Json) => {
    expect(() => new Chat(entry, { maxTokens: wrong })).toThrow(InvalidLimitError);
  },
);

test("a model that was missing is looked at once it is there", async () => {
  const missing = { parts: [{ error: "model 'm:1' not found" }], status: 404 };
  const info = { "general.architecture": "a", "a.context_length": 2048 };
  const shown = { parts: [{ model_info: info, capabilities: [] }] };
  server.answers = [missing, missing, shown, whole("Hello")];
  const chat = new Chat(entry);
  expect(await thrown(chat.ask("Hi"))).toBeInstanceOf(ModelNotFoundError);
  await chat.ask("Hi");
  expect(server.requests.at(-1)?.[1].options).toEqual({ num_ctx: 2048 });
});
