/** Lines of a chat: which is a message, which a command. */

import { quote } from "../core/errors.ts";

// White space at a line's ends says nothing; neither does the mark that Windows puts before a file.
const BLANK = /^[ \t\r\n\u3000\ufeff]+|[ \t\r\n\u3000\ufeff]+$/g;

/** What each command takes after it. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ["bye", ""],
  ["clear", ""],
  ["context", ""],
  ["export", "[FILE]"],
  ["forget", "[yes]"],
  ["help", ""],
  ["history", "[N]"],
  ["model", "[PATH]"],
  ["new", "[ID]"],
  ["retry", ""],
  ["sessions", ""],
  ["think", "on|off"],
  ["undo", ""],
]);

/** What some of that may be, and the words for it. */
const CHECKS: ReadonlyMap<string, readonly [RegExp, string]> = new Map([
  ["[N]", [/^[0-9]{1,9}$/, "a whole number from 0 up"]],
  ["[yes]", [/^yes$/, "yes, or nothing"]],
  ["on|off", [/^(?:on|off)$/, "on or off"]],
]);

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["?", "help"],
  ["exit", "bye"],
  ["quit", "bye"],
]);

/**
 * What a line is.
 *
 * `kind` is `blank`, `message` (`text` is what to send), `command` (`text` is its name, `argument`
 * what follows, or `""`) or `problem` (`text` says what is wrong with the command).
 */
export interface Entry {
  readonly kind: "blank" | "message" | "command" | "problem";
  readonly text: string;
  readonly argument: string;
}

/** Tell what a line is. Pasted text of several lines is a message, whatever it begins with. */
export function parseLine(line: string): Entry {
  const text = line.replace(BLANK, "");
  if (!text) return entry("blank");
  if (text[0] !== "/" || text.includes("\n")) return entry("message", text);
  if (text.startsWith("//")) return entry("message", text.slice(1));
  const [word = "", ...rest] = text.slice(1).replaceAll("\t", " ").split(" ");
  return parseCommand(word, rest.join(" ").replace(BLANK, ""));
}

function parseCommand(word: string, argument: string): Entry {
  const name = ALIASES.get(word.toLowerCase()) ?? word.toLowerCase();
  const takes = COMMANDS.get(name);
  if (takes === undefined) {
    const hint = `no command ${quote(`/${word}`)}; /help lists them, // sends a line with a slash`;
    return entry("problem", hint);
  }
  if (argument && !takes) {
    return entry("problem", `/${name} takes nothing after it, not ${quote(argument)}`);
  }
  const check = CHECKS.get(takes);
  if (argument && check && !check[0].test(argument)) {
    return entry("problem", `/${name} is ${quote(argument)}; it must be ${check[1]}`);
  }
  return entry("command", name, argument);
}

function entry(kind: Entry["kind"], text = "", argument = ""): Entry {
  return { kind, text, argument };
}
