/** The command line: which command, with which options. */

import { readHost } from "../chat/settings.ts";
import { quote } from "../core/errors.ts";
import { wellFormed } from "../core/values.ts";

/** The options of each command; `--help` is every command's. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "chat",
    [
      "--model",
      "--models",
      "--system",
      "--max-turns",
      "--host",
      "--think",
      "--no-think",
      "--show-thinking",
      "--hide-thinking",
    ],
  ],
  ["models", ["--models", "--host"]],
  ["pull", ["--models", "--host"]],
]);

/** The field of each option that has a value. */
const VALUES: ReadonlyMap<string, string> = new Map([
  ["--host", "host"],
  ["--max-turns", "turns"],
  ["--model", "model"],
  ["--models", "file"],
  ["--system", "system"],
]);

/** The field that each other option sets, and to what. */
const SWITCHES: ReadonlyMap<string, readonly [string, boolean]> = new Map([
  ["--hide-thinking", ["shown", false]],
  ["--no-think", ["think", false]],
  ["--show-thinking", ["shown", true]],
  ["--think", ["think", true]],
]);

const ALLOWED: Record<string, string> = {
  "--host": "an address such as http://127.0.0.1:11434",
  "--max-turns": "a whole number from 0 up",
};

/** How the value of an option is read; null is one that it can't have. */
const READERS: ReadonlyMap<string, (value: string) => unknown> = new Map([
  ["--host", readHost as (value: string) => unknown],
  ["--max-turns", readWhole],
]);

/**
 * A command and its options; null is an option that was not given.
 *
 * `command`: one of `chat`, `models`, `pull`, `help` and `version`.
 * `topic`: of `help`, the command that it is about; `""` is the program.
 * `model`: a path in the tree of model entries, or a model's name; of `pull`, its PATH.
 * `file`: of the model entries. `turns`: `maxTurns`. `think`: whether the model thinks,
 * `shown`: whether its thinking is printed.
 */
export interface Arguments {
  readonly command: string;
  readonly topic: string;
  readonly model: string | null;
  readonly file: string | null;
  readonly system: string | null;
  readonly turns: number | null;
  readonly host: string | null;
  readonly think: boolean | null;
  readonly shown: boolean | null;
}

const NOTHING: Arguments = {
  command: "",
  topic: "",
  model: null,
  file: null,
  system: null,
  turns: null,
  host: null,
  think: null,
  shown: null,
};

/** Return what the words of the command line ask for, or one line that says what is wrong. */
export function parseArguments(words: readonly string[]): Arguments | string {
  const [first = "--help", ...rest] = words.map(wellFormed);
  if (first === "--version") return { ...NOTHING, command: "version" };
  if (first === "--help" || first === "-h" || first === "help") {
    const [about = ""] = first === "help" ? rest : [];
    return { ...NOTHING, command: "help", topic: OPTIONS.has(about) ? about : "" };
  }
  const options = OPTIONS.get(first);
  if (!options) {
    const kind = first.startsWith("-") ? "option" : "command";
    return `no ${kind} ${quote(first)}; \`tandem-memory --help\` lists what there is`;
  }
  return parseOptions(first, options, rest);
}

function parseOptions(
  command: string,
  options: readonly string[],
  words: readonly string[],
): Arguments | string {
  const hint = `\`tandem-memory ${command} --help\` lists what there is`;
  const fields: Record<string, unknown> = {};
  if (words.includes("--help") || words.includes("-h")) {
    return { ...NOTHING, command: "help", topic: command };
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    let value = equals < 0 ? undefined : word.slice(equals + 1);
    const field = VALUES.get(name) ?? "";
    const set = SWITCHES.get(name);
    if (!word.startsWith("-")) {
      if (command !== "pull" || "model" in fields) {
        return `${quote(word)} is one word too many; ${hint}`;
      }
      fields.model = word;
    } else if (!options.includes(name)) {
      return `${command} has no option ${quote(name)}; ${hint}`;
    } else if (set) {
      if (value !== undefined) return `${name} takes no value, not ${quote(value)}`;
      fields[set[0]] = set[1];
    } else {
      // A word that looks like an option is one that was forgotten to be given its value.
      if (value === undefined && !words[i + 1]?.startsWith("--")) value = words[++i];
      if (value === undefined) return `${name} needs a value; ${hint}`;
      const read = READERS.has(name) ? READERS.get(name)?.(value) : value;
      if (read === null) return `${name} is ${quote(value)}; it must be ${ALLOWED[name]}`;
      fields[field] = read;
    }
  }
  return { ...NOTHING, command, ...fields };
}

function readWhole(value: string): number | null {
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : null;
}
