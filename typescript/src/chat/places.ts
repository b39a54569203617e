/** Places: which stored message each message of a window is, so that the window can be stored. */

import type { ExplainedPart } from "../core/explanation.ts";
import type { Message } from "../core/messages.ts";
import type { Turn } from "../core/turns.ts";
import { appendMessage, arrivingMessages } from "../core/turns.ts";
import type { StoredMessage } from "../storage/records.ts";

/** The sequence number of each message of a window; null for one that the manager made. */
export type Places = (number | null)[];

/** Return the places of what these rows make when a manager restores them. */
export function readPlaces(rows: readonly StoredMessage[]): Places {
  const places: Places = [];
  const turns: Turn[] = [];
  for (const { seq, message } of rows) {
    const arriving = arrivingMessages(turns.at(-1), message);
    for (const each of arriving) appendMessage(turns, each, 0);
    places.push(...Array<null>(arriving.length - 1).fill(null), seq);
  }
  return places;
}

/**
 * Return the places of a window that had `places`, after messages have come and gone.
 *
 * `arrived`: the numbers of the new ones. `dropped`: all that left. `parts`: what `explain` tells of
 * the window. `question`: the number of the newest question.
 */
export function followWindow(
  places: Places,
  arrived: readonly number[],
  dropped: readonly Message[],
  parts: readonly ExplainedPart[],
  question: number | null,
): Places {
  const turns = parts.filter((part) => part.kept).map(({ messages }) => messages);
  const kept = turns.flat().length;
  const made = kept + dropped.length - places.length - arrived.length;
  const every = [...places, ...Array<null>(Math.max(made, 0)).fill(null), ...arrived];
  const rest = every.slice(every.length - kept);
  // What left was in front, but for steps: these leave the newest turn, once that is alone, from
  // behind its question, if it has one.
  if (turns.length === 1 && turns[0]?.[0]?.role === "user") rest[0] = question;
  return rest;
}

/** Return the number of the newest question among `messages`, which have these `places`. */
export function newestQuestion(places: Places, messages: readonly Message[]): number | null {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return places[asked] ?? null;
}

/** Return the highest number, 0 where there is none. */
export function lastPlace(places: Places): number {
  return places.reduce<number>((last, place) => Math.max(last, place ?? 0), 0);
}
