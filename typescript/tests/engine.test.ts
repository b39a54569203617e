/**
 * The Ollama engine over real HTTP, with a server that does all that servers do.
 *
 * Twin: python/tests/test_engine.py.
 */

import { createServer } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Delta, Message } from "../src/index.ts";
import {
  ContextTruncatedError,
  ModelNotFoundError,
  makeEntry,
  OllamaEngine,
  ReplyBrokenOffError,
  ServerFailedError,
  ServerUnreachableError,
  UnsupportedCapabilityError,
} from "../src/index.ts";
import type { Json } from "./fixtures.ts";
import type { Answer, Loopback } from "./loopback.ts";
import { collect, said, startLoopback, thrown, whole } from "./loopback.ts";

const HI: Message[] = [{ role: "user", content: "hi" }];
const EMPTY: Delta = { content: "", thinking: "", toolCalls: [], ending: null };

let server: Loopback;
beforeEach(async () => {
  server = await startLoopback({ shows: true });
});
afterEach(() => server.close());

function make(settings: Json = {}): OllamaEngine {
  return new OllamaEngine(makeEntry("t", { model: "m:1", host: server.url, ...settings }));
}

test("a stream yields what the lines add", async () => {
  const call = { id: "c1", function: { name: "look", arguments: { at: 1 } } };
  const last = {
    message: { content: "" },
    done: true,
    done_reason: "stop",
    total_duration: 9,
    load_duration: 1,
    prompt_eval_count: 11,
    prompt_eval_duration: 3,
    eval_count: 2,
    eval_duration: 5,
  };
  server.answers = [
    {
      parts: [
        { message: { content: "", thinking: "hm" }, done: false },
        { message: { content: "Hi", tool_calls: [call] }, done: false },
        last,
      ],
    },
  ];
  const durations = { total: 9, load: 1, prompt: 3, reply: 5 };
  const ending = { doneReason: "stop", promptTokens: 11, replyTokens: 2, durations };
  expect(await collect(make().stream(HI))).toEqual([
    { ...EMPTY, thinking: "hm" },
    { ...EMPTY, content: "Hi", toolCalls: [call] },
    { ...EMPTY, ending },
  ]);
});

test("a request says all that the clients leave out", async () => {
  server.answers = [whole("ok")];
  const messages: Message[] = [
    { role: "user", content: "look" },
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "c1", function: { name: "look", arguments: {} } }],
    },
    { role: "tool", content: "a cat", tool_call_id: "c1", tool_name: "look" },
  ];
  const tools = [{ type: "function", function: { name: "look" } }];
  const format = { type: "object" };
  const engine = make({ num_ctx: 4096, options: { seed: 1 }, think: true, keep_alive: "1m" });
  await collect(engine.stream(messages, { tools, format }));
  const body = {
    model: "m:1",
    messages,
    stream: true,
    truncate: false,
    shift: false,
    options: { seed: 1, num_ctx: 4096 },
    think: true,
    keep_alive: "1m",
    tools,
    format,
  };
  expect(server.requests).toEqual([["/api/chat", body]]);
});

test("text is the same however its bytes are cut", async () => {
  const lines = '{"message":{"content":"ж你\x85🦊"}}\r\n\n{"message":{"content":"."},"done":true}';
  server.answers = [{ parts: Array.from(Buffer.from(lines), (byte) => Buffer.from([byte])) }];
  const deltas = await collect(make().stream(HI));
  expect(deltas.map((delta) => delta.content)).toEqual(["ж你\x85🦊", "."]);
});

test("leaving the stream closes the connection", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  for await (const delta of make().stream(HI)) {
    expect(delta.content).toBe("Once");
    break;
  }
  await server.hungUp;
});

test.each([false, true])("an abort closes the connection (after a piece: %s)", async (after) => {
  server.answers = [{ parts: after ? said("Once") : [], end: "stall" }];
  const { signal, abort } = abortable();
  const seen: string[] = [];
  const read = async () => {
    for await (const delta of make().stream(HI, { signal })) seen.push(delta.content);
  };
  const reading = thrown(read());
  await vi.waitFor(() => expect([server.requests.length, seen.length]).toEqual([1, Number(after)]));
  abort();
  expect((await reading).name).toBe("AbortError");
  await server.hungUp;
});

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test.each<[string, Answer]>([
  ["cut", { parts: said("Once"), end: "cut" }],
  ["reset", { parts: said("Once"), end: "reset" }],
  ["cut in a line", { parts: [...said("Once"), '{"message":{"con'], end: "cut" }],
  ["ends in a line", { parts: [...said("Once"), '{"message":{"con'] }],
  ["no ending", { parts: said("Once") }],
  ["no JSON", { parts: [...said("Once"), "no JSON\n", ...said("upon")] }],
  ["no object", { parts: [...said("Once"), "[]\n"] }],
])("a server breaks off: %s", async (_, answer) => {
  server.answers = [answer];
  const error = await thrown(collect(make().stream(HI)));
  expect(error).toBeInstanceOf(ReplyBrokenOffError);
  expect(error.received).toBe("Once");
});

test.each([
  [404, "model 'm:1' not found", ModelNotFoundError],
  [400, '"m:1" does not support thinking', UnsupportedCapabilityError],
  [400, '"m:1" does not support tools', UnsupportedCapabilityError],
  [400, "the input length exceeds the context length", ContextTruncatedError],
  [500, "boom", ServerFailedError],
  [200, "llama runner process has terminated", ServerFailedError],
])("errors are told apart: %i %s", async (status, words, expected) => {
  server.answers = [{ parts: [{ error: words }], status }];
  const error = await thrown(collect(make().stream(HI)));
  expect(error).toBeInstanceOf(expected);
  if (error instanceof ServerFailedError) expect(error.data).toEqual({ status, detail: words });
});

test.each([
  [404, "404 page not found"],
  [502, "<p>"],
  [500, ""],
])("an error that is not Ollama's is quoted: %i %s", async (status, words) => {
  server.answers = [{ parts: words ? [words] : [], status }];
  const error = await thrown(collect(make().stream(HI)));
  expect(error).toBeInstanceOf(ServerFailedError);
  expect(error.data).toEqual({ status, detail: words });
});

test.each<[string, (engine: OllamaEngine) => Promise<unknown>]>([
  ["stream", (engine) => collect(engine.stream(HI))],
  ["pull", (engine) => collect(engine.pull())],
  ["models", (engine) => engine.models()],
  ["show", (engine) => engine.show()],
])("a missing server is told: %s", async (_, call) => {
  const host = await freeAddress();
  const error = await thrown(call(make({ host })));
  expect(error).toBeInstanceOf(ServerUnreachableError);
  expect(error.host).toBe(host);
});

async function freeAddress(): Promise<string> {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const address = free.address();
  await new Promise((resolve) => free.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

test("a server that says nothing is missing", async () => {
  server.answers = [{ end: "silent" }];
  expect(await thrown(collect(make().stream(HI)))).toBeInstanceOf(ServerUnreachableError);
});

test("a pull tells its progress", async () => {
  const parts = [{ status: "pulling a", total: 10, completed: 5 }, { status: "success" }];
  server.answers = [{ parts }];
  expect(await collect(make().pull())).toEqual([
    { status: "pulling a", completed: 5, total: 10 },
    { status: "success", completed: null, total: null },
  ]);
  const [path, body] = server.requests[0] ?? [];
  expect([path, body.stream, body.model ?? body.name]).toEqual(["/api/pull", true, "m:1"]);
});

test.each<[string, Answer]>([
  ["error line", { parts: [{ status: "pulling a" }, { error: "no space left" }] }],
  ["no success", { parts: [{ status: "pulling a" }] }],
  ["status", { parts: [{ error: "pull model manifest: file does not exist" }], status: 500 }],
])("a pull that fails is told: %s", async (_, answer) => {
  server.answers = [answer];
  expect(await thrown(collect(make().pull()))).toBeInstanceOf(ServerFailedError);
});

test("an abort ends a pull", async () => {
  server.answers = [{ parts: [{ status: "pulling a" }], end: "stall" }];
  const { signal, abort } = abortable();
  const read = async () => {
    for await (const _ of make().pull({ signal })) abort();
  };
  expect((await thrown(read())).name).toBe("AbortError");
  await server.hungUp;
});

test("models and show", async () => {
  const info = { "general.architecture": "qwen3", "qwen3.context_length": 40960 };
  server.answers = [
    {
      parts: [
        {
          models: [
            { name: "a:1", model: "a:1" },
            { name: "b:1", model: "b:1" },
          ],
        },
      ],
    },
    { parts: [{ model_info: info, capabilities: ["completion", "tools"] }] },
    { parts: [{ model_info: {} }] },
    { parts: [{ error: "model 'm:1' not found" }], status: 404 },
  ];
  const engine = make();
  expect(await engine.models()).toEqual(["a:1", "b:1"]);
  const expected = { contextLength: 40960, capabilities: ["completion", "tools"] };
  expect(await engine.show()).toEqual(expected);
  expect(await engine.show()).toEqual({ contextLength: null, capabilities: [] });
  expect(await thrown(engine.show())).toBeInstanceOf(ModelNotFoundError);
});

test.each<[string, (engine: OllamaEngine) => Promise<unknown>]>([
  ["models", (engine) => engine.models()],
  ["show", (engine) => engine.show()],
])("what is no Ollama is told: %s", async (_, call) => {
  server.answers = [{ parts: ["<html>Welcome</html>"] }];
  expect(await thrown(call(make()))).toBeInstanceOf(ServerFailedError);
});
