/** `MemoryManager` with its defaults: each message checked, copied and its tokens estimated. */

import { MemoryManager } from "../../src/core/manager.ts";
import type { Message } from "./naive.ts";

/** A chat over it; `handsOut` asks for the messages before each reply, as a chat does. */
export class Tandem {
  readonly name = "Tandem Memory";
  readonly #memory: MemoryManager;
  readonly #handsOut: boolean;

  constructor(history: readonly Message[], { handsOut }: { handsOut: boolean }) {
    this.#memory = new MemoryManager(history[0]?.content ?? "", (history.length - 1) / 2);
    for (const message of history.slice(1)) this.#memory.add(message);
    this.#handsOut = handsOut;
  }

  /** Chat for some turns. */
  async run(turns: readonly (readonly [string, string])[]): Promise<void> {
    for (const [question, reply] of turns) {
      this.#memory.addUserMessage(question);
      if (this.#handsOut) this.#memory.getMessages();
      this.#memory.addAssistantMessage(reply);
    }
  }
}
