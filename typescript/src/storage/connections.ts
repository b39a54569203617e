/**
 * Connections to PostgreSQL: transactions that name their user, are retried, and fail clearly.
 *
 * A transaction that the server gave up for another one (deadlock, serialisation), or whose
 * connection was lost before it was to be committed, has changed nothing and is run again. One that
 * is lost in the middle of its COMMIT may have happened, so it is never repeated but reported.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { PoolClient } from "pg";
import { Pool } from "pg";
import {
  StoreDamagedError,
  StoreFullError,
  StoreUnavailableError,
  TandemError,
} from "../core/errors.ts";
import type { Row } from "./database.ts";
import { idHash } from "./rows.ts";
import { makeTables } from "./tables.ts";

const ATTEMPTS = 5;

// SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html): serialization_failure and
// deadlock_detected; data_corrupted and index_corrupted; disk_full.
const GIVEN_UP = ["40001", "40P01"];
const DAMAGED = ["XX001", "XX002"];
const FULL = "53100";

// Types whose values are numbers, by their ids in pg_type: bigint and integer.
const NUMBERS = [20, 23];

/** Lends a connection, as `() => pool.connect()` of pg does; its `release` gives it back. */
export type Connect = () => Promise<PoolClient>;

/** A transaction that has begun; its statements have `?` where values go. */
export class Transaction {
  readonly #connection: PoolClient;

  constructor(connection: PoolClient) {
    this.#connection = connection;
  }

  /** Run a statement and return its rows, each a list; none where it has none to return. */
  async run(sql: string, values: readonly unknown[]): Promise<Row[]> {
    let place = 0;
    const text = sql.replaceAll("?", () => `$${++place}`);
    const types = { getTypeParser: readerOf };
    const query = { text, values: [...values], rowMode: "array", types } as const;
    return (await this.#connection.query<Row>(query)).rows;
  }
}

/** A database, reached by its URL or through somebody's pool. */
export class Connections {
  readonly #own: Pool | null = null;
  readonly #connect: Connect;
  readonly #path: string;
  readonly #appliedAt: string;
  readonly #timeout: number;
  #hasTables = false;

  constructor(database: string | Connect, appliedAt: string, timeoutMilliseconds: number) {
    this.#path = databasePath(database);
    this.#appliedAt = appliedAt;
    this.#timeout = timeoutMilliseconds;
    if (typeof database === "string") {
      const own = new Pool({ connectionString: database });
      own.on("error", ignore); // an idle connection that is lost, which the pool drops by itself
      this.#own = own;
      this.#connect = () => own.connect();
    } else {
      this.#connect = database;
    }
  }

  /** Run `body` in one transaction that sees the user's rows as of one moment. */
  async read<Result>(
    userId: string,
    body: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return this.#transact("REPEATABLE READ, READ ONLY", userId, body);
  }

  /**
   * Run `body` in one transaction, maybe several times until all of it happens once.
   *
   * Each of its statements sees what others committed before it, so the first one must lock.
   */
  async write<Result>(
    userId: string,
    body: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return this.#transact("READ COMMITTED, READ WRITE", userId, body);
  }

  /** Close what the store opened by itself; a pool is its owner's. */
  async close(): Promise<void> {
    await this.#own?.end();
  }

  async #transact<Result>(
    mode: string,
    userId: string,
    body: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    // One message to the server. All of it ends with the transaction, so the connection goes back
    // to its pool as it was. The hash is hexadecimal and needs no quoting. Without bitmap scans the
    // newest turns are found from the end of their index, whatever the server's statistics say of a
    // table that has just grown.
    const begin = `BEGIN ISOLATION LEVEL ${mode};
SET LOCAL ROLE tandem_memory_app; SET LOCAL search_path = tandem_memory;
SET LOCAL enable_bitmapscan = off; SET LOCAL statement_timeout = ${this.#timeout};
SET LOCAL idle_in_transaction_session_timeout = ${this.#timeout};
SET LOCAL tandem_memory.id_hash = '${idHash(userId)}'`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(begin, body);
      } catch (error) {
        const isUndone = error instanceof LostError || GIVEN_UP.includes(codeOf(error));
        if (attempt === ATTEMPTS || !isUndone) throw named(error, this.#path);
      }
      await sleep(Math.random() * 20 * 2 ** attempt); // not at the same time as its rival
    }
  }

  async #attempt<Result>(
    begin: string,
    body: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connect().catch((error: unknown) => {
      throw new StoreUnavailableError(this.#path, wordsOf(error));
    });
    client.on("error", ignore); // a loss is an event as well, which unheard would end the process
    let isCommitting = false;
    let isLost = false;
    try {
      if (!this.#hasTables) await makeTables(client, this.#path, this.#appliedAt);
      this.#hasTables = true;
      await client.query(begin);
      const result = await body(new Transaction(client));
      isCommitting = true;
      await client.query("COMMIT");
      return result;
    } catch (error) {
      isLost = await client.query("ROLLBACK").then(
        () => false,
        () => true,
      );
      if (!isLost) throw error;
      if (!isCommitting) throw new LostError(wordsOf(error));
      const detail = `${wordsOf(error)}; that was in a commit, so see whether the change is there`;
      throw new StoreUnavailableError(this.#path, detail);
    } finally {
      client.off("error", ignore);
      client.release(isLost);
    }
  }
}

/** The connection was lost, and nothing had been committed. */
class LostError extends Error {}

function ignore(): void {}

function readerOf(type: number): (text: string) => string | number {
  return NUMBERS.includes(type) ? Number : String;
}

/** Return what an error calls the database: its URL without user, password and parameters. */
function databasePath(database: unknown): string {
  const found = /^postgres(?:ql)?:\/\/(?:.*@)?([^?]*)/.exec(String(database));
  return found ? `postgresql://${found[1]}` : "PostgreSQL";
}

/** Return what PostgreSQL or a reader of JSON threw under a name of ours. */
function named(error: unknown, path: string): unknown {
  if (error instanceof TandemError) return error;
  if (error instanceof SyntaxError) {
    return new StoreDamagedError(path, `a row holds no JSON: ${error.message}`);
  }
  const code = codeOf(error);
  if (DAMAGED.includes(code)) return new StoreDamagedError(path, wordsOf(error));
  if (code === FULL) return new StoreFullError(path);
  if (code === "" && !(error instanceof LostError)) return error;
  return new StoreUnavailableError(path, wordsOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function wordsOf(error: unknown): string {
  // Node says nothing in words where each of a host's addresses refused the connection.
  return (error instanceof Error && error.message) || codeOf(error);
}
