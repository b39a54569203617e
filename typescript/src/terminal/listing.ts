/** The model entries as a list. */

import type { ModelEntry } from "../chat/settings.ts";
import { pad, width } from "./width.ts";

/**
 * Return the list of `tandem-memory models`, server by server.
 *
 * `installed` holds the names of the models on each server, null where it does not answer.
 */
export function renderModels(
  entries: readonly ModelEntry[],
  installed: ReadonlyMap<string, readonly string[] | null>,
): string {
  const paths = Math.max(0, ...entries.map((entry) => width(entry.path)));
  const models = Math.max(0, ...entries.map((entry) => width(entry.model)));
  let text = "";
  for (const [host, names] of installed) {
    text += `${host}${names === null ? " (does not answer)" : ""}\n`;
    const there = entries.filter((entry) => entry.host === host);
    for (const entry of there) {
      const line = `  ${pad(entry.path, paths)}  ${pad(entry.model, models)}`;
      text += `${`${line}  ${state(entry, names)}`.replace(/ +$/, "")}\n`;
    }
    const others = (names ?? []).filter(
      (name) => !there.some(({ model }) => sameModel(name, model)),
    );
    if (others.length > 0) text += `  also there: ${others.join(", ")}\n`;
  }
  return text;
}

function state(entry: ModelEntry, names: readonly string[] | null): string {
  if (names === null) return "";
  if (names.some((name) => sameModel(name, entry.model))) return "installed";
  return `not installed; tandem-memory pull ${entry.path}`;
}

/** Compare as Ollama does, for which a name without a tag means `latest`. */
function sameModel(name: string, model: string): boolean {
  return name === model || name === `${model}:latest`;
}
