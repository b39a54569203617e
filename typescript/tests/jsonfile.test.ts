/** The JSON store's files; twin: python/tests/test_jsonfile.py. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InvalidDocumentError, StoreDamagedError } from "../src/core/errors.ts";
import { documentText, JsonStore, readDocument, writeDocument } from "../src/storage/index.ts";

const QUESTION = { role: "user", content: "😊 你好 naïve" };
const ANSWER = {
  role: "assistant",
  content: "a",
  tool_calls: [{ function: { name: "f", arguments: {} } }],
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tandem-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Make a store with two users, and return the file of `ann`. */
async function fill(): Promise<string> {
  const store = new JsonStore(folder);
  for (const user of ["ann", "bo"]) {
    await store.createSession(user, "s");
    await store.append(user, "s", [QUESTION, ANSWER, QUESTION], { status: "pending" });
    await store.acquireLease(user, "s", "holder");
  }
  await store.close();
  return join(folder, String(readdirSync(folder).find((name) => name.startsWith("ann-"))));
}

const replace = (from: string, to: string) => (good: Buffer) =>
  Buffer.from(good.toString().replaceAll(from, to));

const DAMAGES: Record<string, (good: Buffer) => Buffer> = {
  empty: () => Buffer.alloc(0),
  zeros: (good) => Buffer.alloc(good.length),
  "a brace": () => Buffer.from("{"),
  "a list": () => Buffer.from("[]"),
  half: (good) => good.subarray(0, good.length / 2),
  "all but the end": (good) => good.subarray(0, -3),
  "another user's": replace('"ann"', '"bo"'),
  "an edit that does not add up": replace('"last_seq": 3', '"last_seq": 1'),
  "bytes that are no UTF-8": (good) =>
    Buffer.from(good.toString("latin1").replace("ve", "\xff\xfe"), "latin1"),
  "a number that JSON has not": replace('"last_seq": 3', '"last_seq": NaN'),
};

test.each(Object.keys(DAMAGES))(
  "a damaged file is reported and left as it is: %s",
  async (name) => {
    const path = await fill();
    const bad = DAMAGES[name]?.(readFileSync(path)) ?? Buffer.alloc(0);
    writeFileSync(path, bad);
    const store = new JsonStore(folder);
    for (const call of [
      () => store.listSessions("ann"),
      () => store.createSession("ann", "t"),
      () => store.append("ann", "s", [QUESTION]),
      () => store.forget("ann"),
    ]) {
      await expect(call()).rejects.toThrow(StoreDamagedError);
      expect(readFileSync(path).equals(bad)).toBe(true);
    }
    expect(await store.history("bo", "s")).toHaveLength(2);
    await store.close();
  },
);

test("a file may be edited by hand", async () => {
  const path = await fill();
  const text = readFileSync(path, "utf8").replaceAll("你好", "再见").replaceAll("\n", "\r\n");
  writeFileSync(path, `\ufeff${text}`);
  const store = new JsonStore(folder);
  const [first] = await store.history("ann", "s");
  expect(first?.messages[0]?.message.content).toBe("😊 再见 naïve");
  await store.close();
});

test("an export's text says all of it", async () => {
  await fill();
  const store = new JsonStore(folder);
  const document = await store.exportSessions("ann");
  expect(JSON.parse(documentText(document))).toEqual(document);
  await store.close();
});

const PATHS = ["../evil", "..\\evil", "/abs", "C:\\x", "a\0b", ".", "..", "CON"];
const IDS = [...PATHS, "a.b", "a_b", "A_B", "%", "猫".repeat(9_999), "x".repeat(10_000)];

test("every file is in the folder whatever the id", async () => {
  const inner = join(folder, "inner");
  const files = () => readdirSync(inner).filter((name) => name.endsWith(".json"));
  const store = new JsonStore(inner);
  for (const user of IDS) await store.createSession(user, user);
  expect(new Set(files().map((name) => name.toLowerCase())).size).toBe(IDS.length);
  expect(readdirSync(folder)).toEqual(["inner"]);
  expect(Math.max(...files().map((name) => name.length))).toBeLessThanOrEqual(64);
  await store.forget(String(IDS[0]));
  expect(files()).toHaveLength(IDS.length - 1);
  await store.close();
});

test("tasks share a folder through two stores", async () => {
  const stores = [new JsonStore(folder), new JsonStore(folder)];
  await stores[0]?.createSession("ann", "s");
  const append = async (store?: JsonStore) => {
    for (let i = 0; i < 5; i += 1) await store?.append("ann", "s", [QUESTION, ANSWER]);
  };
  await Promise.all([0, 1, 2, 3].map((i) => append(stores[i % 2])));
  expect(await stores[0]?.history("ann", "s", null)).toHaveLength(20);
  for (const store of stores) await store.close();
});

test("what a dead process was writing is swept away", async () => {
  const path = await fill();
  const draft = `${path}.1234.tmp`;
  writeFileSync(draft, "the secret word");
  const store = new JsonStore(folder);
  expect(existsSync(draft)).toBe(false);
  writeFileSync(draft, "the secret word");
  expect((await store.forget("ann")).messages).toBe(3);
  expect([existsSync(draft), existsSync(path)]).toEqual([false, false]);
  await store.close();
});

test("a document that fails to be written leaves the old one", () => {
  const path = join(folder, "export.json");
  writeDocument(path, { a: 1 });
  const broken = {
    get a() {
      throw new TypeError("no value");
    },
  };
  expect(() => writeDocument(path, broken)).toThrow(TypeError);
  expect(readDocument(path)).toEqual({ a: 1 });
  expect(readdirSync(folder)).toEqual(["export.json"]);
});

test("a file without JSON is no document", () => {
  writeFileSync(join(folder, "x"), "[1, 2");
  expect(() => readDocument(join(folder, "x"))).toThrow(InvalidDocumentError);
});
