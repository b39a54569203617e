/**
 * Chats on a store: leases that outlast slow models, and what ends a wait or a turn from outside.
 *
 * What they store is in the fixtures; twin: python/tests/test_stored.py.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelEntry, Store } from "../src/index.ts";
import {
  Chat,
  InvalidLimitError,
  MemoryStore,
  makeEntry,
  ReplyNotStoredError,
  SessionBusyError,
  SqliteStore,
} from "../src/index.ts";
import type { Loopback } from "./loopback.ts";
import { said, startLoopback, thrown, whole } from "./loopback.ts";

let server: Loopback;
let model: ModelEntry;
let store: Store;

beforeEach(async () => {
  server = await startLoopback();
  model = makeEntry("t", { model: "m:1", host: server.url });
  store = new MemoryStore();
});

afterEach(() => server.close());

/** Return what is stored, one text a turn. */
async function told(from: Store = store): Promise<string[]> {
  const turns = await from.history("ann", "s", null);
  return turns.map(({ status, messages }) =>
    [status, ...messages.map(({ message }) => message.content)].join(", "),
  );
}

test("question is stored before the model is asked", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = await Chat.open(store, "ann", "s", { model });
  const stream = chat.stream("A story?");
  await stream.next();
  expect(await told()).toEqual(["pending, A story?"]);
  await stream.close();
  expect(await told()).toEqual(["interrupted, A story?, Once"]);
});

test("sessions without an id are new ones", async () => {
  const options = { model, systemPrompt: "Be kind." };
  const chats = [
    await Chat.open(store, "ann", null, options),
    await Chat.open(store, "ann", undefined, options),
  ];
  const listed = await store.listSessions("ann");
  expect(listed.map((session) => session.session_id).reverse()).toEqual(
    chats.map((chat) => chat.sessionId),
  );
  expect(listed.map((session) => session.system_prompt)).toEqual(["Be kind.", "Be kind."]);
  expect(new Chat(model).sessionId).toBeNull();
});

test.each([
  ["waitMilliseconds", "wait_milliseconds", -1],
  ["leaseMilliseconds", "lease_milliseconds", 0],
])("bad %s are refused before a session is made", async (name, limit, value) => {
  const error = await thrown(Chat.open(store, "ann", null, { model, [name]: value }));
  expect(error).toBeInstanceOf(InvalidLimitError);
  expect(error.data).toEqual({ limit, value });
  expect(await store.listSessions("ann")).toEqual([]);
});

test("lease outlasts a slow answer", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }, whole("Yes")];
  const slow = await Chat.open(store, "ann", "s", { model, leaseMilliseconds: 90 });
  const other = await Chat.open(store, "ann", "s", { model, waitMilliseconds: 0 });
  const stream = slow.stream("A story?");
  await stream.next();
  await sleep(400);
  expect(await thrown(other.ask("Are you there?"))).toBeInstanceOf(SessionBusyError);
  await stream.close();
  expect((await other.ask("Are you there?")).content).toBe("Yes");
  expect(await told()).toEqual(["interrupted, A story?, Once", "complete, Are you there?, Yes"]);
});

test("another writer is waited for", async () => {
  server.answers = [whole("Yes")];
  const chat = await Chat.open(store, "ann", "s", { model });
  await store.acquireLease("ann", "s", "other");
  setTimeout(() => store.releaseLease("ann", "s", "other"), 200);
  expect((await chat.ask("Are you there?")).content).toBe("Yes");
});

test("nothing beats once a turn is over", async () => {
  server.answers = [whole("Yes")];
  const chat = await Chat.open(store, "ann", "s", { model, leaseMilliseconds: 30 });
  await chat.ask("hi");
  await store.acquireLease("ann", "s", "other");
  await store.releaseLease("ann", "s", "other");
  await sleep(100);
  await store.acquireLease("ann", "s", "other", { milliseconds: 1 });
  expect(await told()).toEqual(["complete, hi, Yes"]);
});

test("process that slept through its lease stores no answer", async () => {
  let now = 0;
  store = new MemoryStore({ clock: () => now });
  server.answers = [whole("Once ", "upon"), whole("Yes")];
  const chat = await Chat.open(store, "ann", "s", { model, leaseMilliseconds: 1000 });
  const stream = chat.stream("A story?");
  await stream.next();
  now = 2000;
  const other = await Chat.open(store, "ann", "s", { model });
  expect((await other.ask("Are you there?")).content).toBe("Yes");
  const error = await thrown(stream.read());
  expect(error).toBeInstanceOf(ReplyNotStoredError);
  expect(error.received).toBe("Once upon");
  expect(error.data).toEqual({ received: "Once upon" });
  expect(error.cause).toBeInstanceOf(SessionBusyError);
  expect(chat.memory.getMessages()).toEqual([]);
  expect(await told()).toEqual(["failed, A story?", "complete, Are you there?, Yes"]);
});

test("beat after others came and went gives up", async () => {
  let now = 0;
  store = new MemoryStore({ clock: () => now });
  server.answers = [whole("Once ", "upon")];
  const chat = await Chat.open(store, "ann", "s", { model, leaseMilliseconds: 60 });
  const stream = chat.stream("A story?");
  await stream.next();
  now = 2000;
  await store.openSession("ann", "s"); // which finds that the turn's process has died
  await sleep(200); // beats, of which the first takes a lease that nobody has
  expect(await thrown(stream.read())).toBeInstanceOf(ReplyNotStoredError);
  expect(await told()).toEqual(["failed, A story?"]);
  await store.acquireLease("ann", "s", "other");
});

test("aborted wait takes no lease", async () => {
  server.answers = [whole("Yes")];
  const chat = await Chat.open(store, "ann", "s", { model });
  await store.acquireLease("ann", "s", "other");
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 100);
  expect(await thrown(chat.ask("A story?", { signal: controller.signal }))).toBe(reason);
  await store.releaseLease("ann", "s", "other");
  await sleep(100);
  await store.acquireLease("ann", "s", "yet another");
  await store.releaseLease("ann", "s", "yet another");
  expect((await chat.ask("Are you there?")).content).toBe("Yes");
  expect(await told()).toEqual(["complete, Are you there?, Yes"]);
});

test("aborted answer is stored as far as it came", async () => {
  server.answers = [{ parts: said("Once"), end: "stall" }];
  const chat = await Chat.open(store, "ann", "s", { model });
  const controller = new AbortController();
  const stream = chat.stream("A story?", { signal: controller.signal });
  await stream.next();
  controller.abort();
  expect((await thrown(stream.read())).name).toBe("AbortError");
  expect(await told()).toEqual(["interrupted, A story?, Once"]);
});

test("chats on several connections take turns", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tandem-"));
  const place = join(folder, "store.sqlite3");
  server.answers = Array.from({ length: 12 }, () => whole("Yes"));
  await Promise.all(
    [..."abcd"].map(async (name) => {
      await using own = new SqliteStore(place);
      const chat = await Chat.open(own, "ann", "s", { model });
      for (const number of [0, 1, 2]) await chat.ask(`${name}${number}`);
    }),
  );
  const shared = new SqliteStore(place);
  const stored = await told(shared);
  await shared.close();
  rmSync(folder, { recursive: true });
  const expected = [..."abcd"].flatMap((name) =>
    [0, 1, 2].map((number) => `complete, ${name}${number}, Yes`),
  );
  expect(stored.toSorted()).toEqual(expected);
  expect(stored.filter((text) => text.includes(", a"))).toEqual(expected.slice(0, 3));
});

test("lease keeps no process alive", () => {
  const index = join(import.meta.dirname, "../src/index.ts");
  const program = `
import { Chat, MemoryStore, makeEntry } from ${JSON.stringify(index)};
const entry = makeEntry("t", { model: "m:1" });
const stream = async function* () {
  yield { content: "Once", thinking: "", toolCalls: [], ending: null };
  await new Promise(() => {});
};
const show = async () => ({ contextLength: null, capabilities: [] });
const model = { entry, stream, show };
const chat = await Chat.open(new MemoryStore(), "ann", "s", { model });
console.log((await chat.stream("A story?").next()).value);
`;
  const command = ["--input-type=module-typescript", "--eval", program];
  const out = execFileSync(process.execPath, command, { encoding: "utf8", timeout: 20_000 });
  expect(out.trim()).toBe("Once");
});
