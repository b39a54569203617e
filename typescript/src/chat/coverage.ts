/**
 * Coverage: which turns are to be summarised next, and when a summary is put in.
 *
 * A summary is made beforehand, of the turns that the next trim is to drop, and put in together
 * with that trim: so nobody waits for it, and the prompt's front changes once.
 */

import type { ExplainedPart } from "../core/explanation.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import { MOST_TURNS } from "./backlog.ts";
import { hasSteps, makeRoom } from "./room.ts";

/**
 * How far a conversation is summarised; it is never changed, but replaced.
 *
 * The memory's summary tells of the conversation's first turns, up to its number of `turns`. What
 * waits for the next one are the turns behind these: those that have left, then those that are
 * about to leave.
 *
 * `backlog`: the newest of the turns that left and are not told, oldest first.
 * `loose`: the steps that have left the window's oldest turn while it was its only one.
 * `text`: the next summary, null where there is none. `until`: the number of the last turn that it
 *     tells of, counted from the conversation's first.
 */
export class Coverage {
  readonly backlog: readonly (readonly Message[])[];
  readonly loose: readonly Message[];
  readonly text: string | null;
  readonly until: number;

  constructor(
    backlog: readonly (readonly Message[])[] = [],
    loose: readonly Message[] = [],
    text: string | null = null,
    until = 0,
  ) {
    this.backlog = backlog;
    this.loose = loose;
    this.text = text;
    this.until = until;
  }

  /** Go on without the turns, and the steps, that `parts` says have left. */
  without(parts: readonly ExplainedPart[]): Coverage {
    let loose = this.loose;
    const backlog = [...this.backlog];
    for (const { part, kept, summarised, messages } of parts) {
      if (part === "steps") {
        loose = [...loose, ...messages];
      } else if (!kept) {
        if (!summarised) backlog.push(withSteps(messages, loose));
        loose = [];
      }
    }
    return new Coverage(backlog.slice(-MOST_TURNS), loose, this.text, this.until);
  }

  /**
   * Go on after an add to `memory` that `dropped` these; returns all that left by it.
   *
   * Once a turn of the next summary has left, that is put in. More turns leave where it needs their
   * room; the newest one stays whole, or the summary waits.
   */
  follow(memory: MemoryManager, dropped: Message[]): [coverage: Coverage, dropped: Message[]] {
    const parts = dropped.length > 0 ? memory.explain().parts : [];
    const after = this.without(parts);
    if (after.text === null || after.backlog.length === 0 || hasSteps(parts)) {
      return [after, dropped];
    }
    const summary = { text: after.text, turns: after.until };
    const leftBefore = memory.droppedTurns;
    const left = makeRoom(memory, () => {
      memory.summary = summary;
    });
    if (left === null) return [after, dropped];
    const told = Math.max(after.until - leftBefore + after.backlog.length, 0);
    const covering = new Coverage(after.backlog.slice(told), after.loose);
    const moved = left.length > 0 ? memory.explain().parts : [];
    return [covering.without(moved), [...dropped, ...left]];
  }

  /** Go on after an undo, which left `memory`: the next summary may tell of what is undone. */
  undone(memory: MemoryManager): Coverage {
    return new Coverage(this.backlog, memory.snapshot().messages.length > 0 ? this.loose : []);
  }

  /**
   * Return the turns that the next summary is to tell of, and the number of the last.
   *
   * There are none while there is a next summary.
   */
  waiting(memory: MemoryManager): [turns: (readonly Message[])[], until: number] {
    const { summary, droppedTurns } = memory;
    const told = Math.max((summary?.turns ?? 0) - droppedTurns, 0);
    const leaving = memory.leaving().map((turn, i) => withSteps(turn, i === 0 ? this.loose : []));
    const ahead = leaving.slice(told);
    const turns = [...this.backlog, ...ahead];
    const until = droppedTurns + (ahead.length > 0 ? leaving.length : 0);
    return [this.text === null ? turns : [], until];
  }
}

/** Return a turn with the steps that had left it back behind its question. */
function withSteps(turn: readonly Message[], steps: readonly Message[]): Message[] {
  const first = turn[0]?.role === "user" ? 1 : 0;
  return [...turn.slice(0, first), ...steps, ...turn.slice(first)];
}
