/**
 * The embedded server and a true Ollama answer the same requests alike, through Ollama's client.
 *
 * Twin: python/tests/test_conformance.py. Both run shared-fixtures/conformance/requests.json against
 * TANDEM_EMBEDDED_URL and TANDEM_OLLAMA_URL, as far as they are set; Ollama has the model from there.
 */

import { readFileSync } from "node:fs";
import type { ChatRequest, EmbedRequest } from "ollama";
import { Ollama } from "ollama";
import { describe, expect, test } from "vitest";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

type Expected = {
  status: number;
  type: string;
  text?: string;
  error?: string;
  error_starts?: string;
  lines?: number;
  shape?: string;
  line_shape?: string;
  values?: JsonObject;
  content_keys?: string[];
  content_without?: string;
  min_eval_count?: number;
  embeddings?: number[];
};

type Listed = { id: string; title: string; call: string; body?: Json; expect: Expected };

/** What came over the wire for a request. */
type Exchange = { status: number; type: string; text: Promise<string> };

const FILE = new URL("../../shared-fixtures/conformance/requests.json", import.meta.url);
const LIST = JSON.parse(readFileSync(FILE, "utf8")) as {
  shapes: Record<string, Json>;
  requests: Listed[];
};
const FREE = LIST.requests.find((request) => request.id === "chat-answers-at-once") as Listed;
const SERVERS = [
  { name: "embedded", url: process.env.TANDEM_EMBEDDED_URL },
  { name: "ollama", url: process.env.TANDEM_OLLAMA_URL },
].filter((server) => server.url);

/** Parts of an answer whose single fields are the model's own. */
const LARGE = ["model_info", "tensors"];

/** A server as seen by the official client. */
class Server {
  readonly url: string;
  readonly client: Ollama;
  last: Exchange = { status: 0, type: "", text: Promise.resolve("") };

  constructor(url: string) {
    this.url = url;
    this.client = new Ollama({ host: url, fetch: this.record });
  }

  /** Send a request; return what the client makes of it, or the error that it throws. */
  async send(request: Listed): Promise<unknown> {
    const body = expand(request.body ?? null);
    const [method, path] = request.call.split(" ");
    if (path) {
      const sent = body === null || typeof body === "string" ? body : JSON.stringify(body);
      return this.record(`${this.url}${path}`, { method: method as string, body: sent });
    }
    try {
      return await this.call(request.call, body);
    } catch (error) {
      return error;
    }
  }

  /** Send a request, read so many lines of its answer (0: wait half a second), and go. */
  async hangUp(request: Listed, lines: number): Promise<void> {
    const body = expand(request.body ?? null) as unknown as ChatRequest;
    if (lines === 0) {
      const signal = AbortSignal.timeout(500);
      const sent = { method: "POST", body: JSON.stringify(body), signal };
      await expect(fetch(`${this.url}/api/chat`, sent)).rejects.toThrow();
      return;
    }
    const done: boolean[] = [];
    const stream = await this.client.chat({ ...body, stream: true });
    const read = async () => {
      for await (const part of stream) {
        done.push(part.done);
        if (done.length === lines) stream.abort();
      }
    };
    await expect(read()).rejects.toThrow();
    expect(done.slice(0, lines)).toEqual(Array(lines).fill(false));
  }

  private record = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    const type = (response.headers.get("content-type") ?? "").split(";")[0] as string;
    // A body that is broken off has no text.
    const text = response
      .clone()
      .text()
      .catch(() => "");
    this.last = { status: response.status, type, text };
    return response;
  };

  private async call(name: string, body: Json): Promise<unknown> {
    if (name === "list") return this.client.list();
    if (name === "ps") return this.client.ps();
    if (name === "embed") return this.client.embed(body as unknown as EmbedRequest);
    if (name === "show") return this.client.show(body as { model: string });
    if (name === "pull") return this.client.pull({ ...(body as { model: string }), stream: false });
    const request = body as unknown as ChatRequest;
    if (!request.stream) return this.client.chat({ ...request, stream: false });
    let last: unknown;
    for await (const part of await this.client.chat({ ...request, stream: true })) last = part;
    return last;
  }
}

describe.each(SERVERS)("$name", ({ url }) => {
  const server = new Server(url as string);

  test.each(LIST.requests)("$id", { timeout: 300_000 }, async (request) => {
    const expected = request.expect;
    if (expected.lines !== undefined) {
      await server.hangUp(request, expected.lines);
      const started = performance.now();
      await server.send(FREE);
      expect(server.last.status).toBe(200);
      expect(performance.now() - started).toBeLessThan(30_000);
      return;
    }
    const result = await server.send(request);
    const { status, type } = server.last;
    const text = await server.last.text;
    expect({ status, type }).toEqual({ status: expected.status, type: expected.type });
    if (expected.text !== undefined) {
      expect(text).toBe(expected.text);
      return;
    }
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as JsonObject);
    if (expected.shape === undefined) checkError(expected, lines.at(-1) as JsonObject, result);
    else checkAnswer(expected, lines, result);
  });
});

function checkError(expected: Expected, line: JsonObject, result: unknown): void {
  expect(Object.keys(line)).toEqual(["error"]);
  expect(line.error).toBe(expected.error ?? line.error);
  expect(String(line.error).startsWith(expected.error_starts ?? "")).toBe(true);
  if (result instanceof Error) {
    expect(result).toMatchObject({ status_code: expected.status, error: line.error });
  }
}

function checkAnswer(expected: Expected, lines: JsonObject[], result: unknown): void {
  const last = lines.at(-1) as JsonObject;
  const small = Object.entries(last).filter(([key]) => !LARGE.includes(key));
  expect(shape(Object.fromEntries(small))).toEqual(LIST.shapes[expected.shape as string]);
  expect(lines.length > 1).toBe(expected.line_shape !== undefined);
  for (const line of lines.slice(0, -1)) {
    expect(shape(line)).toEqual(LIST.shapes[expected.line_shape as string]);
  }
  const values = expected.values ?? {};
  expect(Object.fromEntries(Object.keys(values).map((path) => [path, find(last, path)]))).toEqual(
    values,
  );
  if ("done" in last && !(result instanceof Response)) expect(result).toMatchObject(values);
  checkContent(expected, last);
}

function checkContent(expected: Expected, last: JsonObject): void {
  const content = find(last, "message.content");
  if (expected.content_keys) {
    expect(Object.keys(JSON.parse(content as string))).toEqual(expected.content_keys);
  }
  if (expected.content_without) expect(content).not.toContain(expected.content_without);
  if (expected.min_eval_count) {
    expect(last.eval_count).toBeGreaterThanOrEqual(expected.min_eval_count);
  }
  if (expected.embeddings) {
    const embeddings = last.embeddings as number[][];
    expect(embeddings.map((embedding) => embedding.length)).toEqual(expected.embeddings);
    for (const embedding of embeddings) expect(Math.hypot(...embedding)).toBeCloseTo(1, 3);
  }
}

/** A body with its short forms written out. */
function expand(value: Json): Json {
  if (Array.isArray(value)) return value.map(expand);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.alternating === "number") return alternating(value.alternating);
  if (typeof value.repeated === "string") return value.repeated.repeat(value.times as number);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
}

function alternating(pairs: number): Json[] {
  const messages: Json[] = [{ role: "system", content: "Be brief." }];
  for (let i = 0; i < pairs; i++) {
    messages.push({ role: "user", content: `Say number ${i} please` });
    messages.push({ role: "assistant", content: `The number is ${i}.` });
  }
  return [...messages, { role: "user", content: "Next?" }];
}

/** The kinds of a JSON value's parts. */
function shape(value: Json): Json {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shape(item)]));
  }
  const [first] = value;
  return first === undefined || Array.isArray(first) ? "array" : [shape(first)];
}

/** The part at a dotted path; a key may have dots of its own. */
function find(value: Json | undefined, path: string): Json | undefined {
  const parts = (value ?? {}) as JsonObject;
  if (path in parts) return parts[path];
  const [key, ...rest] = path.split(".");
  return rest.length === 0 ? undefined : find(parts[key as string], rest.join("."));
}
