/** `SheetShelf`: a shelf that holds a user's sessions whole, on whatever desk they are laid. */

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
import type { Removed, Session, StoredMessage, StoredTurn } from "./records.ts";
import type { Rule, State } from "./rules.ts";
import { noSession } from "./rules.ts";
import type { Shelf } from "./shelf.ts";

/** One user's sessions by their ids, the one changed last at the end, and the last revision. */
export interface UserSheets {
  revision: number;
  sheets: Map<string, Sheet>;
}

/**
 * Where a user's sheets are laid to be worked on, one user and one worker at a time.
 *
 * `body` waits for nothing, so nothing comes between its steps.
 */
export interface Desk {
  /** Lay out the user's sheets, or none where there is no such user. */
  read<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result>;

  /**
   * Lay them out, and keep them as `body` leaves them, unless it throws.
   *
   * A user whose revision is 0 after that is dropped.
   */
  write<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result>;

  /** Give back what the desk holds open. */
  close(): void;
}

/** Holds sheets on a desk. */
export class SheetShelf implements Shelf {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  async change(userId: string, sessionId: string, rule: Rule): Promise<Session> {
    return this.#desk.write(userId, (user) => {
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
      }
      return copyJson(change.session);
    });
  }

  async open(
    userId: string,
    sessionId: string,
  ): Promise<{ state: State; messages: StoredMessage[] }> {
    return this.#desk.read(userId, (user) => {
      const sheet = user.sheets.get(sessionId);
      if (!sheet) return { state: noSession(userId, sessionId, user.revision + 1), messages: [] };
      return { state: sheetState(sheet, user.revision + 1), messages: sheetWindow(sheet) };
    });
  }

  async sessions(userId: string, limit: number | null): Promise<Session[]> {
    return this.#desk.read(userId, (user) => {
      const newest = [...user.sheets.values()].reverse().slice(0, limit ?? user.sheets.size);
      return newest.map((sheet) => copyJson(sheet.session));
    });
  }

  async turns(
    userId: string,
    sessionId: string,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]> {
    return this.#desk.read(userId, (user) =>
      sheetTurns(find(user, userId, sessionId), limit, before),
    );
  }

  async remove(userId: string, sessionId: string, check: (state: State) => void): Promise<Removed> {
    return this.#desk.write(userId, (user) => {
      const sheet = find(user, userId, sessionId);
      check(sheetState(sheet, 0));
      user.sheets.delete(sessionId);
      return countRemoved([sheet]);
    });
  }

  async forget(userId: string): Promise<Removed> {
    return this.#desk.write(userId, (user) => {
      const removed = countRemoved([...user.sheets.values()]);
      user.revision = 0;
      user.sheets = new Map();
      return removed;
    });
  }

  async read(userId: string, sessionId: string | null): Promise<SessionDocument[]> {
    return this.#desk.read(userId, (user) => {
      const sheets =
        sessionId === null ? [...user.sheets.values()] : [find(user, userId, sessionId)];
      return sheets.map((sheet) => copyJson(writeSheet(sheet)));
    });
  }

  async insert(userId: string, sessions: readonly SessionDocument[]): Promise<Session[]> {
    return this.#desk.write(userId, (user) => {
      const sheets = new Map(user.sheets);
      const added = sessions.map((document, i) => {
        if (sheets.has(document.session_id)) {
          throw new SessionExistsError(userId, document.session_id);
        }
        const sheet = readSheet(document, userId, user.revision + 1 + i);
        sheets.set(document.session_id, sheet);
        return copyJson(sheet.session);
      });
      user.revision += added.length;
      user.sheets = sheets;
      return added;
    });
  }

  async close(): Promise<void> {
    this.#desk.close();
  }
}

function find(user: UserSheets, userId: string, sessionId: string): Sheet {
  const sheet = user.sheets.get(sessionId);
  if (!sheet) throw new SessionNotFoundError(userId, sessionId);
  return sheet;
}

function countRemoved(gone: readonly Sheet[]): Removed {
  const turns = gone.flatMap((sheet) => sheet.turns);
  return {
    sessions: gone.length,
    turns: turns.length,
    messages: turns.reduce((count, turn) => count + turn.messages.length, 0),
    purge_pending: false,
  };
}
