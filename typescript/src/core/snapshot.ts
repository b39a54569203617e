/** Snapshots: all that a manager holds, as a JSON document that both languages read. */

import {
  InvalidMessageError,
  InvalidSnapshotError,
  quote,
  ToolCallNotFoundError,
} from "./errors.ts";
import type { Context, Frame } from "./frame.ts";
import { makeFrame, readContext } from "./frame.ts";
import type { Message } from "./messages.ts";
import { readMessage } from "./messages.ts";
import type { Summary } from "./summary.ts";
import { readSummary } from "./summary.ts";
import type { CountTokens, Turn } from "./turns.ts";
import { extendTurns } from "./turns.ts";
import { isObject, wellFormed, wholeNumber } from "./values.ts";

const VERSION = 1;

/**
 * A system prompt, a summary and context where there are any, and the messages of a window.
 *
 * `dropped_turns`: how many turns have left the window, absent for none. The limits are the
 * receiver's own.
 */
export interface Snapshot {
  version: number;
  system_prompt: string | null;
  summary?: Summary;
  context?: Context;
  dropped_turns?: number;
  messages: Message[];
}

/** What a snapshot holds, as `readSnapshot` checked it. */
export interface Restored {
  readonly frame: Frame;
  readonly droppedTurns: number;
  readonly turns: Turn[];
}

/** Return the snapshot of a window; it holds `messages` themselves, not copies. */
export function writeSnapshot(frame: Frame, droppedTurns: number, messages: Message[]): Snapshot {
  const snapshot: Snapshot = { version: VERSION, system_prompt: frame.systemPrompt, messages };
  if (frame.summary) snapshot.summary = frame.summary;
  if (frame.context) snapshot.context = frame.context;
  if (droppedTurns > 0) snapshot.dropped_turns = droppedTurns;
  return snapshot;
}

/** Return what a snapshot holds, or throw `InvalidSnapshotError`. */
export function readSnapshot(value: unknown, countTokens: CountTokens): Restored {
  if (!isObject(value)) {
    throw new InvalidSnapshotError("", `must be an object, not ${quote(value)}`);
  }
  const { version = null, messages = null } = value;
  if (version !== VERSION) {
    const hint = `is ${quote(version)}; this release reads version ${VERSION}`;
    throw new InvalidSnapshotError("version", hint);
  }
  if (!Array.isArray(messages)) {
    throw new InvalidSnapshotError("messages", `must be a list, not ${quote(messages)}`);
  }
  const systemPrompt = located("system_prompt", () =>
    readSystemPrompt(value.system_prompt ?? null),
  );
  const summary = located("summary", () => readSummary(value.summary));
  const context = located("context", () => readContext(value.context));
  const droppedTurns = wholeNumber(value.dropped_turns === undefined ? 0 : value.dropped_turns);
  if (droppedTurns === null) {
    const hint = `must be a whole number from 0 up, not ${quote(value.dropped_turns)}`;
    throw new InvalidSnapshotError("dropped_turns", hint);
  }
  const turns: Turn[] = [];
  for (const [i, message] of messages.entries()) {
    located(`messages[${i}]`, () => extendTurns(turns, readMessage(message), countTokens));
  }
  return { frame: makeFrame(systemPrompt, summary, context, countTokens), droppedTurns, turns };
}

/** Say of what is wrong inside where in the snapshot it is. */
function located<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidMessageError || error instanceof ToolCallNotFoundError) {
      throw new InvalidSnapshotError(path, `can't be taken: ${error.message}`);
    }
    throw error;
  }
}

/** Return a system prompt, checked and made well-formed; null or `""` is none. */
export function readSystemPrompt(value: unknown): string | null {
  if (value === null || value === "") return null;
  if (typeof value !== "string") {
    const hint = `must be a string or null, not ${quote(value)}`;
    throw new InvalidMessageError("system_prompt", "wrong_type", hint);
  }
  return wellFormed(value);
}
