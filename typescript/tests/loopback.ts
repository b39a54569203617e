/**
 * A server on loopback that speaks Ollama's wire format, and misbehaves when told to.
 *
 * Twin: python/tests/loopback.py.
 */

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import type { Json } from "./fixtures.ts";

/**
 * What the server says to one request.
 *
 * `parts`: an object is a JSON line, bytes and texts are sent as they are; each is a chunk.
 * `end`: `whole` ends the answer; `cut` closes the connection in the middle of it, `reset` does so
 *     with a TCP reset; `stall` says nothing more until the client hangs up; `silent` closes the
 *     connection without a word.
 */
export interface Answer {
  readonly parts?: readonly Json[];
  readonly status?: number;
  readonly end?: "whole" | "cut" | "reset" | "stall" | "silent";
}

/**
 * The server. `requests` are the paths and JSON bodies that came, `answers` what is said next.
 *
 * `hungUp` resolves when a client has left a stalled answer. What a model is, for which chats ask
 * before their first question, is said without an answer, and is no request, but with `shows`.
 */
export interface Loopback {
  readonly url: string;
  readonly requests: [path: string, body: Json][];
  answers: Answer[];
  readonly hungUp: Promise<void>;
  close(): void;
}

export async function startLoopback({ shows = false } = {}): Promise<Loopback> {
  const requests: Loopback["requests"] = [];
  let hangUp = () => {};
  const hungUp = new Promise<void>((resolve) => {
    hangUp = resolve;
  });
  const server = createServer((socket) => {
    let received = "";
    socket.on("error", () => {});
    socket.on("data", (data) => {
      received += data;
      const [head = "", body = ""] = received.split("\r\n\r\n");
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (!received.includes("\r\n\r\n") || Buffer.byteLength(body) < length) return;
      received = "";
      const path = head.split(" ")[1] ?? "";
      if (path === "/api/show" && !shows) {
        say(socket, { parts: [{}] }, hangUp);
      } else {
        requests.push([path, body ? JSON.parse(body) : null]);
        say(socket, loopback.answers.shift() ?? {}, hangUp);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const loopback: Loopback = {
    url: `http://127.0.0.1:${port}`,
    requests,
    answers: [],
    hungUp,
    close: () => server.close(),
  };
  return loopback;
}

function say(socket: Socket, answer: Answer, hangUp: () => void): void {
  const { parts = [], status = 200, end = "whole" } = answer;
  if (end === "silent") {
    socket.end();
    return;
  }
  socket.write(
    `HTTP/1.1 ${status} Status\r\nConnection: close\r\n` +
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
  );
  for (const part of parts.map(toBytes)) {
    socket.write(
      Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
    );
  }
  if (end === "whole") socket.end("0\r\n\r\n");
  else if (end === "cut") socket.end();
  // The reset must not overtake what was written before it.
  else if (end === "reset") setTimeout(() => socket.resetAndDestroy(), 50);
  else socket.on("close", hangUp);
}

function toBytes(part: Json): Buffer {
  if (Buffer.isBuffer(part)) return part;
  return Buffer.from(typeof part === "string" ? part : `${JSON.stringify(part)}\n`);
}

/** Return the lines of an answer that goes on after these pieces. */
export function said(...pieces: string[]): Json[] {
  return pieces.map((content) => ({ message: { role: "assistant", content } }));
}

/** Return an answer that says these pieces and ends as it should. */
export function whole(...pieces: string[]): Answer {
  const last = { done: true, done_reason: "stop", prompt_eval_count: 7, eval_count: 2 };
  return { parts: [...said(...pieces), last] };
}

/** Return all that `values` yields. */
export async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const collected: Value[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

/** Return what `work` throws; null where it does not. */
export async function thrown(work: Promise<unknown>): Promise<Json> {
  return work.then(
    () => null,
    (error) => error,
  );
}
