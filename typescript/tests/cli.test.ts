/**
 * The terminal program in a pipe; twin: python/tests/test_cli.py.
 *
 * In a terminal of its own, beside its twin: shared-fixtures/checks/terminal.py.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isText, TypedAhead } from "../src/terminal/typing.ts";

const PROGRAM = join(import.meta.dirname, "../src/cli.ts");

/** Says back what it was asked, goes on for ever or breaks off when told to; no summary ends. */
const server = createServer(async (request, response) => {
  const { messages } = JSON.parse(await text(request));
  if (!messages) {
    response.end("{}\n"); // what the model is: this server does not know
    return;
  }
  const say = (content: string) => response.write(`${JSON.stringify({ message: { content } })}\n`);
  const question = messages.at(-1).content;
  const isSummary = question.startsWith("Below is a conversation.");
  if (question === "break off") {
    say("Half an ans");
    response.write('{"message":{"content":"wer, cut', () => response.destroy());
  } else if (question === "talk on" || isSummary) {
    if (isSummary) server.emit("summary", response);
    const timer = setInterval(() => say("on "), 10);
    response.on("close", () => clearInterval(timer));
  } else {
    say(`You said “${question}” (${messages.length}).\n`);
    response.end('{"message":{"content":""},"done":true,"done_reason":"stop"}\n');
  }
});

beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(() => server.close());

function start(words: readonly string[]) {
  const { port } = server.address() as AddressInfo;
  const own = { OLLAMA_HOST: `127.0.0.1:${port}`, TANDEM_MEMORY_STORE: "none", LC_ALL: "C" };
  const env = { ...process.env, ...own };
  const program = spawn(process.execPath, [PROGRAM, ...words], { env });
  const ended = once(program, "exit");
  const result = async () => {
    const printed = [text(program.stdout), text(program.stderr)];
    const [status] = await ended;
    return [status, ...(await Promise.all(printed))];
  };
  return { program, result };
}

function run(words: readonly string[], input: string | Uint8Array) {
  const { program, result } = start(words);
  program.stdin.end(input);
  return result();
}

test("an answer in a pipe is the answer alone", async () => {
  const printed = await run(["chat"], "hi\n");
  expect(printed).toEqual([0, "You said “hi” (1).\n\n", ""]);
});

test("what is no UTF-8 is a message all the same", async () => {
  const printed = await run(["chat"], new Uint8Array([0xff, 0x61, 0xe4, 0xbd]));
  expect(printed).toEqual([0, "You said “\ufffda\ufffd” (1).\n\n", ""]);
});

test("a server that breaks off fails the line, and the conversation goes on", async () => {
  const [status, out, err] = await run(["chat"], "break off\nhi\n");
  expect([status, out]).toEqual([1, "Half an ans\n\nYou said “hi” (1).\n\n"]);
  expect(err).toBe(
    "error: the model server broke off after 11 characters of the answer; ask again\n",
  );
});

test("a wrong option, path or file is one line, and exit code 2", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "tandem-")), "m.toml");
  writeFileSync(file, "[local.chat]\nnum_ctx = 0\n");
  for (const words of [
    ["chat", "--modle"],
    ["chat", "--model", "x"],
    ["models", "--models", file],
  ]) {
    const [status, out, err] = await run(words, "");
    expect([status, out]).toEqual([2, ""]);
    expect(err).toMatch(/^error: [^\n]+\n$/);
  }
});

test.skipIf(process.platform === "win32")("Ctrl-C stops the answer alone", async () => {
  const { program, result } = start(["chat"]);
  program.stdin.write("talk on\n");
  await once(program.stdout, "readable");
  program.kill("SIGINT");
  program.stdin.end("next\n");
  const [status, out, err] = await result();
  expect([status, err]).toEqual([1, "Stopped; what came is kept.\n"]);
  expect(out).toContain("You said “next” (3).");
});

test.for(["/bye", "/new", "/model qwen3:4b"])("%s waits for no summary", async (command) => {
  const { program, result } = start(["chat", "--summarize", "--max-turns", "1"]);
  const asked = once(server, "summary");
  program.stdin.write("hi\n");
  const [summary] = await asked;
  const hungUp = once(summary, "close");
  program.stdin.end(`${command}\n`);
  expect((await result()).slice(0, 2)).toEqual([0, "You said “hi” (1).\n\n"]);
  await hungUp;
});

test("keys, texts and pasted texts are told apart, wherever they are cut", () => {
  const typed = "ab\u001b[D你\u007f\u001b[200~x\r\ny\u001b[A\u001b[201~z\rnext";
  const expected = ["ab", "\u001b[D", "你", "\u007f", "x⏎y[A", "z", "\r"];
  for (let cut = 0; cut <= typed.length; cut++) {
    const ahead = new TypedAhead();
    ahead.add(typed.slice(0, cut));
    const pieces = ahead.take();
    ahead.add(typed.slice(cut));
    if (!pieces.includes("\r")) pieces.push(...ahead.take());
    const texts = (some: string[]) => some.filter(isText).join("");
    expect(texts(pieces)).toBe(texts(expected));
    expect(pieces.filter((piece) => !isText(piece))).toEqual(["\u001b[D", "\u007f", "\r"]);
    expect(ahead.take()).toEqual(["next"]);
  }
});
