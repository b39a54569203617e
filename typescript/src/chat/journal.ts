/**
 * `Journal`: the memory of a conversation, and what is written down of it when.
 *
 * An exchange writes its question before the model is called, and after that what came of it. It works
 * on a copy of the memory, which takes the memory's place only once it is settled.
 */

import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import { readMessage } from "../core/messages.ts";
import type { JsonObject } from "../core/values.ts";
import type { Status } from "../storage/records.ts";

/** What came of a turn. */
export interface SettleOptions {
  memory: MemoryManager | null;
  message: JsonObject | null;
  dropped: readonly Message[];
  status: Status;
}

/** Keeps the memory in this process alone; `StoredJournal` writes it down as well. */
export class Journal {
  /** The session that it is written to, if any. */
  readonly sessionId: string | null = null;
  /** Turns of an earlier process that left without being summarised, oldest first. */
  waiting: readonly (readonly Message[])[] = [];
  memory: MemoryManager;
  protected readonly newMemory: () => MemoryManager;

  constructor(newMemory: () => MemoryManager) {
    this.memory = newMemory();
    this.newMemory = newMemory;
  }

  /** Get the sole right to go on. */
  async hold({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    signal?.throwIfAborted();
  }

  /** Give that right back, where it was got. */
  async release(): Promise<void> {}

  /** Return a copy of the memory, to go on with. */
  copy(): MemoryManager {
    const memory = this.newMemory();
    memory.restore(this.memory.snapshot(), { trim: false });
    return memory;
  }

  /** Check a question, and write it down; null goes on with the newest turn. */
  async ask(question: JsonObject | null): Promise<void> {
    if (question !== null) readMessage(question);
  }

  /**
   * Let `memory` take the memory's place, and write down what has come to it.
   *
   * `memory`: a copy; null where the turn has failed, which leaves the memory as it is.
   * `message`: what was added last, or the part that came of an answer that failed, if any.
   * `dropped`: what left since the copy was made. `status`: how the turn stands.
   */
  async settle({ memory }: SettleOptions): Promise<void> {
    if (memory !== null) this.memory = memory;
  }

  /** Drop the last turn of the window and return its messages. */
  async undo(): Promise<Message[]> {
    return this.memory.undo();
  }

  /** Empty the conversation; the system prompt stays. */
  async clear(): Promise<void> {
    this.memory.clear();
  }
}
