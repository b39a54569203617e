/**
 * `PostgresStore`: sessions in a PostgreSQL database, for many servers of an application at once.
 *
 * Any number of processes of both languages, on any number of machines, may use one database. What
 * keeps them apart:
 *
 * - A change locks its user's row, so a user's changes come one after the other, and those of
 *   different users never wait for each other.
 * - Across a whole turn, model call included, it is the session's lease that lets one write; it is
 *   compared with the clock of the machine that asks, so keep these in step (NTP).
 * - Each transaction works as the role `tandem_memory_app` and names its user: row-level security
 *   shows it no other rows, whatever its statements say.
 *
 * The first process to come makes a schema `tandem_memory` and that role, for which its login needs
 * the right to create both. Every other login needs the role alone:
 * `GRANT tandem_memory_app TO my_login`. The database's encoding must be UTF8.
 *
 * What was removed is gone for every reader at once. Its bytes leave the server's files with the
 * next VACUUM FULL, and its log and backups as they are recycled: that is for whoever runs the
 * server.
 *
 * Needs the package `pg`, and is imported from `tandem-memory/postgres`.
 */

import type { Connect } from "./connections.ts";
import { Connections } from "./connections.ts";
import type { SessionDocument } from "./documents.ts";
import type { UserRows } from "./queries.ts";
import { lockUser, lookUpUser } from "./queries.ts";
import type { Removed, Session, StoredMessage, StoredTurn, StoreOptions } from "./records.ts";
import { systemClock, timestamp } from "./records.ts";
import type { Rule, State } from "./rules.ts";
import type { Shelf } from "./shelf.ts";
import { Store } from "./store.ts";

const TIMEOUT_MILLISECONDS = 30_000;

export interface PostgresOptions extends StoreOptions {
  timeoutMilliseconds?: number | undefined;
}

/**
 * Keeps sessions in a PostgreSQL database; the tables are made when it is first used.
 *
 * `database` is its URL, or what lends a connection: `() => pool.connect()` of a `Pool` of pg, which
 * stays its owner's. With a URL the store has a pool of its own. `timeoutMilliseconds`: how long a
 * statement may take, waiting for other writers included.
 *
 * Throws `StoreTooNewError`; every call may throw `StoreUnavailableError` (no server, a connection
 * that broke, a statement that took too long), `StoreFullError` and `StoreDamagedError`.
 */
export class PostgresStore extends Store {
  constructor(
    database: string | Connect,
    { timeoutMilliseconds = TIMEOUT_MILLISECONDS, ...options }: PostgresOptions = {},
  ) {
    const { clock = systemClock } = options;
    const connections = new Connections(database, timestamp(clock()), timeoutMilliseconds);
    super(new PostgresShelf(connections), options);
  }
}

/** Holds rows in the tables that `tables` made. */
class PostgresShelf implements Shelf {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async change(userId: string, sessionId: string, rule: Rule): Promise<Session> {
    return this.#write(userId, async (rows) => {
      const [sessionNo, state] = await rows.state(sessionId);
      const change = rule(state);
      await rows.write(sessionNo, change);
      return change.session;
    });
  }

  async open(
    userId: string,
    sessionId: string,
  ): Promise<{ state: State; messages: StoredMessage[] }> {
    return this.#read(userId, async (rows) => {
      const [sessionNo, state] = await rows.state(sessionId);
      return { state, messages: await rows.messages(sessionNo, state.session?.window ?? []) };
    });
  }

  async sessions(userId: string, limit: number | null): Promise<Session[]> {
    return this.#read(userId, async (rows) => {
      const found = await rows.sessions("DESC", limit);
      return found.map(([, session]) => session);
    });
  }

  async turns(
    userId: string,
    sessionId: string,
    limit: number | null,
    before: number | null,
  ): Promise<StoredTurn[]> {
    return this.#read(userId, async (rows) => {
      const [sessionNo] = await rows.find(sessionId);
      return rows.turns(sessionNo, limit, before);
    });
  }

  async remove(userId: string, sessionId: string, check: (state: State) => void): Promise<Removed> {
    return this.#write(userId, async (rows) => {
      const [sessionNo, state] = await rows.state(sessionId);
      check(state);
      return rows.remove([sessionNo]);
    });
  }

  async forget(userId: string): Promise<Removed> {
    return this.#write(userId, async (rows) => {
      const sessions = await rows.sessions("ASC", null);
      const removed = await rows.remove(sessions.map(([sessionNo]) => sessionNo));
      await rows.removeUser();
      return removed;
    });
  }

  async read(userId: string, sessionId: string | null): Promise<SessionDocument[]> {
    return this.#read(userId, async (rows) => {
      const found =
        sessionId === null ? await rows.sessions("ASC", null) : [await rows.find(sessionId)];
      const documents: SessionDocument[] = [];
      for (const [sessionNo, session] of found) {
        documents.push(await rows.document(sessionNo, session));
      }
      return documents;
    });
  }

  async insert(userId: string, sessions: readonly SessionDocument[]): Promise<Session[]> {
    return this.#write(userId, async (rows) => {
      const added: Session[] = [];
      for (const document of sessions) added.push(await rows.insert(document));
      return added;
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #read<Result>(userId: string, body: (rows: UserRows) => Promise<Result>): Promise<Result> {
    return this.#connections.read(userId, async (each) => body(await lookUpUser(each, userId)));
  }

  async #write<Result>(userId: string, body: (rows: UserRows) => Promise<Result>): Promise<Result> {
    return this.#connections.write(userId, async (each) => body(await lockUser(each, userId)));
  }
}
