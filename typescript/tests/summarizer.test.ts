/**
 * Summaries over real HTTP: what ends one that is being made.
 *
 * When one is made, and what of it is kept, is in the fixtures; twin:
 * python/tests/test_summarizer.py.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ModelEntry } from "../src/index.ts";
import { Chat, InvalidLimitError, makeEntry } from "../src/index.ts";
import type { Loopback } from "./loopback.ts";
import { said, startLoopback, whole } from "./loopback.ts";

let server: Loopback;
let entry: ModelEntry;
beforeEach(async () => {
  server = await startLoopback();
  entry = makeEntry("t", { model: "m:1", host: server.url });
});
afterEach(() => server.close());

test("a question ends the summary", async () => {
  server.answers = [
    whole("a1"),
    { parts: said("They"), end: "stall" },
    whole("a2"),
    whole("They met."),
  ];
  const chat = new Chat(entry, { maxTurns: 1, summarize: true });
  await chat.ask("q1");
  await vi.waitUntil(() => server.requests.length === 2);
  expect((await chat.ask("q2")).content).toBe("a2");
  expect(await chat.settle()).toBe(true);
  const request = server.requests.at(-1)?.[1].messages[0].content;
  expect(request).toMatch(/User: q1\nAssistant: a1\nUser: q2\nAssistant: a2$/);
  expect(chat.memory.summary).toBeNull();
  await server.hungUp;
});

test("a question ends what there is to settle", async () => {
  server.answers = [whole("a1"), whole("They met."), whole("a2")];
  const chat = new Chat(entry, { maxTurns: 1 });
  await chat.ask("q1");
  expect(await chat.summarize()).toBe(true);
  await chat.ask("q2");
  expect(await chat.settle()).toBe(false);
});

test("clear ends the summary", async () => {
  server.answers = [whole("a1"), { parts: said("They"), end: "stall" }];
  const chat = new Chat(entry, { maxTurns: 1, summarize: true });
  await chat.ask("q1");
  await chat.clear();
  expect(await chat.settle()).toBe(false);
  expect(chat.memory.summary).toBeNull();
});

test("close ends the summary", async () => {
  server.answers = [whole("a1"), { parts: said("They"), end: "stall" }, whole("a2")];
  const chat = new Chat(entry, { maxTurns: 1, summarize: true });
  await chat.ask("q1");
  await vi.waitUntil(() => server.requests.length === 2);
  await chat.close();
  expect(await chat.settle()).toBe(false);
  await server.hungUp;
  expect((await chat.ask("q2")).content).toBe("a2");
});

test("a summary has a limit", () => {
  expect(() => new Chat(entry, { summaryTokens: 0 })).toThrow(InvalidLimitError);
});
