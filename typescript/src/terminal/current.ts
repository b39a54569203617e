/** The session that a talk is in: its chat, and the question in it that has no answer. */

import type { OllamaEngine } from "../chat/engine.ts";
import type { Chat } from "../chat/session.ts";
import type { Archive } from "./archive.ts";
import { exportName } from "./archive.ts";
import { renderOpening, turnQuestion } from "./history.ts";
import type { Setup } from "./setup.ts";
import { HINTS } from "./texts.ts";

/** What asks for a session to begin, in the place of a session's id. */
const NEW = "new";

export interface CurrentOptions {
  place: string;
  wish: string | null;
}

/**
 * One session of the archive at a time.
 *
 * `chat`: the chat with the engine's model. `opening`: what to tell about the session.
 * `failed`: the question to ask again, null where the last one was answered.
 */
export class Current {
  chat: Chat;
  opening = "";
  failed: string | null = null;
  readonly #setup: Setup;
  readonly #archive: Archive;
  readonly #place: string;
  #engine: OllamaEngine;

  constructor(setup: Setup, archive: Archive, place: string, engine: OllamaEngine, chat: Chat) {
    this.chat = chat;
    this.#setup = setup;
    this.#archive = archive;
    this.#place = place;
    this.#engine = engine;
  }

  /**
   * Go on with the session of this id, or the newest.
   *
   * Where there is none, and where `NEW` is wished, one begins.
   */
  static async open(
    setup: Setup,
    archive: Archive,
    engine: OllamaEngine,
    { place, wish }: CurrentOptions,
  ): Promise<Current> {
    const session = wish === NEW ? null : await archive.find(wish);
    const chat = await setup.open(engine, archive, session?.session_id ?? null);
    const current = new Current(setup, archive, place, engine, chat);
    await current.#look();
    return current;
  }

  /** The session's id. */
  get sessionId(): string {
    return this.chat.sessionId ?? "";
  }

  /** What runs the model. */
  get engine(): OllamaEngine {
    return this.#engine;
  }

  set engine(engine: OllamaEngine) {
    this.#engine = engine;
    this.chat.engine = engine;
  }

  /** Return whether nothing has been asked in the session. */
  async isEmpty(): Promise<boolean> {
    return (await this.#archive.turns(this.sessionId, 1)).length === 0;
  }

  /** Go on with another session, which begins where there is none; null is a new one. */
  async enter(sessionId: string | null): Promise<void> {
    await this.#goOn(this.#engine, sessionId);
    await this.#look();
  }

  /** Go on with another model. */
  async use(engine: OllamaEngine): Promise<void> {
    await this.#goOn(engine, this.sessionId);
    this.#engine = engine;
  }

  /** Wait for a summary of what needs one, if summaries are wished for. */
  async summarize(): Promise<void> {
    if (this.#setup.summarize && !(await this.chat.settle())) await this.chat.summarize();
  }

  /** Write the session to `file`, or to one that is named after it. */
  async export(file: string | null): Promise<void> {
    await this.#archive.exportSessions(this.sessionId, file ?? exportName(this.sessionId));
  }

  async #goOn(engine: OllamaEngine, sessionId: string | null): Promise<void> {
    const chat = await this.#setup.open(engine, this.#archive, sessionId);
    await this.chat.close();
    this.chat = chat;
  }

  /** See what the session is, and whether its last question was answered. */
  async #look(): Promise<void> {
    const title = await this.#archive.title(this.sessionId);
    this.opening = renderOpening(this.sessionId, title, this.#place);
    this.failed = null;
    for (const turn of await this.#archive.turns(this.sessionId, 1)) {
      if (turn.status !== "failed" && turn.status !== "pending") continue;
      this.failed = turnQuestion(turn);
      this.opening += `\n${turn.status === "failed" ? HINTS.lastFailed : HINTS.lastPending}`;
    }
  }
}
