/**
 * The backlog of a stored conversation: turns that left its window without being summarised.
 *
 * A summary is stored with how many turns had left by then, where it does not tell of just these.
 * So a process that takes the conversation over knows which turns are missing from it.
 */

import type { Message } from "../core/messages.ts";
import { wholeNumber } from "../core/values.ts";
import type { Session, StoredTurn } from "../storage/records.ts";
import type { Store } from "../storage/store.ts";

/** How many turns may wait for a summary; older ones count as told, and stay in the store alone. */
export const MOST_TURNS = 64;

/**
 * Return the newest `limit` turns that left unsummarised, and how many have left in all.
 *
 * The turns come oldest first. Without a summary only those count that are found.
 */
export async function findWaiting(
  store: Store,
  session: Session,
  limit: number,
): Promise<[waiting: Message[][], droppedTurns: number]> {
  const { summary } = session;
  if (summary === null) {
    const waiting = await newestLeft(store, session, limit);
    return [waiting, waiting.length];
  }
  const told = wholeNumber(summary.turns) ?? 0;
  const droppedTurns = wholeNumber(summary.dropped_turns ?? told) ?? 0;
  const most = Math.min(limit, Math.max(droppedTurns - told, 0));
  return [await newestLeft(store, session, most), droppedTurns];
}

/** Return the newest turns that were in the window and have left it, oldest first. */
async function newestLeft(store: Store, session: Session, limit: number): Promise<Message[][]> {
  const { user_id, session_id, window, last_seq } = session;
  const start = window[0]?.[0] ?? last_seq + 1;
  const found: Message[][] = [];
  // What belongs to an older turn: one that went on after another question had failed is several.
  let rest: Message[] = [];
  let before: number | null = null;
  while (found.length < limit) {
    const page = await store.history(user_id, session_id, limit, { before });
    if (page[0] === undefined) break;
    before = page[0].turn;
    for (const turn of page.reverse()) {
      const rows = turn.messages.filter(({ seq }) => seq < start);
      if (rows.length > 0 && wasKept(turn)) {
        rest = [...rows.map(({ message }) => message), ...rest];
        if (rest[0]?.role === "user") {
          found.push(rest);
          rest = [];
        }
      }
    }
  }
  if (rest.length > 0) found.push(rest);
  return found.slice(0, limit).reverse();
}

/**
 * Return whether a turn was in the window: not where its question failed.
 *
 * One that failed later, after a tool's result, was.
 */
function wasKept({ status, messages }: StoredTurn): boolean {
  const hasResults = messages.some(({ message }) => message.role === "tool");
  return status === "complete" || status === "interrupted" || hasResults;
}
