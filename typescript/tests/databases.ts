/**
 * Databases of their own on the PostgreSQL server at TANDEM_POSTGRES_URL.
 *
 * Twin: python/tests/databases.py.
 */

import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { expect } from "vitest";

const SERVER = process.env.TANDEM_POSTGRES_URL ?? "";

type Row = unknown[];

/** Make an empty database and return its URL, the superuser's; it goes with the server. */
export async function newDatabase({ encoding = "UTF8" } = {}): Promise<string> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  await query(SERVER, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING ${encoding}`);
  return SERVER.replace(/\/[^/]*$/, `/${name}`);
}

/** Run a statement as the superuser; returns its rows, if any. */
export async function query(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  return connected(url, (client) => rowsOf(client, sql, values));
}

/** Make a login; returns the database's URL for it. `rights` has its name as `{}`. */
export async function newLogin(url: string, rights: string): Promise<string> {
  const name = `login_${randomBytes(8).toString("hex")}`;
  const password = randomBytes(8).toString("hex");
  await query(url, `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
  if (rights) await query(url, rights.replace("{}", name));
  return url.replace(/\/\/[^@]*@/, `//${name}:${password}@`);
}

/** Run `body` beside somebody who ran this statement in a transaction that stays open for it. */
export async function withRival<Result>(
  url: string,
  statement: string,
  body: (client: Client) => Promise<Result>,
): Promise<Result> {
  return connected(url, async (client) => {
    await client.query("BEGIN");
    await client.query(statement);
    const result = await body(client);
    await client.query("ROLLBACK");
    return result;
  });
}

/** Run `body` as the store's role, in a transaction that names this user. */
export async function withAppRole<Result>(
  url: string,
  userId: string,
  body: (client: Client) => Promise<Result>,
): Promise<Result> {
  return connected(url, async (client) => {
    await client.query("BEGIN");
    await client.query("SET LOCAL ROLE tandem_memory_app");
    const hash = createHash("sha256").update(userId).digest("hex");
    await client.query("SELECT set_config('tandem_memory.id_hash', $1, true)", [hash]);
    const result = await body(client);
    await client.query("COMMIT");
    return result;
  });
}

/** Run `body` with a connection, which is closed then. */
export async function connected<Result>(
  url: string,
  body: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {}); // the server may be killed under it
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}

/** Run a statement; returns its rows, if any. */
export async function rowsOf(client: Client, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query({ text: sql, values, rowMode: "array" })).rows as Row[];
}

/** Wait until it is so. */
export async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await isSo())) {
    expect(performance.now(), "it did not come to that").toBeLessThan(deadline);
    await sleep(10);
  }
}

/** Whether somebody waits for a lock in this database. */
export async function isWaiting(url: string): Promise<boolean> {
  const sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1";
  return (await query(url, sql, [databaseOf(url)])).length > 0;
}

/** End the connections of whoever calls itself `store` in this database. */
export async function endConnections(url: string): Promise<void> {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = $1 AND application_name = 'store'`;
  await query(url, sql, [databaseOf(url)]);
}

/** Kill one of the server's processes, and wait until it has thrown all clients out for that. */
export async function crashServer(url: string): Promise<void> {
  await connected(url, (victim) =>
    connected(url, async (witness) => {
      const thrownOut = new Promise((resolve) => witness.once("end", resolve));
      const [row] = await rowsOf(victim, "SELECT pg_backend_pid()");
      process.kill(Number(row?.[0]), "SIGKILL");
      await thrownOut;
    }),
  );
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
