/**
 * Chats over real HTTP: what is kept when a reader stops, a server fails, or two ask at once.
 *
 * What a chat makes of an answer is in the fixtures; twin: python/tests/test_session.py.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ModelEntry } from "../src/index.ts";
import {
  BudgetExceededError,
  Chat,
  InvalidMessageError,
  makeEntry,
  NoAnswerError,
  ReplyBrokenOffError,
} from "../src/index.ts";
import type { Json } from "./fixtures.ts";
import type { Loopback } from "./loopback.ts";
import { collect, said, startLoopback, thrown, whole } from "./loopback.ts";

let server: Loopback;
let entry: ModelEntry;
beforeEach(async () => {
  server = await startLoopback();
  entry = makeEntry("t", { model: "m:1", host: server.url });
});
afterEach(() => server.close());

/** Return what is remembered, one text a message. */
function talk(chat: Chat): string[] {
  return chat.memory
    .getMessages()
    .map((message: Json) => `${message.role}: ${message.content}${message.interrupted ? "!" : ""}`);
}

test("a chat remembers", async () => {
  server.answers = [whole("Hello", " Flora"), whole("Flora")];
  const chat = new Chat(entry, { systemPrompt: "Be kind." });
  expect((await chat.ask("My cat is Flora")).content).toBe("Hello Flora");
  expect((await chat.ask("Who is my cat?")).promptTokens).toBe(7);
  expect(server.requests[1]?.[1].messages).toEqual([
    { role: "system", content: "Be kind." },
    { role: "user", content: "My cat is Flora" },
    { role: "assistant", content: "Hello Flora" },
    { role: "user", content: "Who is my cat?" },
  ]);
});

test("leaving the block keeps the part and hangs up", async () => {
  server.answers = [{ parts: said("Once ", "upon"), end: "stall" }];
  const chat = new Chat(entry);
  const stream = chat.stream("A story?");
  {
    await using open = stream;
    expect((await open.next()).value).toBe("Once ");
    expect((await open.next()).value).toBe("upon");
    expect(talk(chat)).toEqual([]);
  }
  await server.hungUp;
  expect(stream.reply?.interrupted).toBe(true);
  expect(talk(chat)).toEqual(["user: A story?", "assistant: Once upon!"]);
  expect(await collect(stream)).toEqual([]);
});

test("leaving the loop keeps the part and hangs up", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = new Chat(entry);
  for await (const _ of chat.stream("A story?")) break;
  await server.hungUp;
  expect(talk(chat)).toEqual(["user: A story?", "assistant: Once!"]);
});

test("an error of the reader keeps the part", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = new Chat(entry);
  const read = async () => {
    for await (const piece of chat.stream("A story?")) throw new RangeError(piece);
  };
  expect(await thrown(read())).toEqual(new RangeError("Once"));
  expect(talk(chat)).toEqual(["user: A story?", "assistant: Once!"]);
});

test("an abort keeps the part, hangs up and throws its reason", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = new Chat(entry);
  const controller = new AbortController();
  const stream = chat.stream("A story?", { signal: controller.signal });
  await stream.next();
  const next = thrown(stream.next());
  controller.abort(new RangeError("enough"));
  expect(await next).toEqual(new RangeError("enough"));
  await server.hungUp;
  expect(stream.reply?.interrupted).toBe(true);
  expect(talk(chat)).toEqual(["user: A story?", "assistant: Once!"]);
});

test("an abort before any text takes the question back", async () => {
  server.answers = [{ end: "stall" }];
  const chat = new Chat(entry);
  const controller = new AbortController();
  const asking = thrown(chat.ask("A story?", { signal: controller.signal }));
  await vi.waitFor(() => expect(server.requests.length).toBe(1));
  controller.abort();
  expect((await asking).name).toBe("AbortError");
  await server.hungUp;
  expect(talk(chat)).toEqual([]);
});

test("a question that was aborted before it was asked is not sent", async () => {
  const chat = new Chat(entry);
  const error = await thrown(chat.ask("hi", { signal: AbortSignal.abort() }));
  expect(error.name).toBe("AbortError");
  expect(server.requests).toEqual([]);
});

test("closing ends a wait for the next piece", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = new Chat(entry);
  const stream = chat.stream("A story?");
  await stream.next();
  const next = stream.next();
  await stream.close();
  expect(await next).toEqual({ done: true, value: undefined });
  expect(talk(chat)).toEqual(["user: A story?", "assistant: Once!"]);
});

test("a stream that is left is interrupted by the next question", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }, whole("Yes")];
  const chat = new Chat(entry);
  const left = chat.stream("A story?");
  await left.next();
  await chat.ask("Are you there?");
  await server.hungUp;
  expect(talk(chat)).toEqual([
    "user: A story?",
    "assistant: Once!",
    "user: Are you there?",
    "assistant: Yes",
  ]);
  expect(await collect(left)).toEqual([]);
});

test("questions that are asked at once wait their turn", async () => {
  server.answers = [whole("Yes"), whole("Yes"), whole("Yes")];
  const chat = new Chat(entry);
  await Promise.all(["a", "b", "c"].map((question) => chat.ask(question)));
  const expected = ["a", "b", "c"].flatMap((question) => [`user: ${question}`, "assistant: Yes"]);
  expect(talk(chat)).toEqual(expected);
});

test("a question that fails does not hold up the next", async () => {
  server.answers = [{ status: 500 }, whole("Yes")];
  const chat = new Chat(entry);
  const [failed, answered] = await Promise.allSettled([chat.ask("a"), chat.ask("b")]);
  expect([failed.status, answered.status]).toEqual(["rejected", "fulfilled"]);
  expect(talk(chat)).toEqual(["user: b", "assistant: Yes"]);
});

test("a failure leaves all as it was", async () => {
  server.answers = [whole("a"), whole("b"), { parts: said("Once"), end: "cut" }, whole("c")];
  const chat = new Chat(entry, { maxTurns: 1, trimTo: 1 });
  await chat.ask("1");
  await chat.ask("2");
  const before = [chat.memory.explain(), chat.memory.snapshot()];
  expect(await thrown(chat.ask("3"))).toBeInstanceOf(ReplyBrokenOffError);
  expect([chat.memory.explain(), chat.memory.snapshot()]).toEqual(before);
  expect((await chat.ask("3")).content).toBe("c");
  const sent: Json[] = server.requests[3]?.[1].messages;
  expect(sent.map((message) => message.content)).toEqual(["2", "b", "3"]);
});

test("a stream that fails has no reply", async () => {
  server.answers = [{ parts: said("Once"), end: "cut" }];
  const chat = new Chat(entry);
  const stream = chat.stream("A story?");
  expect(await thrown(collect(stream))).toBeInstanceOf(ReplyBrokenOffError);
  expect(stream.reply).toBe(null);
  expect(talk(chat)).toEqual([]);
});

test("a stream is asked with its first piece", async () => {
  const stream = new Chat(entry).stream("hi");
  await stream.close();
  expect(server.requests).toEqual([]);
  expect(await thrown(stream.read())).toBeInstanceOf(NoAnswerError);
});

test("reading on after some pieces gives the whole answer", async () => {
  server.answers = [whole("Once ", "upon")];
  const stream = new Chat(entry).stream("A story?");
  expect((await stream.next()).value).toBe("Once ");
  expect((await stream.read()).content).toBe("Once upon");
});

test("an error of the listener fails the question", async () => {
  server.answers = [{ parts: [{ message: { thinking: "hm" } }], end: "stall" }];
  const chat = new Chat(entry);
  const onThinking = () => {
    throw new RangeError("no");
  };
  expect(await thrown(chat.ask("hi", { onThinking }))).toEqual(new RangeError("no"));
  expect(talk(chat)).toEqual([]);
  await server.hungUp;
});

test.each(["clear", "undo"] as const)("%s ends the stream that is open", async (name) => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = new Chat(entry);
  const stream = chat.stream("A story?");
  await stream.next();
  await chat[name]();
  expect(talk(chat)).toEqual([]);
  expect(await collect(stream)).toEqual([]);
});

test("a system prompt set in mid-answer holds", async () => {
  server.answers = [whole("Once ", "upon")];
  const chat = new Chat(entry, { systemPrompt: "Be kind." });
  const stream = chat.stream("A story?");
  await stream.next();
  chat.systemPrompt = "Be brief.";
  await stream.read();
  expect(chat.systemPrompt).toBe("Be brief.");
  expect(talk(chat)[0]).toBe("system: Be brief.");
});

test("copies are handed out", async () => {
  const call = { function: { name: "look", arguments: { at: 1 } } };
  const last = { message: { tool_calls: [call] }, done: true, done_reason: "stop" };
  server.answers = [{ parts: [last] }];
  const chat = new Chat(entry);
  const reply: Json = await chat.ask("look");
  reply.toolCalls[0].function.arguments.at = 2;
  expect(chat.memory.getMessages()[1]?.tool_calls).toEqual([call]);
});

test("a system prompt without room is refused at once", () => {
  const systemPrompt = "word ".repeat(20_000);
  expect(() => new Chat(entry, { systemPrompt })).toThrow(BudgetExceededError);
});

test("the place of context is checked", () => {
  expect(() => new Chat(entry, { context: "top" as "system" })).toThrow(InvalidMessageError);
});
