/** What is stored, as text: the list of sessions, and the turns of one. */

import type { Message } from "../core/messages.ts";
import { canonicalJson } from "../core/values.ts";
import type { Session, StoredTurn } from "../storage/records.ts";
import { count } from "./texts.ts";
import { clip, oneLine, pad, visible, width } from "./width.ts";

/** The place of a store that ends with the program. */
export const NOWHERE = "none";

type Row = readonly [string, string, string, string];

/** The columns that a session's id has at most. */
const ID = 40;

/** The columns that a title has at least, however narrow the terminal is. */
const TEXT = 16;

const STATES: Record<string, string> = {
  pending: "  awaits its answer",
  failed: "  failed",
  interrupted: "  interrupted",
};

/** Return the list of sessions for a terminal of so many columns; a star marks `current`. */
export function renderSessions(
  sessions: readonly Session[],
  titles: readonly string[],
  columns: number,
  current: string | null = null,
): string {
  const rows: Row[] = [["  ", "session", "used last (UTC)", "begins"]];
  for (const [i, session] of sessions.entries()) {
    const mark = session.session_id === current ? "* " : "  ";
    const name = clip(oneLine(session.session_id), ID);
    rows.push([mark, name, minute(session.updated_at), titles[i] ?? ""]);
  }
  const widest = Math.max(...rows.map(([, name]) => width(name)));
  const room = Math.max(TEXT, columns - widest - 24);
  const lines = rows.map(([mark, name, used, title]) =>
    `${mark}${pad(name, widest)}  ${pad(used, 16)}  ${clip(title, room)}`.replace(/ +$/, ""),
  );
  return `${lines.join("\n")}\n`;
}

/** Return what a session that begins with `turn` is called: the user's first words in it. */
export function turnTitle(turn: StoredTurn): string {
  return oneLine(turnQuestion(turn) || firstWords(turn));
}

/** Return what the user said in a turn, or `""`. */
export function turnQuestion(turn: StoredTurn): string {
  const messages = turn.messages.map((stored) => stored.message);
  return messages.find((message) => message.role === "user")?.content ?? "";
}

/** Return the line that says which session is entered; without a title, it begins. */
export function renderOpening(sessionId: string, title: string, place: string): string {
  const kept = place === NOWHERE ? "it ends with the program" : `it is kept in ${place}`;
  const state = title ? `goes on (“${clip(title, ID)}”)` : "begins";
  return `Session ${clip(oneLine(sessionId), ID)} ${state}; ${kept}.`;
}

/** Return the turns as they were spoken, with an empty line behind each. */
export function renderHistory(turns: readonly StoredTurn[]): string {
  return turns.map((turn) => `${renderTurn(turn)}\n`).join("");
}

function renderTurn(turn: StoredTurn): string {
  const head = `[${turn.turn}]  ${minute(turn.created_at)} UTC${STATES[turn.status] ?? ""}`;
  const lines = turn.messages.flatMap((stored) => messageLines(stored.message));
  return `${visible([head, ...lines].join("\n"))}\n`;
}

function messageLines(message: Message): string[] {
  const text = message.content.replace(/^[\n ]+|[\n ]+$/g, "");
  const lines = message.content ? text.split("\n") : [];
  if (message.role === "tool") {
    return [`(${message.tool_name ?? "tool"}: ${oneLine(message.content)})`];
  }
  if (message.role === "user") {
    const images = message.images ?? [];
    if (images.length > 0) lines.push(`(${count(images.length, "image")})`);
    return lines.map((line, i) => (i ? "  " : "> ") + line);
  }
  const calls = (message.tool_calls ?? []).map((call) => call.function);
  return [
    ...lines,
    ...calls.map((call) => `(calls ${call.name} ${canonicalJson(call.arguments)})`),
  ];
}

function firstWords(turn: StoredTurn): string {
  return turn.messages[0]?.message.content ?? "";
}

function minute(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}
