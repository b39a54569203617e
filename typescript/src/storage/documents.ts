/**
 * A session held whole: in memory, or read from a JSON document and written back as one.
 *
 * The published form of the document is `shared-fixtures/schema/export.schema.json`.
 */

import type { Message } from "../core/messages.ts";
import type { JsonObject } from "../core/values.ts";
import { copyJson } from "../core/values.ts";
import type { Ranges, Session, Status, StoredMessage, StoredTurn } from "./records.ts";
import { endOf } from "./records.ts";
import type { Change, Lease, State, TurnRow } from "./rules.ts";

/** A message with all that is stored beside it. */
export interface MessageDocument {
  seq: number;
  removed: boolean;
  created_at: string;
  message: Message;
}

/** A turn with all its messages, removed ones too, by their sequence numbers. */
export interface TurnDocument {
  turn: number;
  status: Status;
  removed: boolean;
  created_at: string;
  messages: MessageDocument[];
}

/** A session with all its turns, by their numbers. */
export interface SessionDocument {
  session_id: string;
  system_prompt: string | null;
  summary: JsonObject | null;
  window: Ranges;
  last_seq: number;
  last_turn: number;
  created_at: string;
  updated_at: string;
  turns: TurnDocument[];
}

/** A session's row and lease with all its turns; what `applyChange` writes on. */
export interface Sheet {
  session: Session;
  turns: TurnDocument[];
  lease: Lease | null;
}

/** Return the document of a sheet; it holds the sheet's values, not copies. */
export function writeSheet(sheet: Sheet): SessionDocument {
  const { session, turns } = sheet;
  return {
    session_id: session.session_id,
    system_prompt: session.system_prompt,
    summary: session.summary,
    window: session.window,
    last_seq: session.last_seq,
    last_turn: session.last_turn,
    created_at: session.created_at,
    updated_at: session.updated_at,
    turns,
  };
}

/** Return a document's sheet; it holds the document's values, not copies. */
export function readSheet(document: SessionDocument, userId: string, revision: number): Sheet {
  const session: Session = {
    user_id: userId,
    session_id: document.session_id,
    system_prompt: document.system_prompt,
    summary: document.summary,
    window: document.window,
    last_seq: document.last_seq,
    last_turn: document.last_turn,
    revision,
    created_at: document.created_at,
    updated_at: document.updated_at,
  };
  return { session, turns: document.turns, lease: null };
}

/** Return what a rule reads of a sheet; `revision` is the user's next one. */
export function sheetState(sheet: Sheet, revision: number): State {
  const { session, lease } = sheet;
  const newest = sheet.turns.at(-1);
  const end = endOf(session.window);
  const last = [...newestFirst(sheet, end)].find((turn) => firstSeq(turn) <= end);
  return {
    userId: session.user_id,
    sessionId: session.session_id,
    revision,
    session: copyJson(session),
    lease,
    last: newest ? turnRow(newest) : null,
    windowLast: last ? turnRow(last) : null,
  };
}

/** Return copies of the window's messages, oldest first; nothing older is looked at. */
export function sheetWindow(sheet: Sheet): StoredMessage[] {
  const { window } = sheet.session;
  const start = window[0]?.[0];
  if (start === undefined) return [];
  return [...newestFirst(sheet, start)]
    .reverse()
    .flatMap((turn) => turn.messages)
    .filter(({ seq, removed }) => !removed && isWithin(window, seq))
    .map(storedMessage);
}

/** Return copies of the newest turns that were not removed, oldest first. */
export function sheetTurns(
  sheet: Sheet,
  limit: number | null,
  before: number | null,
): StoredTurn[] {
  const found: StoredTurn[] = [];
  for (const turn of newestFirst(sheet, 0)) {
    if (found.length === limit) break;
    if (!turn.removed && (before === null || turn.turn < before)) found.push(storedTurn(turn));
  }
  return found.reverse();
}

/** Write a change on the sheet. */
export function applyChange(sheet: Sheet, change: Change): void {
  const { turns = [], messages = [], removeTurns, removeMessages } = change;
  sheet.session = change.session;
  sheet.lease = change.lease;
  if (removeTurns !== undefined) {
    for (const turn of sheet.turns) turn.removed ||= turn.turn >= removeTurns;
  }
  if (removeMessages !== undefined) {
    for (const turn of newestFirst(sheet, removeMessages)) {
      for (const message of turn.messages) message.removed ||= message.seq >= removeMessages;
    }
  }
  for (const row of turns) {
    const turn = findTurn(sheet, row.turn);
    if (turn) turn.status = row.status;
    else sheet.turns.push(newTurn(row));
  }
  for (const [number, stored] of messages) {
    findTurn(sheet, number)?.messages.push({ ...stored, removed: false });
  }
}

function isWithin(ranges: Ranges, seq: number): boolean {
  return ranges.some(([first, last]) => first <= seq && seq <= last);
}

function firstSeq(turn: TurnDocument): number {
  return turn.messages[0]?.seq ?? 0;
}

/** Give the turns, the newest first, down to the one that holds `seq`. */
function* newestFirst({ turns }: Sheet, seq: number): Generator<TurnDocument, undefined> {
  for (let i = turns.length - 1; i >= 0; i -= 1) {
    const turn = turns[i];
    if (turn) yield turn;
    if (turn && firstSeq(turn) <= seq) break;
  }
}

/** Return the turn of this number; it is one of the newest or there is none. */
function findTurn({ turns }: Sheet, number: number): TurnDocument | undefined {
  let i = turns.length - 1;
  while ((turns[i]?.turn ?? 0) > number) i -= 1;
  return turns[i]?.turn === number ? turns[i] : undefined;
}

function newTurn({ turn, status, removed, created_at }: TurnRow): TurnDocument {
  return { turn, status, removed, created_at, messages: [] };
}

/** Return a turn without its messages. */
export function turnRow(turn: TurnDocument): TurnRow {
  const { turn: number, status, removed, created_at } = turn;
  const last_seq = turn.messages.at(-1)?.seq ?? 0;
  return { turn: number, status, removed, first_seq: firstSeq(turn), last_seq, created_at };
}

function storedTurn({ turn, status, created_at, messages }: TurnDocument): StoredTurn {
  const kept = messages.filter((message) => !message.removed);
  return { turn, status, created_at, messages: kept.map(storedMessage) };
}

function storedMessage({ seq, created_at, message }: MessageDocument): StoredMessage {
  return { seq, created_at, message: copyJson(message) };
}
