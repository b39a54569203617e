/**
 * What fixtures call of a store; a case is run on every kind of store.
 *
 * Twin: python/tests/stores.py. A store in a file is opened anew for each call.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionDocument, Store, TurnDocument } from "../src/storage/index.ts";
import {
  documentText,
  JsonStore,
  MemoryStore,
  readDocument,
  SqliteStore,
  writeDocument,
} from "../src/storage/index.ts";
import type { Json } from "./encoding.ts";
import { camelCase, camelKeys, expand } from "./encoding.ts";
import type { Subject } from "./fixtures.ts";

const ROOT = mkdtempSync(join(tmpdir(), "tandem-stores-"));
process.on("exit", () => rmSync(ROOT, { recursive: true, force: true }));

const KINDS = ["memory", "json", "sqlite"];

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
  return "store" in given ? KINDS.map((kind) => ({ store: { ...given.store, kind } })) : [given];
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
    for (const user of [args.user_id, args.to]) {
      if (user && !this.#users.includes(user)) this.#users.push(user);
    }
    if (name === "advance") {
      this.#now += args.milliseconds;
      return null;
    }
    if (Array.isArray(args.messages)) args.messages = args.messages.map(expand);
    const store = this.#open();
    try {
      const special = SPECIAL[name];
      return await (special ? special(store, this.#folder, args) : callStore(store, name, args));
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
        if (sessions.length > 0) found.push([user, sessions.map(brief)]);
      }
      return Object.fromEntries(found);
    } finally {
      if (store !== this.#memory) await store.close();
    }
  }

  #open(): Store {
    if (this.#kind === "json") return new JsonStore(join(this.#folder, "json"), this.#options);
    if (this.#kind === "sqlite") {
      return new SqliteStore(join(this.#folder, "store.sqlite3"), this.#options);
    }
    return this.#memory;
  }
}

function callStore(store: Json, name: string, args: Json): Json {
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

/** Return an exported session as a state has it: without times and what is not set. */
function brief(session: SessionDocument): Json {
  const { session_id, window, last_turn, last_seq, system_prompt, summary } = session;
  return {
    session_id,
    window,
    last: [last_turn, last_seq],
    turns: session.turns.map(briefTurn),
    ...(system_prompt === null ? {} : { system_prompt }),
    ...(summary === null ? {} : { summary }),
  };
}

function briefTurn({ turn, status, removed, messages }: TurnDocument): Json {
  return {
    turn,
    is: removed ? `${status}, removed` : status,
    messages: messages.map((each) => [
      each.seq,
      each.message,
      ...(each.removed ? ["removed"] : []),
    ]),
  };
}
