/** The user's model file: where it is, and how it is read (TOML or JSON, by its name). */

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { InvalidModelFileError } from "../core/errors.ts";
import type { Models } from "./models.ts";
import { readModels } from "./models.ts";

const NAMES = ["models.toml", "models.json"];

export interface ModelFileOptions {
  /** The environment. Default: this process's. */
  env?: Record<string, string | undefined>;
  /** The platform as Node names it. Default: this one. */
  platform?: string;
}

/**
 * Return the built-in models with those of the user's file laid over them.
 *
 * The file is `file`, else what TANDEM_MEMORY_MODELS names, else `models.toml` or `models.json` in
 * the platform's configuration folder, if there is one. Throws `InvalidModelFileError`.
 */
export function loadModels(
  file: string | null = null,
  { env = process.env, platform = process.platform }: ModelFileOptions = {},
): Models {
  const found = findModelFile(file, { env, platform });
  if (found === null) return readModels(null, { env });
  return readModels(parseFile(found), { file: found, env });
}

/** Return the path of the user's model file, or null where there is none. */
export function findModelFile(
  file: string | null = null,
  { env = process.env, platform = process.platform }: ModelFileOptions = {},
): string | null {
  const named = file || env.TANDEM_MEMORY_MODELS;
  if (named) return named;
  const folder = configFolder(env, platform);
  return NAMES.map((name) => join(folder, name)).find(isFile) ?? null;
}

/** Return where this platform's programs keep their settings (XDG, AppData, Library). */
function configFolder(env: Record<string, string | undefined>, platform: string): string {
  let base: string;
  if (platform === "win32") base = env.APPDATA || join(homedir(), "AppData/Roaming");
  else if (platform === "darwin") base = join(homedir(), "Library/Application Support");
  else base = env.XDG_CONFIG_HOME || join(homedir(), ".config");
  return join(base, "tandem-memory");
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function parseFile(file: string): unknown {
  let text: string;
  try {
    // The decoder refuses what is no UTF-8 and drops a byte order mark.
    text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new InvalidModelFileError(file, "", `can't be read: ${message(error)}`);
  }
  const isJson = file.endsWith(".json");
  try {
    return isJson ? JSON.parse(text) : parse(text);
  } catch (error) {
    throw new InvalidModelFileError(
      file,
      "",
      `is no ${isJson ? "JSON" : "TOML"}: ${message(error)}`,
    );
  }
}

/** Return the first line of an error's message; the TOML parser's go on with a piece of the file. */
function message(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "";
}
