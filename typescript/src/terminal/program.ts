/** The program: a command with its options, run to its exit code. */

import { readFileSync } from "node:fs";
import { OllamaEngine } from "../chat/engine.ts";
import { ServerUnreachableError, TandemError } from "../core/errors.ts";
import { Archive } from "./archive.ts";
import type { Arguments } from "./arguments.ts";
import { parseArguments } from "./arguments.ts";
import { showContext } from "./context.ts";
import { Current } from "./current.ts";
import { Interrupts, unlessStopped } from "./interrupts.ts";
import type { Keyboard } from "./keyboard.ts";
import { PipedLines, TypedLines } from "./keyboard.ts";
import { renderModels } from "./listing.ts";
import { findPlace, openPlace } from "./place.ts";
import { pullModel } from "./pull.ts";
import { Screen } from "./screen.ts";
import { Setup } from "./setup.ts";
import { Talk } from "./talk.ts";
import { HELP, HINTS } from "./texts.ts";
import { DEFAULT_USER, keepUp, UPKEEP } from "./upkeep.ts";

/** The exit code of a command that failed. */
const FAILED = 1;

/** The exit code where the command line can't be followed. */
const WRONG = 2;

/** What a shell says of a program that Ctrl-C has ended. */
const STOPPED = 130;

/** Do what the words of the command line ask for; returns the exit code. */
export async function runProgram(words: readonly string[]): Promise<number> {
  const screen = new Screen(process.stdout, process.stderr);
  const args = parseArguments(words);
  if (typeof args === "string") {
    screen.error(args);
    return WRONG;
  }
  if (args.command === "help") {
    screen.write(HELP[args.topic] ?? "");
    return 0;
  }
  if (args.command === "version") {
    screen.write(`tandem-memory ${version()}\n`);
    return 0;
  }
  let status = WRONG;
  try {
    const work = prepare(args, screen);
    status = FAILED;
    return await work();
  } catch (error) {
    if (!(error instanceof TandemError)) throw error;
    screen.error(error.message);
    return status;
  }
}

/** Return what the command does; throws what is wrong with its options. */
function prepare(args: Arguments, screen: Screen): () => Promise<number> {
  const keyboard = openKeyboard(screen);
  const interrupts = new Interrupts(() => screen.remark(HINTS.leave));
  const stoppable = (work: (signal: AbortSignal) => Promise<void>) => async () =>
    (await interrupts.run(work)) ? 0 : STOPPED;
  if (UPKEEP.includes(args.command)) {
    return stoppable((signal) => unlessStopped(keepUp(args, screen, keyboard), signal));
  }
  const setup = new Setup(args);
  const engine = new OllamaEngine(setup.find(args.model));
  if (args.command === "models") {
    return stoppable((signal) => unlessStopped(listModels(setup, screen), signal));
  }
  if (args.command === "pull") {
    return stoppable((signal) => pullModel(engine, screen, { signal }));
  }
  if (args.command === "context") {
    return stoppable((signal) =>
      unlessStopped(showContext(args, setup, engine, screen, keyboard), signal),
    );
  }
  const shown = args.shown ?? keyboard.interactive;
  return async () => {
    const place = findPlace(args.store);
    const store = openPlace(place, { make: true });
    try {
      const archive = new Archive(store, args.user ?? DEFAULT_USER, screen, keyboard);
      const { session: wish } = args;
      const current = await Current.open(setup, archive, engine, { place, wish });
      const talk = new Talk(setup, current, archive, { keyboard, screen, interrupts, shown });
      try {
        return await talk.run();
      } finally {
        await current.chat.close();
      }
    } finally {
      await store.close();
    }
  };
}

/** Print the model entries; throws the error of a server that does not answer, at the end. */
async function listModels(setup: Setup, screen: Screen): Promise<void> {
  const installed = new Map<string, string[] | null>();
  let problem: ServerUnreachableError | null = null;
  for (const entry of setup.entries) {
    if (installed.has(entry.host)) continue;
    try {
      installed.set(entry.host, await new OllamaEngine(entry).models());
    } catch (error) {
      if (!(error instanceof ServerUnreachableError)) throw error;
      installed.set(entry.host, null);
      problem = error;
    }
  }
  screen.write(renderModels(setup.entries, installed));
  if (problem) throw problem;
}

/** Return where lines come from: a keyboard, where both ends are a terminal. */
function openKeyboard(screen: Screen): Keyboard {
  const { stdin, stdout } = process;
  return stdin.isTTY && stdout.isTTY ? new TypedLines(screen) : new PipedLines(stdin);
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
