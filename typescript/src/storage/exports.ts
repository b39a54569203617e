/**
 * What comes in from outside, checked: exported documents, changes to a session, counts.
 *
 * A document is read strictly: a field too many is a fault as much as a missing one, since what is
 * not understood would be lost. Messages alone may have fields of their own. `revision` and `lease`,
 * which the files of a `JsonStore` have beside the rest, are left out.
 */

import {
  InvalidDocumentError,
  InvalidIdError,
  InvalidLimitError,
  InvalidMessageError,
  quote,
} from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import { readMessage } from "../core/messages.ts";
import type { JsonObject } from "../core/values.ts";
import { isObject, readJson, wellFormed, wholeNumber } from "../core/values.ts";
import type { MessageDocument, SessionDocument, TurnDocument } from "./documents.ts";
import type { Ranges, SessionChanges, Status } from "./records.ts";
import { endOf, readId } from "./records.ts";

const VERSION = 1;
const STATUSES: readonly unknown[] = ["pending", "complete", "failed", "interrupted"];
const TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;

/** Sessions of one user, the one used last at the end. */
export interface Export {
  format: "tandem-memory";
  version: number;
  user_id: string;
  sessions: SessionDocument[];
}

/** Return the document of these sessions; it holds them themselves, not copies. */
export function writeExport(userId: string, sessions: SessionDocument[]): Export {
  return { format: "tandem-memory", version: VERSION, user_id: userId, sessions };
}

/** Return the exported document that `value` is, as a copy, or throw `InvalidDocumentError`. */
export function readExport(value: unknown): Export {
  const fields = readFields(value, "", ["format", "version", "user_id", "sessions"], ["revision"]);
  if (fields.format !== "tandem-memory") {
    throw new InvalidDocumentError("format", 'must be "tandem-memory"');
  }
  if (readWhole(fields.version, "version") !== VERSION) {
    const hint = `is ${quote(fields.version)}; this release reads version ${VERSION}`;
    throw new InvalidDocumentError("version", hint);
  }
  const userId = readName(fields.user_id, "user_id");
  const sessions = readList(fields.sessions, "sessions");
  const read = sessions.map((item, i) => readSession(item, `sessions[${i}]`));
  if (new Set(read.map((session) => session.session_id)).size < read.length) {
    throw new InvalidDocumentError("sessions", "have a session_id twice");
  }
  return writeExport(userId, read);
}

/** Return changes to a session as a copy, or throw `InvalidDocumentError`. */
export function readChanges(value: unknown): SessionChanges {
  if (!isObject(value)) {
    throw new InvalidDocumentError("", `must be an object, not ${quote(value)}`);
  }
  const changes: SessionChanges = {};
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue;
    if (name === "system_prompt") changes.system_prompt = readText(item, name);
    else if (name === "summary") changes.summary = readSummary(item, name);
    else if (name === "window") changes.window = readRanges(item, name);
    else throw new InvalidDocumentError("", `has an unknown field ${quote(name)}`);
  }
  return changes;
}

/** Return `value` as a turn's status, or throw `InvalidDocumentError`. */
export function readStatus(value: unknown, path = "status"): Status {
  if (!STATUSES.includes(value)) {
    const hint = `is ${quote(value)}; it must be one of ${STATUSES.join(", ")}`;
    throw new InvalidDocumentError(path, hint);
  }
  return value as Status;
}

/** Return a message as a store takes it: any but the system message. */
export function readStored(value: unknown, path: string): Message {
  const message = readMessage(value, path);
  if (message.role === "system") {
    const hint = "is system; there is one system message, set by the system prompt";
    throw new InvalidMessageError(`${path}.role`, "not_allowed", hint);
  }
  return message;
}

/** Return how many are wanted, null being all, or throw `InvalidLimitError`. */
export function readCount(name: string, value: unknown): number | null {
  if (value === null) return null;
  const whole = wholeNumber(value);
  if (whole === null) {
    throw new InvalidLimitError(name, value, "a whole number from 0 up, or null for all");
  }
  return whole;
}

const SESSION_FIELDS = [
  "session_id",
  "system_prompt",
  "summary",
  "window",
  "last_seq",
  "last_turn",
  "created_at",
  "updated_at",
  "turns",
];

function readSession(value: unknown, path: string): SessionDocument {
  const fields = readFields(value, path, SESSION_FIELDS, ["revision", "lease"]);
  const session: SessionDocument = {
    session_id: readName(fields.session_id, `${path}.session_id`),
    system_prompt: readText(fields.system_prompt, `${path}.system_prompt`),
    summary: readSummary(fields.summary, `${path}.summary`),
    window: readRanges(fields.window, `${path}.window`),
    last_seq: readWhole(fields.last_seq, `${path}.last_seq`),
    last_turn: readWhole(fields.last_turn, `${path}.last_turn`),
    created_at: readTime(fields.created_at, `${path}.created_at`),
    updated_at: readTime(fields.updated_at, `${path}.updated_at`),
    turns: [],
  };
  if (endOf(session.window) > session.last_seq) {
    throw new InvalidDocumentError(`${path}.window`, "goes beyond last_seq");
  }
  let turn = 0;
  let seq = 0;
  readList(fields.turns, `${path}.turns`).forEach((item, i) => {
    const read = readTurn(item, `${path}.turns[${i}]`, seq);
    if (read.turn <= turn || read.turn > session.last_turn) {
      throw new InvalidDocumentError(`${path}.turns[${i}].turn`, "is out of order");
    }
    turn = read.turn;
    seq = read.messages.at(-1)?.seq ?? seq;
    session.turns.push(read);
  });
  if (seq > session.last_seq) {
    throw new InvalidDocumentError(`${path}.last_seq`, "is below the last message's seq");
  }
  return session;
}

const TURN_FIELDS = ["turn", "status", "removed", "created_at", "messages"];

function readTurn(value: unknown, path: string, after: number): TurnDocument {
  const fields = readFields(value, path, TURN_FIELDS);
  const turn: TurnDocument = {
    turn: readWhole(fields.turn, `${path}.turn`),
    status: readStatus(fields.status, `${path}.status`),
    removed: readFlag(fields.removed, `${path}.removed`),
    created_at: readTime(fields.created_at, `${path}.created_at`),
    messages: [],
  };
  let seq = after;
  readList(fields.messages, `${path}.messages`).forEach((item, i) => {
    const read = readRow(item, `${path}.messages[${i}]`);
    if (read.seq <= seq) {
      throw new InvalidDocumentError(`${path}.messages[${i}].seq`, "is out of order");
    }
    seq = read.seq;
    turn.messages.push(read);
  });
  if (turn.messages.length === 0) {
    throw new InvalidDocumentError(`${path}.messages`, "is empty; a turn has at least one message");
  }
  return turn;
}

const ROW_FIELDS = ["seq", "removed", "created_at", "message"];

function readRow(value: unknown, path: string): MessageDocument {
  const fields = readFields(value, path, ROW_FIELDS);
  let message: Message;
  try {
    message = readStored(fields.message, `${path}.message`);
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new InvalidDocumentError(error.path, `can't be taken: ${error.message}`);
  }
  return {
    seq: readWhole(fields.seq, `${path}.seq`),
    removed: readFlag(fields.removed, `${path}.removed`),
    created_at: readTime(fields.created_at, `${path}.created_at`),
    message,
  };
}

/** Return an object that has all fields of `names`, and none beside them and `optional`. */
export function readFields(
  value: unknown,
  path: string,
  names: readonly string[],
  optional: readonly string[] = [],
): Record<string, unknown> {
  if (!isObject(value)) {
    throw new InvalidDocumentError(path, `must be an object, not ${quote(value)}`);
  }
  for (const name of names) {
    if (!Object.hasOwn(value, name)) {
      throw new InvalidDocumentError(path ? `${path}.${name}` : name, "is missing");
    }
  }
  const known = [...names, ...optional];
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new InvalidDocumentError(path, `has an unknown field ${quote(unknown.sort()[0])}`);
  }
  return value;
}

/** Return an id, or throw `InvalidDocumentError`. */
export function readName(value: unknown, path: string): string {
  try {
    return readId(path, value);
  } catch (error) {
    if (!(error instanceof InvalidIdError)) throw error;
    throw new InvalidDocumentError(path, "is no id: a text of at least one character");
  }
}

function readText(value: unknown, path: string): string | null {
  if (value !== null && typeof value !== "string") {
    throw new InvalidDocumentError(path, `must be a string or null, not ${quote(value)}`);
  }
  return value ? wellFormed(value) : null;
}

function readSummary(value: unknown, path: string): JsonObject | null {
  let summary: unknown;
  try {
    summary = readJson(value, path);
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new InvalidDocumentError(error.path, "is no JSON that both languages hold");
  }
  if (summary !== null && !isObject(summary)) {
    throw new InvalidDocumentError(path, `must be an object or null, not ${quote(value)}`);
  }
  return summary as JsonObject | null;
}

function readRanges(value: unknown, path: string): Ranges {
  const ranges: Ranges = [];
  let end = 0;
  readList(value, path).forEach((item, i) => {
    const pair = readList(item, `${path}[${i}]`);
    const [first = 0, last = 0] = pair.map((number) => readWhole(number, `${path}[${i}]`));
    if (pair.length !== 2 || first <= end || last < first) {
      const hint = "must be [first, last], after the pair before it";
      throw new InvalidDocumentError(`${path}[${i}]`, hint);
    }
    end = last;
    ranges.push([first, last]);
  });
  return ranges;
}

function readList(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value)) {
    throw new InvalidDocumentError(path, `must be a list, not ${quote(value)}`);
  }
  return value;
}

/** Return a whole number from 0 up, or throw `InvalidDocumentError`. */
export function readWhole(value: unknown, path: string): number {
  const whole = wholeNumber(value);
  if (whole === null) {
    throw new InvalidDocumentError(path, `must be a whole number, not ${quote(value)}`);
  }
  return whole;
}

function readFlag(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") {
    throw new InvalidDocumentError(path, `must be true or false, not ${quote(value)}`);
  }
  return value;
}

function readTime(value: unknown, path: string): string {
  if (typeof value !== "string" || !TIME.test(value)) {
    throw new InvalidDocumentError(path, 'must be a time as "2026-11-30T07:46:02.123Z"');
  }
  return value;
}
