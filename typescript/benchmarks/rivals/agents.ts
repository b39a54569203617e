/**
 * The session of the OpenAI Agents SDK that lives in memory: `MemorySession`.
 *
 * Around a model call its runner gets the newest items, then adds the question and the reply.
 * Instructions are the agent's, so the session holds no system message.
 */

import { assistant, MemorySession, user } from "@openai/agents";
import type { Message } from "./naive.ts";

/** A chat over it. */
export class Agents {
  readonly name = "OpenAI Agents SDK `MemorySession`";
  readonly #session: MemorySession;
  readonly #window: number;

  constructor(history: readonly Message[]) {
    this.#window = history.length - 1;
    const initialItems = history
      .slice(1)
      .map(({ role, content }) => (role === "user" ? user(content) : assistant(content)));
    this.#session = new MemorySession({ initialItems });
  }

  /** Chat for some turns. */
  async run(turns: readonly (readonly [string, string])[]): Promise<void> {
    for (const [question, reply] of turns) {
      await this.#session.getItems(this.#window);
      await this.#session.addItems([user(question)]);
      await this.#session.addItems([assistant(reply)]);
    }
  }
}
