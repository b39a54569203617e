/** Steps from one version of the file to the next; twin: python/tests/test_migrations.py. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteStore } from "../src/storage/index.ts";
import type { Migration } from "../src/storage/migrations.ts";
import { MIGRATIONS, migrate } from "../src/storage/migrations.ts";

const LATER = { name: "notes", statements: ["CREATE TABLE notes (text TEXT) STRICT"] };
const BROKEN = { name: "broken", statements: ["CREATE TABLE half (a)", "CREATE TABLE half (a)"] };

const steps = MIGRATIONS as Migration[];

let folder: string;
let path: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tandem-"));
  path = join(folder, "store.sqlite3");
  const store = new SqliteStore(path, { clock: () => 0 });
  await store.createSession("ann", "s");
  await store.append("ann", "s", [{ role: "user", content: "q" }]);
  await store.close();
});

afterEach(() => {
  steps.splice(1);
  rmSync(folder, { recursive: true });
});

function recorded(): unknown[] {
  const connection = new DatabaseSync(path);
  const rows = connection.prepare("SELECT version, name FROM migrations ORDER BY version").all();
  connection.close();
  return rows.map((row) => Object.values(row));
}

test("a file of the release before is migrated once", async () => {
  steps.push(LATER);
  for (let i = 0; i < 2; i += 1) {
    const store = new SqliteStore(path);
    expect(await store.history("ann", "s")).toHaveLength(1);
    await store.append("ann", "s", [{ role: "assistant", content: "a" }]);
    await store.close();
  }
  expect(recorded()).toEqual([
    [1, "sessions"],
    [2, "notes"],
  ]);
});

test("a step that fails leaves the file at the version before", () => {
  steps.push(LATER, BROKEN);
  const connection = new DatabaseSync(path);
  expect(() => migrate(connection, path, "now")).toThrow("half");
  expect(connection.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  const tables = connection.prepare("SELECT name FROM sqlite_master").all();
  expect(tables.map((table) => table.name)).not.toContain("notes");
  connection.close();
  expect(recorded()).toEqual([[1, "sessions"]]);
});
