/**
 * Writers that are killed, and writers whose disk is full; twin: python/tests/test_kills.py.
 *
 * `nox -s kills` does the same thousands of times, `nox -s writers` with writers of both languages.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SessionNotFoundError } from "../src/core/errors.ts";
import type { Store } from "../src/storage/index.ts";
import { JsonStore, SqliteStore } from "../src/storage/index.ts";

const WRITER = join(import.meta.dirname, "writer.ts");
const PADDING = "x".repeat(3000);

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tandem-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

function placeOf(kind: string): string {
  return kind === "sqlite" ? join(folder, "store.sqlite3") : folder;
}

function open(kind: string): Store {
  return kind === "sqlite" ? new SqliteStore(placeOf(kind)) : new JsonStore(placeOf(kind));
}

/** Start a writer, kill it at a random moment, and return the last turn that it had stored. */
async function killWriter(kind: string): Promise<number> {
  const child = spawn(process.execPath, [WRITER, kind, placeOf(kind), "s"]);
  const [out, errors] = [text(child.stdout), text(child.stderr)];
  // Some are killed while they open the store, most once they write.
  if (Math.random() < 0.8) await once(child.stdout, "data");
  await sleep(Math.random() * 30);
  child.kill("SIGKILL");
  expect(await errors).toBe("");
  return Number((await out).trim().split("\n").at(-1));
}

/** Expect each turn that was told whole, the one after it whole, failed or not there, no gap. */
async function checkSession(store: Store, told: number): Promise<string> {
  let opened: Awaited<ReturnType<Store["openSession"]>>;
  try {
    opened = await store.openSession("ann", "s");
  } catch (error) {
    expect([error instanceof SessionNotFoundError, told]).toEqual([true, 0]);
    return "no session yet";
  }
  const { session, messages } = opened;
  const turns = await store.history("ann", "s", null);
  let whole = 0;
  for (const { turn, status, messages: rows } of turns) {
    const texts = rows.map(({ message }) => message.content);
    const question = `q${turn} ${PADDING}`;
    expect(texts).toEqual(status === "failed" ? [question] : [question, `a${turn} ${PADDING}`]);
    expect(["complete", "failed"]).toContain(status);
    if (status === "complete") whole = turn;
  }
  expect(whole).toBeGreaterThanOrEqual(told);
  expect(turns.map(({ turn }) => turn)).toEqual(turns.map((_, i) => i + 1));
  const seqs = turns.flatMap((turn) => turn.messages.map(({ seq }) => seq));
  expect(seqs).toEqual(Array.from({ length: session.last_seq }, (_, i) => i + 1));
  const ends = turns.find(({ turn }) => turn === whole)?.messages.map(({ seq }) => seq) ?? [];
  expect(messages.slice(-2).map(({ seq }) => seq)).toEqual(ends);
  if (turns.at(-1)?.status === "failed") return "a failed question";
  return session.last_turn === told ? "as told" : "a turn more";
}

test.each([
  ["sqlite", 70],
  ["json", 30],
])("a killed writer loses and tears nothing: %s", { timeout: 300_000 }, async (kind, kills) => {
  let told = 0;
  for (let i = 0; i < kills; i += 1) {
    told = Math.max(told, await killWriter(kind));
    const store = open(kind);
    await checkSession(store, told);
    await store.close();
  }
  expect(told).toBeGreaterThan(kills / 2);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test
  .skipIf(process.platform === "win32")
  .each(
    ["sqlite", "json"].flatMap((kind) =>
      [20, 150, 333].map((kilobytes) => [kind, kilobytes] as const),
    ),
  )("a full disk is reported and changes nothing: %s, %i kB", async (kind, kilobytes) => {
  const made = open(kind);
  await made.createSession("ann", "s");
  await made.close();
  const limited = `ulimit -f ${kilobytes}; exec "$@"`;
  const command = ["-c", limited, "bash", process.execPath, WRITER, kind, placeOf(kind), "s"];
  const { stdout, status } = spawnSync("bash", command, { encoding: "utf8" });
  const lines = stdout.trim().split("\n");
  expect([status, lines.pop()]).toEqual([0, "store_full"]);
  const store = open(kind);
  const seen = await checkSession(store, Number(lines.at(-1) ?? 0));
  expect(["as told", "a failed question"]).toContain(seen);
  await store.append("ann", "s", [{ role: "user", content: "there is room again" }]);
  await store.close();
});
