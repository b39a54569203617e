/** The SQLite store's file: damaged, shared, purged; twin: python/tests/test_sqlite.py. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NotAStoreError, StoreDamagedError, StoreTooNewError } from "../src/core/errors.ts";
import { MemoryStore, SqliteStore, type Store } from "../src/storage/index.ts";

const QUESTION = { role: "user", content: "q" };
const ANSWER = { role: "assistant", content: "a" };

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tandem-"));
  path = join(folder, "store.sqlite3");
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Make a store with some turns of one user, and return the file's bytes. */
async function fill(turns = 60): Promise<Buffer> {
  const store = new SqliteStore(path);
  await store.createSession("ann", "s");
  for (let i = 0; i < turns; i += 1) {
    const question = { role: "user", content: `question ${i} `.repeat(40) };
    await store.append("ann", "s", [question, { role: "assistant", content: `answer ${i}` }]);
  }
  await store.close();
  return readFileSync(path);
}

const DAMAGES: Record<string, (good: Buffer) => Buffer> = {
  empty: () => Buffer.alloc(0),
  "one byte": (good) => good.subarray(0, 1),
  "less than a header": (good) => good.subarray(0, 99),
  "one page": (good) => good.subarray(0, 4096),
  "cut in the middle": (good) => good.subarray(0, Math.floor(good.length * 0.7)),
  "cut by one page": (good) => good.subarray(0, -4096),
  "zeros in its place": (good) => Buffer.alloc(good.length),
  "a page of zeros": () => Buffer.alloc(4096),
  text: () => Buffer.from("Dear diary, today I wrote no database.\n".repeat(200)),
  "a scrambled header": (good) => Buffer.concat([randomBytes(100), good.subarray(100)]),
  "a scrambled schema": (good) =>
    Buffer.concat([good.subarray(0, 100), randomBytes(3996), good.subarray(4096)]),
};

test.each(Object.keys(DAMAGES))(
  "a damaged file is reported and left as it is: %s",
  async (name) => {
    const bad = DAMAGES[name]?.(await fill()) ?? Buffer.alloc(0);
    writeFileSync(path, bad);
    expect(() => new SqliteStore(path)).toThrow(StoreDamagedError);
    expect(readFileSync(path).equals(bad)).toBe(true);
  },
);

test("a scrambled page is reported or not in use", async () => {
  const good = await fill();
  const whole = new SqliteStore(path);
  const expected = await whole.exportSessions("ann");
  await whole.close();
  let reported = 0;
  for (let page = 4096; page < good.length; page += 4096) {
    const bad = Buffer.from(good);
    randomBytes(4096).copy(bad, page);
    writeFileSync(path, bad);
    try {
      const store = new SqliteStore(path);
      try {
        expect(await store.exportSessions("ann")).toEqual(expected);
      } finally {
        await store.close();
      }
    } catch (error) {
      expect(error).toBeInstanceOf(StoreDamagedError);
      reported += 1;
    }
    expect(readFileSync(path).equals(bad)).toBe(true);
  }
  expect(reported).toBeGreaterThanOrEqual(good.length / 4096 / 2);
});

test("a file of another program is left alone", () => {
  const connection = new DatabaseSync(path);
  connection.exec("CREATE TABLE sessions (id)");
  connection.close();
  const before = readFileSync(path);
  expect(() => new SqliteStore(path)).toThrow(NotAStoreError);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a file of a later release is refused by its version", async () => {
  await fill();
  const connection = new DatabaseSync(path);
  connection.exec("PRAGMA user_version = 99");
  connection.close();
  const before = readFileSync(path);
  expect(() => new SqliteStore(path)).toThrow(StoreTooNewError);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a place that can hold no file is reported", () => {
  writeFileSync(join(folder, "file"), "x");
  const inFile = join(folder, "file", "store.sqlite3");
  expect(() => new SqliteStore(inFile)).toThrow(
    expect.objectContaining({ code: "store_unavailable" }),
  );
});

async function appendTurns(store: Store, name: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    await store.append("ann", "s", [{ role: "user", content: `${name} ${i}` }, ANSWER]);
  }
}

test("tasks share a file through two stores", async () => {
  const stores = [new SqliteStore(path), new SqliteStore(path)];
  await stores[0]?.createSession("ann", "s");
  const names = Array.from({ length: 8 }, (_, i) => `t${i}`);
  await Promise.all(names.map((name, i) => appendTurns(stores[i % 2] as Store, name, 25)));
  const turns = (await stores[1]?.history("ann", "s", null)) ?? [];
  const texts = turns.map((turn) => String(turn.messages[0]?.message.content));
  expect(turns.map((turn) => turn.turn)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  for (const name of names) {
    const own = texts.filter((text) => text.startsWith(`${name} `));
    expect(own).toEqual(Array.from({ length: 25 }, (_, k) => `${name} ${k}`));
  }
  for (const store of stores) await store.close();
});

test("processes that open a new file together all succeed", async () => {
  const writer = join(import.meta.dirname, "writer.ts");
  const ends = await Promise.all(
    ["a", "b", "c", "d"].map((name) => {
      const child = spawn(process.execPath, [writer, "sqlite", path, "s", "0.2", name]);
      return new Promise((resolve) => child.on("exit", resolve));
    }),
  );
  expect(ends).toEqual([0, 0, 0, 0]);
  expect(readdirSync(folder)).toEqual(["store.sqlite3"]);
});

test("a reader does not stop a writer", async () => {
  await fill(2);
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  expect(reader.prepare("SELECT count(*) AS n FROM messages").get()).toEqual({ n: 4 });
  const store = new SqliteStore(path);
  await store.append("ann", "s", [QUESTION, ANSWER]);
  expect(await store.history("ann", "s", null)).toHaveLength(3);
  await store.close();
  reader.close();
});

test.each([300, 10_000])("a long id is an id: %i characters", async (length) => {
  const names = ["猫".repeat(length), `${"猫".repeat(length)}!`];
  const store = new SqliteStore(path);
  for (const name of names) {
    await store.createSession(name, name);
    await store.append(name, name, [QUESTION]);
    expect((await store.listSessions(name))[0]?.session_id).toBe(name);
  }
  expect((await store.deleteSession(names[0] ?? "", names[0] ?? "")).messages).toBe(1);
  expect(await store.history(names[1] ?? "", names[1] ?? "")).toHaveLength(1);
  await store.close();
});

function bytesIn(place: string): Buffer {
  return Buffer.concat(readdirSync(place).map((name) => readFileSync(join(place, name))));
}

test("forget leaves no byte of the user", async () => {
  const users = Array.from({ length: 6 }, (_, i) => `user-${i}`);
  const options = { clock: () => 0 };
  const [store, twin] = [new SqliteStore(path, options), new MemoryStore(options)];
  for (const each of [store, twin]) {
    for (const user of users) {
      await each.createSession(user, `${user}-session`, { systemPrompt: `prompt of ${user}` });
    }
    for (let i = 0; i < 300; i += 1) {
      const user = String(users[(i * i + (i >> 3)) % 6]);
      const text = `secret of ${user} `.repeat([1, 20, 400][i % 3] ?? 1);
      const summary = { text: `summary of ${user} `.repeat([1, 50, 300, 7][i % 4] ?? 1) };
      const messages = [{ role: "user", content: text }, ANSWER];
      await each.append(user, `${user}-session`, messages, { changes: { summary } });
      if (i % 10 === 0) await each.undo(user, `${user}-session`);
    }
  }
  for (const gone of ["user-3", "user-0"]) {
    const removed = await store.forget(gone);
    expect(removed).toEqual({ ...(await twin.forget(gone)), purge_pending: false });
    expect(removed.messages).toBeGreaterThan(0);
    expect(bytesIn(folder).includes(gone)).toBe(false);
    for (const user of users) {
      expect(await store.exportSessions(user)).toEqual(await twin.exportSessions(user));
    }
  }
  await store.close();
  expect(bytesIn(folder).includes("user-1")).toBe(true);
  expect(bytesIn(folder).includes("user-3")).toBe(false);
});

test("a purge that a reader holds up is finished at the next open", async () => {
  const store = new SqliteStore(path);
  await store.createSession("ann", "s");
  await store.createSession("bo", "s");
  await store.append("ann", "s", [{ role: "user", content: "the secret word" }]);
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM messages").get();
  expect((await store.forget("ann")).purge_pending).toBe(true);
  expect(await store.listSessions("ann")).toEqual([]);
  expect(bytesIn(folder).includes("the secret word")).toBe(true);
  reader.close();
  await store.close();
  const reopened = new SqliteStore(path);
  expect(bytesIn(folder).includes("the secret word")).toBe(false);
  expect(await reopened.listSessions("bo")).toHaveLength(1);
  await reopened.close();
});
