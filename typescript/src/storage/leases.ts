/**
 * Leases: who alone may write to a session, and what becomes of a turn whose writer is gone.
 *
 * Rules as those in `rules` are: pure functions from a session's state to a change.
 */

import type { Change, State, TurnRow } from "./rules.ts";
import { requireSession, requireWritable, touch, withStatus } from "./rules.ts";

/**
 * Make `holder` the session's one writer for so long, or prolong that.
 *
 * A turn that another holder left pending has failed. Throws `SessionBusyError` while another
 * holder's lease runs.
 */
export function takeLease(
  state: State,
  { holder, milliseconds, now }: { holder: string; milliseconds: number; now: number },
): Change {
  const leaseIsOwn = state.lease?.holder === holder;
  const session = requireWritable(state, { holder: leaseIsOwn ? holder : null, now });
  const lease = { holder, until: now + milliseconds };
  if (leaseIsOwn || !isPending(state)) return { session, lease };
  return { session: touch(state, session, {}, now), lease, turns: failedTurns(state) };
}

/** End the holder's lease; one that it has not is left alone. */
export function releaseLease(state: State, { holder }: { holder: string }): Change {
  const session = requireSession(state);
  return { session, lease: state.lease?.holder === holder ? null : state.lease };
}

/** Make a deserted turn failed; where somebody took it up meanwhile, nothing changes. */
export function failPending(state: State, { now }: { now: number }): Change {
  const session = requireSession(state);
  if (!isDeserted(state, now)) return { session, lease: state.lease };
  return { session: touch(state, session, {}, now), lease: null, turns: failedTurns(state) };
}

/** Whether the newest turn waits for an answer that nobody is getting: its process died. */
export function isDeserted(state: State, now: number): boolean {
  return isPending(state) && (state.lease === null || state.lease.until <= now);
}

function isPending({ last }: State): boolean {
  return last !== null && !last.removed && last.status === "pending";
}

function failedTurns({ last }: State): TurnRow[] {
  return last ? [withStatus(last, "failed")] : [];
}
