/** Where the store is, and which kind of store that is. */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { JsonStore } from "../storage/jsonfile.ts";
import { MemoryStore } from "../storage/memory.ts";
import { SqliteStore } from "../storage/sqlite.ts";
import type { Store } from "../storage/store.ts";
import { NOWHERE } from "./history.ts";
import { RefusedError } from "./refusal.ts";

export interface PlaceOptions {
  env?: Record<string, string | undefined>;
  platform?: string;
  home?: string | null;
}

/**
 * Return the place that was asked for, else the one where this platform's programs keep data.
 *
 * That is `memory.sqlite3` in a folder of our own, in the one that the XDG base directories, Apple
 * or Microsoft name for it. `home`: the user's folder; null is the one that the system tells.
 */
export function findPlace(
  given: string | null,
  { env = process.env, platform = process.platform, home = null }: PlaceOptions = {},
): string {
  const named = given || env.TANDEM_MEMORY_STORE;
  if (named) return named;
  const user = home === null ? homedir() : home;
  if (platform === "win32") {
    const local = env.LOCALAPPDATA || `${user}\\AppData\\Local`;
    return `${local}\\tandem-memory\\memory.sqlite3`;
  }
  let base: string;
  if (platform === "darwin") {
    base = `${user}/Library/Application Support`;
  } else {
    base = env.XDG_DATA_HOME ?? "";
    // A relative path there is to be ignored (specifications.freedesktop.org/basedir-spec).
    base = base.startsWith("/") ? base : `${user}/.local/share`;
  }
  return `${base}/tandem-memory/memory.sqlite3`;
}

/**
 * Open the store: a folder is one of JSON files, all else an SQLite file.
 *
 * A folder that is made for it is its owner's alone, as the XDG base directories ask for. `make`:
 * whether there shall be one if there is none; throws `RefusedError` otherwise, and what opening a
 * store throws.
 */
export function openPlace(place: string, { make }: { make: boolean }): Store {
  const options = { newId: shortId };
  if (place === NOWHERE) return new MemoryStore(options);
  if (!make && !existsSync(place)) {
    throw new RefusedError(`there is no store at ${place}; a chat makes one`);
  }
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (/[/\\]$/.test(place) || isFolder) return new JsonStore(place, options);
  try {
    mkdirSync(dirname(place), { mode: 0o700, recursive: true });
  } catch {
    // The store says what is wrong.
  }
  return new SqliteStore(place, options);
}

/** Return an id that can be typed; among a user's sessions it need not be longer. */
function shortId(): string {
  return crypto.randomUUID().slice(0, 8);
}
