/**
 * What an application's own functions, and what it sets, may do to a chat under way.
 *
 * Twin: python/tests/test_callbacks.py.
 */

import { afterEach, beforeEach, expect, test } from "vitest";
import type { ChatEvent, ModelEntry } from "../src/index.ts";
import { BudgetExceededError, Chat, makeEntry } from "../src/index.ts";
import type { Loopback } from "./loopback.ts";
import { startLoopback, thrown, whole } from "./loopback.ts";

let server: Loopback;
let entry: ModelEntry;
beforeEach(async () => {
  server = await startLoopback();
  entry = makeEntry("t", { model: "m:1", host: server.url });
});
afterEach(() => server.close());

test("a listener that throws loses neither the answer nor the other events", async () => {
  server.answers = [whole("a1"), whole("a2"), whole("a3")];
  const types: string[] = [];
  const onEvent = ({ type }: ChatEvent) => {
    types.push(type);
    if (type === "recalled") throw new RangeError("no");
  };
  const recall = (question: string) => (question === "q2" ? "A cat." : null);
  const chat = new Chat(entry, { maxTurns: 1, recall, context: "question", onEvent });
  await chat.ask("q1");
  expect(await thrown(chat.ask("q2"))).toEqual(new RangeError("no"));
  expect(chat.memory.getMessages().map(({ content }) => content)).toContain("a2");
  expect(types).toEqual(["recalled"]);
  await chat.ask("q3");
  expect(types).toEqual(["recalled", "trimmed", "trimmed"]);
});

test("a recall that throws takes the question back", async () => {
  const recall = () => {
    throw new RangeError("no");
  };
  const chat = new Chat(entry, { recall });
  expect(await thrown(chat.ask("q1"))).toEqual(new RangeError("no"));
  expect(chat.memory.getMessages()).toEqual([]);
  expect(server.requests).toEqual([]);
});

test.each(["close", "abort"])("leaving in mid-recall by %s takes the question back", async (by) => {
  const leaving = new AbortController();
  let recalls = () => {};
  const recalling = new Promise<void>((resolve) => {
    recalls = resolve;
  });
  const recall = () => {
    recalls();
    return new Promise<string>(() => {});
  };
  const chat = new Chat(entry, { recall });
  const stream = chat.stream("q1", { signal: leaving.signal });
  const next = thrown(stream.next());
  await recalling;
  if (by === "close") await stream.close();
  else leaving.abort(new RangeError("enough"));
  expect(await next).toEqual(by === "close" ? null : new RangeError("enough"));
  expect(chat.memory.getMessages()).toEqual([]);
  expect(server.requests).toEqual([]);
});

test("a system prompt that has no room beside what was recalled changes nothing", async () => {
  server.answers = [whole("a", "1")];
  const options = { systemPrompt: "Be kind.", maxTokens: 60, recall: () => "cat" };
  const chat = new Chat(entry, { ...options, context: "question" });
  await using stream = chat.stream("q1");
  await stream.next();
  expect(() => {
    chat.systemPrompt = "word ".repeat(48);
  }).toThrow(BudgetExceededError);
  expect(chat.systemPrompt).toBe("Be kind.");
});
