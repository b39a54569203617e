/** JSON files: one document in one file, written all at once; and `JsonStore`, a folder of them. */

import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { InvalidDocumentError, StoreDamagedError } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/values.ts";
import { canonicalJson, isObject } from "../core/values.ts";
import { nameError, nameErrors } from "./database.ts";
import { readSheet, writeSheet } from "./documents.ts";
import { readExport, readFields, readName, readWhole, writeExport } from "./exports.ts";
import { tryToBegin, whenWritable } from "./locks.ts";
import type { StoreOptions } from "./records.ts";
import { idHash } from "./rows.ts";
import type { Lease } from "./rules.ts";
import type { Desk, UserSheets } from "./sheets.ts";
import { SheetShelf } from "./sheets.ts";
import { Store } from "./store.ts";

/** Return a document as it lies in a file: canonical JSON, but indented for people. */
export function documentText(document: object): string {
  return `${indented(document as JsonObject, "")}\n`;
}

/**
 * Write a document to `path`: whenever this process dies, the file is the old one or the new.
 *
 * Throws `StoreFullError` and `StoreUnavailableError`.
 */
export function writeDocument(path: string, document: object): void {
  const target = resolve(path);
  const draft = `${target}.${randomUUID()}.tmp`;
  nameErrors(target, () => {
    try {
      writeFileSync(draft, documentText(document), { flush: true });
      renameSync(draft, target);
    } finally {
      rmSync(draft, { force: true });
    }
    syncFolder(dirname(target));
  });
}

/** Return the JSON value in the file; throws `InvalidDocumentError` if there is none. */
export function readDocument(path: string): unknown {
  const content = readFileSync(path);
  try {
    // The decoder leaves out the mark that some editors put in front.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw new InvalidDocumentError("", `is no JSON in UTF-8: ${String(error)}`);
  }
}

/**
 * Keeps each user's sessions in a file of `folder`, for those who want to read them there.
 *
 * A file is a document that `importSessions` takes, with `revision` and `lease` beside it. It is
 * read and written whole at every call, so for long memories there is `SqliteStore`. Processes of
 * both languages may use the folder at once. Throws `StoreDamagedError` for a file that can't be
 * read, and leaves it as it is; the other users' are not touched by that.
 */
export class JsonStore extends Store {
  constructor(folder: string, options: StoreOptions = {}) {
    super(new SheetShelf(new JsonDesk(folder)), options);
  }
}

/**
 * Keeps users' sheets in files. Whoever works on them holds the folder's lock.
 *
 * The lock is that of an SQLite file which stays empty: the one lock that both languages have, and
 * that ends with its process.
 */
class JsonDesk implements Desk {
  readonly #folder: string;
  readonly #lock: DatabaseSync;

  constructor(folder: string) {
    this.#folder = resolve(folder);
    this.#lock = nameErrors(this.#folder, () => {
      mkdirSync(this.#folder, { recursive: true });
      const lock = new DatabaseSync(join(this.#folder, "lock.sqlite3"));
      // Where somebody else is at work, the next one to open the folder will do.
      if (tryToBegin(lock)) {
        this.#sweep();
        lock.exec("ROLLBACK");
      }
      return lock;
    });
  }

  read<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result> {
    return this.#locked(() => body(this.#load(userId)));
  }

  write<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result> {
    return this.#locked(() => {
      const user = this.#load(userId);
      const result = body(user);
      this.#save(userId, user);
      return result;
    });
  }

  close(): void {
    if (this.#lock.isOpen) this.#lock.close();
  }

  async #locked<Result>(body: () => Result): Promise<Result> {
    try {
      return await whenWritable(this.#lock, () => {
        try {
          return body();
        } finally {
          this.#lock.exec("ROLLBACK");
        }
      });
    } catch (error) {
      throw nameError(this.#folder, error);
    }
  }

  #load(userId: string): UserSheets {
    const path = join(this.#folder, fileName(userId));
    if (!existsSync(path)) return { revision: 0, sheets: new Map() };
    try {
      return readUser(readDocument(path), userId);
    } catch (error) {
      if (!(error instanceof InvalidDocumentError)) throw error;
      throw new StoreDamagedError(path, error.message);
    }
  }

  #save(userId: string, user: UserSheets): void {
    const path = join(this.#folder, fileName(userId));
    if (user.revision > 0) {
      writeDocument(path, writeUser(userId, user));
    } else {
      this.#sweep();
      rmSync(path, { force: true });
      syncFolder(this.#folder);
    }
  }

  /** Remove what processes that died were writing; whoever has the lock writes alone. */
  #sweep(): void {
    for (const name of readdirSync(this.#folder)) {
      if (/\.json\..*\.tmp$/.test(name)) rmSync(join(this.#folder, name));
    }
  }
}

/** Return the name of a user's file: what is plain in the id, for people, and the id's hash. */
function fileName(userId: string): string {
  const words = userId.match(/[A-Za-z0-9]+/g) ?? [];
  const plain = words.join("-").toLowerCase().slice(0, 24);
  return `${plain}-${idHash(userId).slice(0, 32)}.json`;
}

/** Return the document of a user's file: an export, with what that leaves out beside it. */
function writeUser(userId: string, user: UserSheets): object {
  const sheets = [...user.sheets.values()];
  const sessions = sheets.map((sheet) => ({
    ...writeSheet(sheet),
    revision: sheet.session.revision,
    lease: sheet.lease,
  }));
  return { ...writeExport(userId, sessions), revision: user.revision };
}

/** Return the sheets of a user's file, or throw `InvalidDocumentError`; an export is one too. */
function readUser(value: unknown, userId: string): UserSheets {
  const { user_id: owner, sessions } = readExport(value);
  if (owner !== userId) throw new InvalidDocumentError("user_id", "is another user's");
  const fields = isObject(value) ? value : {};
  const extras = fields.sessions as Record<string, unknown>[];
  const user: UserSheets = { revision: 0, sheets: new Map() };
  sessions.forEach((document, i) => {
    const { revision: given = i + 1, lease } = extras[i] ?? {};
    const path = `sessions[${i}]`;
    const revision = readWhole(given, `${path}.revision`);
    const sheet = readSheet(document, userId, revision);
    sheet.lease = readLease(lease, `${path}.lease`);
    user.sheets.set(document.session_id, sheet);
    user.revision = Math.max(user.revision, revision);
  });
  user.revision = Math.max(user.revision, readWhole(fields.revision ?? 0, "revision"));
  return user;
}

function readLease(value: unknown, path: string): Lease | null {
  if (value === undefined || value === null) return null;
  const fields = readFields(value, path, ["holder", "until"]);
  return {
    holder: readName(fields.holder, `${path}.holder`),
    until: readWhole(fields.until, `${path}.until`),
  };
}

/** Have a file's new name on disk too; Windows has no such call, and needs none. */
function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function indented(value: JsonValue, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(value) && value.length > 0) {
    const items = value.map((item) => inner + indented(item, inner));
    return `[\n${items.join(",\n")}\n${indent}]`;
  }
  if (isObject(value) && Object.keys(value).length > 0) {
    const keys = Object.keys(value).sort();
    const fields = keys.map((key) => {
      const item = indented((value as JsonObject)[key] ?? null, inner);
      return `${inner}${JSON.stringify(key)}: ${item}`;
    });
    return `{\n${fields.join(",\n")}\n${indent}}`;
  }
  return canonicalJson(value);
}
