/** The twenty-line manager that every tutorial has: an upper bound, since it checks nothing. */

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** Keeps the system message and, after a reply, the last `2 * maxTurns` messages. */
export class MemoryManager {
  messages: Message[];
  maxTurns: number;

  constructor(systemPrompt: string, maxTurns: number) {
    this.messages = [{ role: "system", content: systemPrompt }];
    this.maxTurns = maxTurns;
  }

  /** Add a question. */
  addUserMessage(content: string): void {
    this.messages.push({ role: "user", content });
  }

  /** Add a reply and drop what is too old. */
  addAssistantMessage(content: string): void {
    this.messages.push({ role: "assistant", content });
    if (this.messages.length > 1 + 2 * this.maxTurns) {
      const newest = this.messages.slice(-2 * this.maxTurns);
      this.messages = [...this.messages.slice(0, 1), ...newest];
    }
  }

  /** Return the list itself. */
  getMessages(): Message[] {
    return this.messages;
  }
}

/** A chat over it; `handsOut` asks for the messages before each reply, as a chat does. */
export class Naive {
  readonly name = "the twenty-line manager";
  readonly #memory: MemoryManager;
  readonly #handsOut: boolean;

  constructor(history: readonly Message[], { handsOut }: { handsOut: boolean }) {
    this.#memory = new MemoryManager(history[0]?.content ?? "", (history.length - 1) / 2);
    this.#memory.messages = [...history];
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
