/** What was asked for on the command line, as models and chats. */

import { Corrections } from "../chat/correction.ts";
import type { Engine } from "../chat/engine.ts";
import { loadModels } from "../chat/modelfile.ts";
import type { Models } from "../chat/models.ts";
import { Chat } from "../chat/session.ts";
import type { ModelEntry } from "../chat/settings.ts";
import type { Archive } from "./archive.ts";
import type { Arguments } from "./arguments.ts";

const DEFAULT_PATH = "local/chat/small";

/** Short, since somebody waits for it who has started the program again after a crash. */
const LEASE_MILLISECONDS = 5_000;

/** A little longer than a lease, so that a dead program is waited for. */
const WAIT_MILLISECONDS = 6_000;

/**
 * The model entries, and the wishes that hold for whichever of them is used.
 *
 * `think`: whether the model is to think; null is as its entry says. `summarize`: whether it is to
 * summarise what is about to leave the window.
 *
 * Throws `InvalidModelFileError`.
 */
export class Setup {
  think: boolean | null;
  readonly summarize: boolean;
  readonly #models: Models;
  readonly #host: string | null;
  readonly #system: string | null;
  readonly #turns: number | null;
  // What is learnt of a model holds for all sessions of the program.
  readonly #corrections = new Corrections();

  constructor(given: Arguments) {
    this.#models = loadModels(given.file);
    this.#host = given.host;
    this.#system = given.system;
    this.#turns = given.turns;
    this.think = given.think;
    this.summarize = given.summarize;
  }

  /** All entries, sorted by path. */
  get entries(): ModelEntry[] {
    return this.#models.paths.map((path) => this.find(path));
  }

  /** Return the entry at `path` as it is wished, or throw `UnknownModelError`. */
  find(path: string | null): ModelEntry {
    const entry = this.#models.find(path || DEFAULT_PATH);
    return { ...entry, host: this.#host ?? entry.host, think: this.think ?? entry.think };
  }

  /** Return a chat in a session of the archive; null makes a new one. */
  open(engine: Engine, archive: Archive, sessionId: string | null): Promise<Chat> {
    return Chat.open(archive.store, archive.userId, sessionId, {
      model: engine,
      waitMilliseconds: WAIT_MILLISECONDS,
      leaseMilliseconds: LEASE_MILLISECONDS,
      systemPrompt: this.#system,
      maxTurns: this.#turns ?? undefined,
      corrections: this.#corrections,
      summarize: this.summarize,
    });
  }
}
