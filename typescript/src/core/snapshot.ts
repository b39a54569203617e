/** Snapshots: all that a manager holds, as a JSON document that both languages read. */

import {
  InvalidMessageError,
  InvalidSnapshotError,
  quote,
  ToolCallNotFoundError,
} from "./errors.ts";
import type { Message } from "./messages.ts";
import { readMessage } from "./messages.ts";
import type { CountTokens, Turn } from "./turns.ts";
import { extendTurns } from "./turns.ts";
import { isObject, wellFormed } from "./values.ts";

const VERSION = 1;

/** A system prompt and the messages of a window; the limits are the receiver's own. */
export interface Snapshot {
  version: number;
  system_prompt: string | null;
  messages: Message[];
}

/** Return the snapshot of a window; it holds `messages` themselves, not copies. */
export function writeSnapshot(systemPrompt: string | null, messages: Message[]): Snapshot {
  return { version: VERSION, system_prompt: systemPrompt, messages };
}

/** Return the system message and the turns of a snapshot, or throw `InvalidSnapshotError`. */
export function readSnapshot(
  value: unknown,
  countTokens: CountTokens,
): { system: Message | null; turns: Turn[] } {
  if (!isObject(value)) {
    throw new InvalidSnapshotError("", `must be an object, not ${quote(value)}`);
  }
  const { version = null, messages = null, system_prompt: prompt = null } = value;
  if (version !== VERSION) {
    const hint = `is ${quote(version)}; this release reads version ${VERSION}`;
    throw new InvalidSnapshotError("version", hint);
  }
  if (!Array.isArray(messages)) {
    throw new InvalidSnapshotError("messages", `must be a list, not ${quote(messages)}`);
  }
  const turns: Turn[] = [];
  const system = readPrompt(prompt);
  messages.forEach((message, i) => {
    try {
      extendTurns(turns, readMessage(message), countTokens);
    } catch (error) {
      if (error instanceof InvalidMessageError || error instanceof ToolCallNotFoundError) {
        throw new InvalidSnapshotError(`messages[${i}]`, `can't be taken: ${error.message}`);
      }
      throw error;
    }
  });
  return { system, turns };
}

function readPrompt(value: unknown): Message | null {
  try {
    return readSystem(value);
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new InvalidSnapshotError(
      "system_prompt",
      `must be a string or null, not ${quote(value)}`,
    );
  }
}

/** Return the system message of a system prompt; null or `""` is none. */
export function readSystem(value: unknown): Message | null {
  if (value === null || value === "") return null;
  if (typeof value !== "string") {
    const hint = `must be a string or null, not ${quote(value)}`;
    throw new InvalidMessageError("system_prompt", "wrong_type", hint);
  }
  return { role: "system", content: wellFormed(value) };
}
