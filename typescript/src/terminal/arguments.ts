/** The command line: which command, with which options. */

import { readHost } from "../chat/settings.ts";
import { quote } from "../core/errors.ts";
import { wellFormed } from "../core/values.ts";

/** The options of each command; `--help` is every command's. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "chat",
    [
      "--user",
      "--session",
      "--store",
      "--model",
      "--models",
      "--system",
      "--max-turns",
      "--summarize",
      "--host",
      "--think",
      "--no-think",
      "--show-thinking",
      "--hide-thinking",
    ],
  ],
  ["models", ["--models", "--host"]],
  ["pull", ["--models", "--host"]],
  ["sessions", ["--user", "--store"]],
  ["show", ["--user", "--session", "--turns", "--store"]],
  [
    "context",
    ["--user", "--session", "--store", "--model", "--models", "--system", "--max-turns", "--json"],
  ],
  ["export", ["--user", "--session", "--store", "--force"]],
  ["import", ["--user", "--store"]],
  ["forget", ["--user", "--session", "--store", "--yes"]],
]);

/** The field of the word that a command may have besides its options. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["export", "document"],
  ["import", "document"],
  ["pull", "model"],
]);

/** The field of each option that has a value. */
const VALUES: ReadonlyMap<string, string> = new Map([
  ["--host", "host"],
  ["--max-turns", "turns"],
  ["--model", "model"],
  ["--models", "file"],
  ["--session", "session"],
  ["--store", "store"],
  ["--system", "system"],
  ["--turns", "turns"],
  ["--user", "user"],
]);

/** The field that each other option sets, and to what. */
const SWITCHES: ReadonlyMap<string, readonly [string, boolean]> = new Map([
  ["--force", ["sure", true]],
  ["--hide-thinking", ["shown", false]],
  ["--json", ["json", true]],
  ["--no-think", ["think", false]],
  ["--show-thinking", ["shown", true]],
  ["--summarize", ["summarize", true]],
  ["--think", ["think", true]],
  ["--yes", ["sure", true]],
]);

const NAME = "at least one character long";

const ALLOWED: Record<string, string> = {
  "--host": "an address such as http://127.0.0.1:11434",
  "--max-turns": "a whole number from 0 up",
  "--session": NAME,
  "--store": NAME,
  "--turns": "a whole number from 0 up",
  "--user": NAME,
};

/** How the value of an option is read; null is one that it can't have. */
const READERS: ReadonlyMap<string, (value: string) => unknown> = new Map([
  ["--host", readHost as (value: string) => unknown],
  ["--max-turns", readWhole],
  ["--session", readName],
  ["--store", readName],
  ["--turns", readWhole],
  ["--user", readName],
]);

/**
 * A command and its options; null is an option that was not given.
 *
 * `command`: one of those that have options, `help` and `version`.
 * `topic`: of `help`, the command that it is about; `""` is the program.
 * `model`: a path in the tree of model entries, or a model's name; of `pull`, its PATH.
 * `file`: of the model entries. `turns`: `maxTurns`, or how many to show. `think`: whether the
 * model thinks, `shown`: whether its thinking is printed. `summarize`: whether it summarises what
 * is about to leave its sight.
 * `user`, `session`: their ids, `new` for a session to begin. `store`: the place of the store.
 * `document`: the FILE of an export. `sure`: whether not to ask before something is lost.
 * `json`: whether a program is to read what is printed.
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
  readonly summarize: boolean;
  readonly user: string | null;
  readonly session: string | null;
  readonly store: string | null;
  readonly document: string | null;
  readonly sure: boolean;
  readonly json: boolean;
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
  summarize: false,
  user: null,
  session: null,
  store: null,
  document: null,
  sure: false,
  json: false,
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
      const place = WORDS.get(command);
      if (place === undefined || place in fields) {
        return `${quote(word)} is one word too many; ${hint}`;
      }
      fields[place] = word;
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
  if (command === "import" && !("document" in fields)) return `import needs a FILE; ${hint}`;
  return { ...NOTHING, command, ...fields };
}

function readName(value: string): string | null {
  return value || null;
}

function readWhole(value: string): number | null {
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : null;
}
