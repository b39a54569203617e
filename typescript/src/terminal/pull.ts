/** Pulls, and how far they are. */

import type { Engine, PullProgress } from "../chat/engine.ts";
import type { Screen } from "./screen.ts";
import { bar } from "./table.ts";

/** Fetch the engine's model, and show how far that is. */
export async function pullModel(
  engine: Engine,
  screen: Screen,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  try {
    for await (const progress of engine.pull({ signal })) {
      screen.progress(...renderProgress(engine.entry.model, progress));
    }
  } finally {
    screen.progressEnd();
  }
}

/** Return how far a pull is, as a bar and as a line that changes by tens of a percent. */
export function renderProgress(model: string, progress: PullProgress): [string, string] {
  const said = `${model}: ${progress.status}`;
  if (!progress.total) return [said, said];
  const done = Math.min(progress.completed ?? 0, progress.total);
  const [some, all] = [megabytes(done), megabytes(progress.total)];
  const tens = Math.floor((10 * done) / progress.total) * 10;
  return [`${said} ${bar(done, progress.total)}  ${some} of ${all} MB`, `${said} ${tens} %`];
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_000_000);
}
