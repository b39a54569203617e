/** The sessions of a user in a store, as the program shows, exports and removes them. */

import { lstatSync } from "node:fs";
import {
  InvalidDocumentError,
  quote,
  SessionNotFoundError,
  StoreFullError,
  StoreUnavailableError,
} from "../core/errors.ts";
import type { Export } from "../storage/exports.ts";
import { documentText, readDocument, writeDocument } from "../storage/jsonfile.ts";
import type { Session, StoredTurn } from "../storage/records.ts";
import type { Store } from "../storage/store.ts";
import { renderHistory, renderSessions, turnTitle } from "./history.ts";
import type { Keyboard } from "./keyboard.ts";
import { RefusedError } from "./refusal.ts";
import type { Screen } from "./screen.ts";
import { count, HINTS } from "./texts.ts";

/** How many sessions an error names. */
const NAMED = 10;

/**
 * A user's sessions. What is asked for goes to the screen.
 *
 * Throws what the store does, and `RefusedError`.
 */
export class Archive {
  readonly store: Store;
  readonly userId: string;
  readonly #screen: Screen;
  readonly #keyboard: Keyboard;

  constructor(store: Store, userId: string, screen: Screen, keyboard: Keyboard) {
    this.store = store;
    this.userId = userId;
    this.#screen = screen;
    this.#keyboard = keyboard;
  }

  /** Return the session of this id, or without one the newest, or null where there is none. */
  async find(sessionId: string | null): Promise<Session | null> {
    if (sessionId === null) {
      const [newest = null] = await this.store.listSessions(this.userId, 1);
      return newest;
    }
    try {
      const { session } = await this.store.openSession(this.userId, sessionId);
      return session;
    } catch (error) {
      if (!(error instanceof SessionNotFoundError)) throw error;
      throw new RefusedError(await this.#missing(sessionId));
    }
  }

  /** Return the newest `limit` turns of a session; null is all. */
  turns(sessionId: string, limit: number | null): Promise<StoredTurn[]> {
    return this.store.history(this.userId, sessionId, limit);
  }

  /** Return how a session begins; `""` is an empty one. */
  async title(sessionId: string): Promise<string> {
    let [first] = await this.store.history(this.userId, sessionId, 1, { before: 2 });
    // Only where its first turn was undone or cleared must all of it be read.
    if (!first) [first] = await this.turns(sessionId, null);
    return first ? turnTitle(first) : "";
  }

  /** Print the list of sessions. */
  async listSessions(current: string | null = null): Promise<void> {
    const sessions = await this.store.listSessions(this.userId);
    if (sessions.length === 0) {
      this.#screen.remark(HINTS.nothingStored);
      return;
    }
    const titles: string[] = [];
    for (const session of sessions) titles.push(await this.title(session.session_id));
    this.#screen.write(renderSessions(sessions, titles, this.#screen.columns, current));
  }

  /** Print the newest `limit` turns of a session; null is all. */
  async showSession(sessionId: string | null, limit: number | null): Promise<void> {
    const session = await this.find(sessionId);
    const turns = session ? await this.turns(session.session_id, limit) : [];
    if (turns.length > 0) this.#screen.write(renderHistory(turns));
    else this.#screen.remark(HINTS.nothingStored);
  }

  /** Write a session, or all of them, to `file`; null prints them. */
  async exportSessions(
    sessionId: string | null,
    file: string | null,
    { replace = false }: { replace?: boolean } = {},
  ): Promise<void> {
    if (sessionId !== null) await this.find(sessionId);
    const document = await this.store.exportSessions(this.userId, sessionId);
    if (file === null) {
      this.#screen.write(documentText(document));
      return;
    }
    writeFile(file, document, { replace });
    this.#screen.remark(`Wrote ${count(document.sessions.length, "session")} to ${file}.`);
  }

  /** Add the sessions of an exported document, to another user if `userId` says so. */
  async importSessions(file: string, userId: string | null): Promise<void> {
    const added = await this.store.importSessions(readFile(file), { userId });
    const owner = added[0] ? ` of ${quote(added[0].user_id)}` : "";
    this.#screen.remark(`Added ${count(added.length, "session")}${owner}.`);
  }

  /**
   * Ask, then remove a session, or all of the user's; returns whether it did.
   *
   * `sure`: what to type where nobody is there to ask; `""` is that it was typed.
   */
  async forget(sessionId: string | null, { sure }: { sure: string }): Promise<boolean> {
    let what: string;
    if (sessionId) {
      await this.find(sessionId);
      what = `the session ${quote(sessionId)}`;
    } else {
      what = count((await this.store.listSessions(this.userId)).length, "session");
    }
    if (sure && !this.#keyboard.interactive) {
      throw new RefusedError(`nobody is there to ask; ${sure} removes ${what} for good`);
    }
    const question = `Remove ${what} of ${quote(this.userId)} for good?`;
    if (sure && !(await this.#keyboard.confirm(question, { enter: false }))) {
      this.#screen.remark(HINTS.kept);
      return false;
    }
    const removed = sessionId
      ? await this.store.deleteSession(this.userId, sessionId)
      : await this.store.forget(this.userId);
    const parts = [count(removed.sessions, "session"), count(removed.turns, "turn")];
    this.#screen.remark(`Removed ${parts.join(", ")}, ${count(removed.messages, "message")}.`);
    if (removed.purge_pending) this.#screen.remark(HINTS.purgePending);
    return true;
  }

  async #missing(sessionId: string): Promise<string> {
    const sessions = await this.store.listSessions(this.userId, NAMED + 1);
    const names = sessions.map((session) => quote(session.session_id));
    if (names.length > NAMED) names.splice(NAMED, 1, "…");
    const there = names.join(", ") || "none";
    return `no session ${quote(sessionId)} of ${quote(this.userId)}; there are: ${there}`;
  }
}

/** Return the name of a session's file: what of its id is plain enough for one. */
export function exportName(sessionId: string): string {
  const plain = (sessionId.match(/[A-Za-z0-9]+/g) ?? []).join("-").slice(0, 40);
  return plain ? `session-${plain}.json` : "session.json";
}

/** Return the document in `file`; a problem with it is told in the same words everywhere. */
function readFile(file: string): unknown {
  try {
    return readDocument(file);
  } catch (error) {
    if (error instanceof InvalidDocumentError) {
      throw new RefusedError(`${file} is no JSON in UTF-8`);
    }
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new RefusedError(`there is no file ${file}`);
    throw new RefusedError(`${file} can't be read (${code})`);
  }
}

function writeFile(file: string, document: Export, { replace }: { replace: boolean }): void {
  if (!replace && lstatSync(file, { throwIfNoEntry: false })) {
    throw new RefusedError(`there is a ${file} already; name another file, or export with --force`);
  }
  try {
    writeDocument(file, document);
  } catch (error) {
    if (error instanceof StoreFullError) {
      throw new RefusedError(`there is no room to write ${file}`);
    }
    if (!(error instanceof StoreUnavailableError)) throw error;
    const hint = "see that its folder exists and may be written";
    throw new RefusedError(`${file} can't be written; ${hint}`);
  }
}
