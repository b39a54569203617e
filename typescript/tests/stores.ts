/**
 * What fixtures call of a store; a case is run on every kind of store.
 *
 * Twin: python/tests/stores.py. A store in a file is opened anew for each call.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isObject } from "../src/core/values.ts";
import type { Store, StoreOptions } from "../src/storage/index.ts";
import {
  documentText,
  JsonStore,
  MemoryStore,
  readDocument,
  SqliteStore,
  writeDocument,
} from "../src/storage/index.ts";
import type { Json } from "./encoding.ts";
import { camelCase, camelKeys, expand, spoil } from "./encoding.ts";
import type { Subject } from "./fixtures.ts";

const SHM = "/dev/shm"; // a disk of memory, where a sync costs nothing
export const ROOT = mkdtempSync(join(existsSync(SHM) ? SHM : tmpdir(), "tandem-"));
process.on("exit", () => rmSync(ROOT, { recursive: true, force: true }));

const KINDS = ["memory", "json", "sqlite"];

/** How to open the store of a kind that is in a folder; the tests of PostgreSQL add theirs. */
export const OPENERS = new Map<string, (folder: string, options: StoreOptions) => Store>([
  ["json", (folder, options) => new JsonStore(join(folder, "json"), options)],
  ["sqlite", (folder, options) => new SqliteStore(join(folder, "store.sqlite3"), options)],
]);

const SESSION = ["user_id", "session_id"];

/** The arguments that a method takes by position; all others go into its options object. */
const BY_POSITION: Record<string, string[]> = {
  create_session: SESSION,
  open_session: SESSION,
  list_sessions: ["user_id", "limit"],
  delete_session: SESSION,
  append: [...SESSION, "messages"],
  update_session: [...SESSION, "changes"],
  retry_turn: [...SESSION, "message"],
  undo: SESSION,
  clear: SESSION,
  history: [...SESSION, "limit"],
  acquire_lease: [...SESSION, "holder"],
  release_lease: [...SESSION, "holder"],
  export_sessions: SESSION,
  import_sessions: ["document"],
  forget: ["user_id"],
};

/** Return what a case is to be run on: a store of each kind, or what it says. */
export function variants(given: Json): Json[] {
  const [[name = "", options] = []] = Object.entries<Json>(given);
  if (!["store", "stored_chat"].includes(name) || "kind" in options) return [given];
  return KINDS.map((kind) => ({ [name]: { ...options, kind } }));
}

/** A store of one kind, in a folder, with the clock and the ids that the case gives it. */
export class StoreSubject implements Subject {
  readonly #kind: string;
  readonly #folder: string;
  readonly #users: string[];
  readonly #options: { clock: () => number; newId: () => string };
  readonly #memory: Store;
  #now: number;

  constructor({ kind, folder, clock = 0, users = [], ids = [] }: Json) {
    this.#kind = kind;
    this.#folder = folder ?? mkdtempSync(join(ROOT, "store-"));
    this.#now = clock;
    this.#users = users;
    this.#options = { clock: () => this.#now, newId: () => ids.shift() };
    this.#memory = new MemoryStore(this.#options);
  }

  async call(name: string, args: Json): Promise<Json> {
    if (name === "advance") {
      this.#now += args.milliseconds;
      return null;
    }
    if (Array.isArray(args.messages)) args.messages = args.messages.map(expand);
    const store = this.#open();
    try {
      const special = SPECIAL[name];
      const came = await (special
        ? special(store, this.#folder, args)
        : callStore(store, name, args));
      for (const user of [args.user_id, args.to, args.document?.user_id]) {
        if (user && !this.#users.includes(user)) this.#users.push(user);
      }
      const told = structuredClone(name === "export_sessions" ? came : brief(came));
      spoil(came);
      return told;
    } finally {
      if (store !== this.#memory) await store.close();
    }
  }

  async state(): Promise<Json> {
    const store = this.#open();
    try {
      const found: [string, Json][] = [];
      for (const user of this.#users) {
        const { sessions } = await store.exportSessions(user);
        if (sessions.length > 0) found.push([user, brief(sessions)]);
      }
      return Object.fromEntries(found);
    } finally {
      if (store !== this.#memory) await store.close();
    }
  }

  #open(): Store {
    return OPENERS.get(this.#kind)?.(this.#folder, this.#options) ?? this.#memory;
  }
}

export function callStore(store: Json, name: string, args: Json): Json {
  const positions = BY_POSITION[name] ?? [];
  const options = Object.entries(args).filter(([key]) => !positions.includes(key));
  const given = positions.map((key) => args[key]);
  return store[camelCase(name)](...given, camelKeys(Object.fromEntries(options)));
}

const SPECIAL: Record<string, (store: Store, folder: string, args: Json) => Promise<Json>> = {
  /** Return an export as it lies in a file. */
  export_text: async (store, _, args) =>
    documentText(await store.exportSessions(args.user_id, args.session_id)),

  /** Export a user's sessions into a file and import that to another user. */
  move_by_file: async (store, folder, args) => {
    const file = join(folder, "export.json");
    writeDocument(file, await store.exportSessions(args.user_id));
    return store.importSessions(readDocument(file), { userId: args.to });
  },
};

/** Return sessions, turns and messages as cases and states write them. */
export function brief(value: Json): Json {
  if (Array.isArray(value)) return value.map(brief);
  if (!isObject(value)) return value;
  const fields: Json = value;
  if ("seq" in fields) {
    const marks = fields.removed ? ["removed"] : [];
    return [fields.seq, fields.message, ...marks, ...later(fields.created_at)];
  }
  if ("status" in fields) {
    const status = fields.removed ? `${fields.status}, removed` : fields.status;
    return { turn: fields.turn, is: status, messages: brief(fields.messages) };
  }
  if ("last_seq" in fields) return briefSession(fields);
  return Object.fromEntries(Object.entries(fields).map(([key, item]) => [key, brief(item)]));
}

function briefSession(fields: Json): Json {
  const { session_id, window, last_turn, last_seq } = fields;
  const told: Json = { session_id, window, last: [last_turn, last_seq] };
  for (const key of ["user_id", "revision"]) if (key in fields) told[key] = fields[key];
  for (const key of ["system_prompt", "summary"]) {
    if (fields[key] !== null) told[key] = fields[key];
  }
  const times = [...later(fields.created_at), ...later(fields.updated_at)];
  if (times.length > 0) told.times = times;
  if (fields.turns) told.turns = brief(fields.turns);
  return told;
}

/** Return a time that is not the clock's beginning, which is where most cases stay. */
function later(time: string): string[] {
  return time === "1970-01-01T00:00:00.000Z" ? [] : [time];
}
