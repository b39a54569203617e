/** `MemoryStore`: the store that lives and ends with its process. */

import { SessionExistsError, SessionNotFoundError } from "../core/errors.ts";
import { copyJson } from "../core/values.ts";
import type { SessionDocument, Sheet } from "./documents.ts";
import {
  applyChange,
  readSheet,
  sheetState,
  sheetTurns,
  sheetWindow,
  writeSheet,
} from "./documents.ts";
import type { Removed, Session, StoredMessage, StoredTurn, StoreOptions } from "./records.ts";
import type { Rule, State } from "./rules.ts";
import { noSession } from "./rules.ts";
import type { Shelf } from "./shelf.ts";
import { Store } from "./store.ts";

/** Keeps sessions in this process's memory. */
export class MemoryStore extends Store {
  constructor(options: StoreOptions = {}) {
    super(new MemoryShelf(), options);
  }
}

/** One user's sessions by their ids, the one changed last at the end. */
interface UserSheets {
  revision: number;
  sheets: Map<string, Sheet>;
}

/** Holds sheets in maps. Nothing in a call waits, so none comes between another's steps. */
class MemoryShelf implements Shelf {
  readonly #users = new Map<string, UserSheets>();

  async change(userId: string, sessionId: string, rule: Rule): Promise<Session> {
    const user = this.#user(userId);
    const revision = user.revision + 1;
    let sheet = user.sheets.get(sessionId);
    const state = sheet ? sheetState(sheet, revision) : null;
    const change = rule(state ?? noSession(userId, sessionId, revision));
    sheet ??= { session: change.session, turns: [], lease: null };
    applyChange(sheet, change);
    if (change.session.revision === revision) {
      user.revision = revision;
      user.sheets.delete(sessionId);
      user.sheets.set(sessionId, sheet);
      this.#users.set(userId, user);
    }
    return copyJson(change.session);
  }

  async open(
    userId: string,
    sessionId: string,
  ): Promise<{ state: State; messages: StoredMessage[] }> {
    const user = this.#user(userId);
    const sheet = user.sheets.get(sessionId);
    if (!sheet) return { state: noSession(userId, sessionId, user.revision + 1), messages: [] };
    return { state: sheetState(sheet, user.revision + 1), messages: sheetWindow(sheet) };
  }

  async sessions(userId: string, limit: number | null): Promise<Session[]> {
    const newest = [...this.#user(userId).sheets.values()].reverse();
    return newest.slice(0, limit ?? newest.length).map((sheet) => copyJson(sheet.session));
  }

  async turns(
    userId: string,
    sessionId: string,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]> {
    return sheetTurns(this.#find(userId, sessionId), limit, before);
  }

  async remove(userId: string, sessionId: string, check: (state: State) => void): Promise<Removed> {
    const sheet = this.#find(userId, sessionId);
    check(sheetState(sheet, 0));
    this.#user(userId).sheets.delete(sessionId);
    return countRemoved([sheet]);
  }

  async forget(userId: string): Promise<Removed> {
    const removed = countRemoved(this.#user(userId).sheets.values());
    this.#users.delete(userId);
    return removed;
  }

  async read(userId: string, sessionId: string | null): Promise<SessionDocument[]> {
    const sheets =
      sessionId === null
        ? [...this.#user(userId).sheets.values()]
        : [this.#find(userId, sessionId)];
    return sheets.map((sheet) => copyJson(writeSheet(sheet)));
  }

  async insert(userId: string, sessions: readonly SessionDocument[]): Promise<Session[]> {
    const user = this.#user(userId);
    const sheets = new Map(user.sheets);
    const added = sessions.map((document, i) => {
      if (sheets.has(document.session_id)) {
        throw new SessionExistsError(userId, document.session_id);
      }
      const sheet = readSheet(document, userId, user.revision + 1 + i);
      sheets.set(document.session_id, sheet);
      return copyJson(sheet.session);
    });
    this.#users.set(userId, { revision: user.revision + added.length, sheets });
    return added;
  }

  /** Nothing is held open; what was stored goes with the store itself. */
  async close(): Promise<void> {}

  #user(userId: string): UserSheets {
    return this.#users.get(userId) ?? { revision: 0, sheets: new Map() };
  }

  #find(userId: string, sessionId: string): Sheet {
    const sheet = this.#users.get(userId)?.sheets.get(sessionId);
    if (!sheet) throw new SessionNotFoundError(userId, sessionId);
    return sheet;
  }
}

/** Return the report of removing these sheets. */
export function countRemoved(sheets: Iterable<Sheet>): Removed {
  const gone = [...sheets];
  const turns = gone.flatMap((sheet) => sheet.turns);
  return {
    sessions: gone.length,
    turns: turns.length,
    messages: turns.reduce((count, turn) => count + turn.messages.length, 0),
    purge_pending: false,
  };
}
