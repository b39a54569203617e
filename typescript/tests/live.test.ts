/**
 * Chats with a real model; `nox -s live` says which, and on which engine.
 *
 * A small model is weak, so nothing here looks at its wording: what is recalled is compared with a
 * chat that was not told. Twin: python/tests/test_live.py.
 */

import { expect, test } from "vitest";
import type { ModelEntry } from "../src/index.ts";
import {
  Chat,
  ContextTruncatedError,
  makeEntry,
  NoAnswerError,
  OllamaEngine,
  UnsupportedCapabilityError,
} from "../src/index.ts";
import type { Json } from "./fixtures.ts";
import { collect, thrown } from "./loopback.ts";

const PATIENCE = { timeout: 600_000 };

const systemPrompt = "You are a helpful assistant.";
const FACTS: [fact: string, question: string, name: string][] = [
  ["My cat is called Flora.", "What is my cat called?", "flora"],
  ["My sister is called Martha.", "What is the name of my sister?", "martha"],
];

/** Return the model to test with: equal answers on reruns, and short ones. */
function liveEntry({ num_predict = 24, ...settings }: Json = {}): ModelEntry {
  return makeEntry("live", {
    model: process.env.TANDEM_LIVE_MODEL ?? "qwen3:0.6b",
    host: process.env.TANDEM_LIVE_URL ?? "",
    num_ctx: 2048,
    think: false,
    options: { temperature: 0, seed: 1, num_predict },
    ...settings,
  });
}

test("an answer comes in pieces and is counted", PATIENCE, async () => {
  const chat = new Chat(liveEntry(), { systemPrompt });
  const stream = chat.stream("Name three colours.");
  const pieces = await collect(stream);
  const { reply } = stream;
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join("")).toBe(reply?.content);
  expect(chat.memory.getMessages().at(-1)?.content).toBe(reply?.content);
  expect(reply?.promptTokens).toBeGreaterThan(10);
  expect(reply?.replyTokens).toBeGreaterThan(0);
  expect(reply?.replyTokens).toBeLessThanOrEqual(24);
  expect(reply?.durations.total).toBeGreaterThan(0);
  expect(reply?.truncation).toBe(null);
});

test("thinking is kept apart or refused", PATIENCE, async () => {
  const chat = new Chat(liveEntry({ think: true, num_predict: 200 }));
  const { capabilities } = await new OllamaEngine(chat.engine.entry).show();
  if (!capabilities.includes("thinking")) {
    const error = await thrown(chat.ask("How much is 6 times 7?"));
    expect(error).toBeInstanceOf(UnsupportedCapabilityError);
    expect(chat.memory.getMessages()).toEqual([]);
    return;
  }
  let thoughts = "";
  const onThinking = (piece: string) => {
    thoughts += piece;
  };
  const asked = chat.ask("How much is 6 times 7?", { onThinking });
  const [{ value: reply, reason }] = (await Promise.allSettled([asked])) as Json;
  expect(thoughts.trim()).not.toBe("");
  if (reason) {
    expect(reason).toEqual(new NoAnswerError("length")); // all of it went into thinking
  } else {
    expect(reply.thinking).toBe(thoughts);
    expect(reply.content).not.toContain("<think>");
  }
  expect(chat.memory.getMessages().some((message) => "thinking" in message)).toBe(false);
});

test("the window stops growing as the server counts it", PATIENCE, async () => {
  const counts = async (chat: Chat) => {
    const counted: number[] = [];
    for (let i = 10; i < 16; i++) {
      counted.push((await chat.ask(`Say the number ${i}.`)).promptTokens ?? 0);
    }
    return counted;
  };
  const entry = liveEntry({ num_predict: 4 });
  const bounded = await counts(new Chat(entry, { systemPrompt, maxTurns: 2, trimTo: 1 }));
  const unbounded = await counts(new Chat(entry, { systemPrompt, maxTurns: null }));
  const growth = unbounded.slice(1).map((count, i) => count - (unbounded[i] ?? 0));
  expect(Math.min(...growth)).toBeGreaterThan(0);
  const most = (bounded[0] ?? 0) + 2 * Math.max(...growth);
  expect(Math.max(...bounded)).toBeLessThanOrEqual(most);
  expect(unbounded.at(-1)).toBeGreaterThan(Math.max(...bounded));
});

test("what was said is recalled", PATIENCE, async () => {
  let recalled = 0;
  for (const [fact, question, name] of FACTS) {
    const chat = new Chat(liveEntry(), { systemPrompt });
    await chat.ask(fact);
    recalled += Number((await chat.ask(question)).content.toLowerCase().includes(name));
    const control = new Chat(liveEntry(), { systemPrompt });
    expect((await control.ask(question)).content.toLowerCase()).not.toContain(name);
  }
  expect(recalled).toBeGreaterThan(0);
});

test("what was said is forgotten after clear", PATIENCE, async () => {
  const [fact, question, name] = FACTS[0] ?? ["", "", ""];
  const chat = new Chat(liveEntry(), { systemPrompt });
  const { promptTokens: before } = await chat.ask(fact);
  await chat.clear();
  const reply = await chat.ask(question);
  expect(reply.content.toLowerCase()).not.toContain(name);
  expect(Math.abs((reply.promptTokens ?? 0) - (before ?? 0))).toBeLessThanOrEqual(5);
});

test("a follow-up after an interrupted answer", PATIENCE, async () => {
  const chat = new Chat(liveEntry({ num_predict: 60 }), { systemPrompt });
  const stream = chat.stream("Count from one to fifty in words.");
  const pieces: string[] = [];
  for await (const piece of stream) if (pieces.push(piece) === 4) break;
  expect(stream.reply?.interrupted).toBe(true);
  expect(stream.reply?.content).toBe(pieces.join(""));
  expect(chat.memory.getMessages().at(-1)).toHaveProperty("interrupted", true);
  const reply = await chat.ask("Thank you. Say hello.");
  const roles = chat.memory.getMessages().map((message) => message.role);
  expect(roles).toEqual(["system", "user", "assistant", "user", "assistant"]);
  expect(reply.content).not.toBe("");
  expect(reply.interrupted).toBe(false);
});

test("a prompt that is too long is reported", PATIENCE, async () => {
  const chat = new Chat(liveEntry({ num_ctx: 512 }), { maxTokens: null });
  const asked = chat.ask("word ".repeat(1200));
  const [{ value: reply, reason }] = (await Promise.allSettled([asked])) as Json;
  const truncation = reason ?? reply.truncation;
  expect(truncation).toBeInstanceOf(ContextTruncatedError);
  expect(truncation.numCtx).toBe(512);
});
