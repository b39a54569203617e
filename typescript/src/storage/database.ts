/**
 * One SQLite file: how it comes to be, is opened, written to, and rid of what was removed.
 *
 * Both languages set the same pragmas, since their defaults differ: a write-ahead log,
 * `synchronous` FULL (a chat turn can pay for one fsync), foreign keys, a bounded wait for a lock,
 * and zeros over whatever is deleted.
 */

import { randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { DatabaseSync } from "node:sqlite";
import {
  NotAStoreError,
  StoreDamagedError,
  StoreFullError,
  StoreUnavailableError,
  TandemError,
} from "../core/errors.ts";
import { BUSY_MILLISECONDS, whenWritable } from "./locks.ts";
import { migrate } from "./migrations.ts";

/** The values of one row, in the order of the statement's columns. */
export type Row = SQLOutputValue[];

/** What the file's header says that it is, to `file` and to us: `TnMm`. */
export const APPLICATION_ID = 0x546e4d6d;

const PURGE_MILLISECONDS = 1_000;

/** How many bytes an SQLite file has at least; a shorter one SQLite takes for an empty one. */
const SMALLEST = 512;

// SQLite's result codes (sqlite.org/rescode.html); the extended ones hold the others in 8 bits.
const DAMAGED = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
// SQLITE_FULL; and what a quota refuses, or a full disk to the log's index: SQLITE_IOERR_WRITE,
// SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMSIZE.
const FULL = [13, 778, 1034, 4874];
const NO_ROOM = ["ENOSPC", "EFBIG", "EDQUOT"];

/** An open file. A transaction waits for nothing once it has begun, so none comes between. */
export class Database {
  readonly #path: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string, appliedAt: string) {
    this.#path = resolve(path);
    this.#connection = nameErrors(this.#path, () => {
      if (!existsSync(this.#path)) create(this.#path, appliedAt);
      return connect(this.#path, appliedAt);
    });
  }

  /** Run `body` as one transaction; if it throws, nothing of it happened. */
  async transact<Result>(kind: "DEFERRED" | "IMMEDIATE", body: () => Result): Promise<Result> {
    const connection = this.#connection;
    function run(): Result {
      try {
        const result = body();
        connection.exec("COMMIT");
        return result;
      } catch (error) {
        // Where the disk was full, SQLite has rolled back by itself.
        if (connection.isTransaction) connection.exec("ROLLBACK");
        throw error;
      }
    }
    try {
      if (kind === "IMMEDIATE") return await whenWritable(connection, run);
      connection.exec("BEGIN");
      return run();
    } catch (error) {
      throw nameError(this.#path, error);
    }
  }

  /** Run a statement and return its rows. */
  rows(sql: string, values: readonly SQLInputValue[] = []): Row[] {
    return this.#prepare(sql)
      .all(...values)
      .map(Object.values);
  }

  /** Run a statement that writes; returns the row id of what it inserted. */
  run(sql: string, values: readonly SQLInputValue[] = []): number {
    return Number(this.#prepare(sql).run(...values).lastInsertRowid);
  }

  /**
   * Take the bytes of what was removed out of the file and its log.
   *
   * Returns whether that is still pending, since somebody else was at the file; the next open does
   * it then.
   */
  purge(): boolean {
    return purge(this.#connection);
  }

  /** Close the file. */
  close(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) this.#connection.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#connection.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Make the file all at once, under another name first: so an empty one is never ours. */
function create(path: string, appliedAt: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}.new`;
  try {
    const connection = new DatabaseSync(draft);
    try {
      connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      connection.exec("PRAGMA journal_mode = WAL");
      migrate(connection, path, appliedAt);
    } finally {
      connection.close();
    }
    publish(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Give a draft its name, unless another process has made that file meanwhile. */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return;
    renameSync(draft, path); // a file system without links
  }
}

/** Open the file if it is a store and in order; one that is not is left as it is. */
function connect(path: string, appliedAt: string): DatabaseSync {
  const { size } = statSync(path);
  if (size < SMALLEST) throw new StoreDamagedError(path, `it has ${size} bytes`);
  const connection = new DatabaseSync(path);
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_MILLISECONDS}`);
    requireStore(connection, path);
    connection.exec("PRAGMA journal_mode = WAL");
    connection.exec("PRAGMA synchronous = FULL");
    connection.exec("PRAGMA foreign_keys = ON");
    connection.exec("PRAGMA secure_delete = ON");
    migrate(connection, path, appliedAt);
    if (connection.prepare("SELECT pending FROM purges").get()?.pending !== 0) purge(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

function requireStore(connection: DatabaseSync, path: string): void {
  const id = connection.prepare("PRAGMA application_id").get()?.application_id;
  if (id !== APPLICATION_ID) throw new NotAStoreError(path);
}

/**
 * Write the file anew and cut its log to nothing; returns whether that failed.
 *
 * `secure_delete` has put zeros over what was deleted, but not over the copies that SQLite leaves
 * behind when it moves rows between pages. VACUUM leaves none.
 */
function purge(connection: DatabaseSync): boolean {
  try {
    connection.exec(`PRAGMA busy_timeout = ${PURGE_MILLISECONDS}`);
    connection.exec("VACUUM");
    const busy = connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy !== 0;
    if (!busy) connection.exec("UPDATE purges SET pending = 0");
    return busy;
  } catch (error) {
    const code = errorCode(error);
    if (code === null || DAMAGED.includes(code & 0xff)) throw error;
    return true;
  } finally {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_MILLISECONDS}`);
  }
}

/** Give what SQLite, the system or a reader of JSON throws in `body` a name of ours. */
export function nameErrors<Result>(path: string, body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    throw nameError(path, error);
  }
}

/** Return the error of ours that stands for one that was thrown, or that one itself. */
export function nameError(path: string, error: unknown): unknown {
  if (error instanceof TandemError || !(error instanceof Error)) return error;
  const code = errorCode(error);
  if (code !== null && DAMAGED.includes(code & 0xff)) {
    return new StoreDamagedError(path, error.message);
  }
  if (error instanceof SyntaxError) {
    return new StoreDamagedError(path, `a row holds no JSON: ${error.message}`);
  }
  if (code !== null ? FULL.includes(code) : NO_ROOM.includes(String(systemCode(error)))) {
    return new StoreFullError(path);
  }
  if (code === null && systemCode(error) === null) return error;
  return new StoreUnavailableError(path, error.message);
}

/** SQLite's result code of an error that came from it. */
function errorCode(error: unknown): number | null {
  const isIts = error instanceof Error && "errcode" in error && typeof error.errcode === "number";
  return isIts ? Number(error.errcode) : null;
}

function systemCode(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}
