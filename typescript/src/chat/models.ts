/**
 * Models: a tree of entries by path, such as `local/chat/small`.
 *
 * A tree is made of tables. A table with a `model` is an entry, any other a group, and both hand
 * their settings down to the tables in them: so a server or a context size is said once. What is
 * built in is always there; a user's file is laid over it, table by table.
 */

import { InvalidModelFileError, quote, UnknownModelError } from "../core/errors.ts";
import type { JsonObject } from "../core/values.ts";
import { copyJson, isObject } from "../core/values.ts";
import type { ModelEntry } from "./settings.ts";
import { isSetting, makeEntry, readHost, readSetting } from "./settings.ts";

/** Qwen3 in the sizes of Ollama's library that a laptop (small) and a desktop (large) can run. */
const BUILT_IN: JsonObject = {
  local: {
    engine: "ollama",
    num_ctx: 8192,
    // A small model spends its whole answer on thinking, and a reader waits for it.
    think: false,
    chat: {
      small: { model: "qwen3:0.6b" },
      large: { model: "qwen3:4b" },
    },
    embed: { model: "qwen3-embedding:0.6b" },
  },
};

const PLAIN_GROUP = "local/chat";

/** A tree of models, checked. `host` is the server of entries that name none. */
export class Models {
  readonly #entries = new Map<string, JsonObject>();
  readonly #groups = new Map<string, JsonObject>();
  readonly #host: string;

  constructor(tree: JsonObject, { host }: { host: string }) {
    this.#host = host;
    this.#walk("", tree, {});
  }

  /** The paths of all entries, sorted. */
  get paths(): string[] {
    return [...this.#entries.keys()].sort();
  }

  /**
   * Return the entry at `path`, or throw `UnknownModelError`, which lists those there are.
   *
   * A plain model name is accepted where it has a tag (`smollm2:135m`), for no path has a `:` in
   * it: it becomes an entry with the settings of the group `local/chat`.
   */
  find(path: string): ModelEntry {
    const own = this.#entries.get(path);
    if (!own && !path.includes(":")) throw new UnknownModelError(path, this.paths);
    const settings = own ?? { ...this.#groups.get(PLAIN_GROUP), model: path };
    return makeEntry(path, settings, { host: this.#host });
  }

  #walk(path: string, table: JsonObject, inherited: JsonObject): void {
    const settings = handDown(inherited, table);
    const { model: _, ...handed } = settings;
    this.#groups.set(path, handed);
    if ("model" in table) this.#entries.set(path, settings);
    for (const [name, value] of Object.entries(table)) {
      if (!isSetting(name)) {
        this.#walk(path ? `${path}/${name}` : name, value as JsonObject, handed);
      }
    }
  }
}

/**
 * Return the built-in tree with `document` laid over it; null is nothing.
 *
 * `file` is what errors name; `env` holds OLLAMA_HOST. Throws `InvalidModelFileError`.
 */
export function readModels(
  document: unknown = null,
  {
    file = "the model document",
    env = process.env,
  }: { file?: string; env?: Record<string, string | undefined> } = {},
): Models {
  const built = copyJson(BUILT_IN);
  const tree = document === null ? built : layOver(built, readTable(file, "", document));
  const value = env.OLLAMA_HOST ?? "";
  const host = readHost(value);
  if (host === null) {
    const hint = `is ${quote(value)}; it must be an address such as http://127.0.0.1:11434`;
    throw new InvalidModelFileError("the environment", "OLLAMA_HOST", hint);
  }
  return new Models(tree, { host });
}

/** Return a table as it was checked, with all tables in it. */
function readTable(file: string, path: string, value: unknown): JsonObject {
  if (!isObject(value)) {
    throw new InvalidModelFileError(file, path, `must be a table, not ${quote(value)}`);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (isSetting(name) || !isObject(item)) {
        return [name, readSetting(file, path, name, item)];
      }
      const where = path ? `${path}/${name}` : name;
      if (!name || /[/:]/.test(name)) {
        throw new InvalidModelFileError(file, where, "is a name with '/' or ':' in it, or none");
      }
      return [name, readTable(file, where, item)];
    }),
  );
}

/** Return `below` with the values of `above`; tables that both have are joined. */
function layOver(below: JsonObject, above: JsonObject): JsonObject {
  const joined = new Map(Object.entries(below));
  for (const [name, value] of Object.entries(above)) {
    const under = joined.get(name);
    joined.set(name, isObject(under) && isObject(value) ? layOver(under, value) : value);
  }
  return Object.fromEntries(joined);
}

/** Return the settings that hold in `table`; `options` are handed down one by one. */
function handDown(inherited: JsonObject, table: JsonObject): JsonObject {
  const own = Object.entries(table).filter(([name]) => isSetting(name));
  return layOver(inherited, Object.fromEntries(own));
}
