/**
 * LangChain's `trimMessages`, before every model call and kept as the new history.
 *
 * A window of messages is a `tokenCounter` that counts them, by its reference. Keeping what is left
 * as the history is what the guide's `beforeModel` middleware does, and the kindest case: nothing
 * old is read again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import {
  AIMessage,
  coerceMessageLikeToMessage,
  HumanMessage,
  trimMessages,
} from "@langchain/core/messages";
import type { Message } from "./naive.ts";

/** A chat over it. */
export class LangChain {
  readonly name = "LangChain `trimMessages`";
  #messages: BaseMessage[];
  readonly #window: number;

  constructor(history: readonly Message[]) {
    this.#messages = history.map((message) => coerceMessageLikeToMessage({ ...message }));
    this.#window = history.length;
  }

  /** Chat for some turns. */
  async run(turns: readonly (readonly [string, string])[]): Promise<void> {
    for (const [question, reply] of turns) {
      this.#messages.push(new HumanMessage(question));
      this.#messages = await trimMessages(this.#messages, {
        strategy: "last",
        tokenCounter: (messages) => messages.length,
        maxTokens: this.#window,
        startOn: "human",
        includeSystem: true,
      });
      this.#messages.push(new AIMessage(reply));
    }
  }
}
