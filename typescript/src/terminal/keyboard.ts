/** Where lines come from: an editor in a terminal, plain lines from a pipe. */

import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import type { Screen } from "./screen.ts";
import { HINTS, PROMPT } from "./texts.ts";
import { isText, PASTE_OFF, PASTE_ON, pastedText, TypedAhead } from "./typing.ts";

/** Where a chat's lines come from. */
export interface Keyboard {
  readonly interactive: boolean;

  /** Return the next line, or null at the end. */
  read(): Promise<string | null>;

  /** Ask a question; `enter` is the answer of Enter alone. Where nobody is there, it is no. */
  confirm(question: string, options: { enter: boolean }): Promise<boolean>;
}

type Edited = { readonly line: string } | "interrupted" | "ended";

/**
 * Lines typed in a terminal, with an editor that knows wide characters, and a history.
 *
 * Ctrl-C throws the line away, or on an empty one says how to leave. Text that is pasted in is one
 * message, however many lines it has.
 */
export class TypedLines implements Keyboard {
  readonly interactive = true;
  readonly #screen: Screen;
  readonly #typed = new TypedAhead();
  readonly #decoder = new TextDecoder();
  #history: string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Return the next line, or null at Ctrl-D. */
  async read(): Promise<string | null> {
    for (;;) {
      const edited = await this.#edit(PROMPT, { remembered: true });
      if (edited === "ended") {
        this.#screen.write("\n");
        return null;
      }
      if (edited !== "interrupted") return pastedText(edited.line);
    }
  }

  /** Ask a question; `enter` is the answer of Enter alone. Ctrl-C and Ctrl-D are no. */
  async confirm(question: string, { enter }: { enter: boolean }): Promise<boolean> {
    const choice = enter ? "[Y/n]" : "[y/N]";
    const edited = await this.#edit(`${question} ${choice} `, { remembered: false });
    if (typeof edited === "string") return false;
    const word = edited.line.trim().toLowerCase();
    return ["y", "yes"].includes(word) || (enter && !word);
  }

  #edit(prompt: string, { remembered }: { remembered: boolean }): Promise<Edited> {
    const { stdin, stdout } = process;
    const { promise, resolve } = Promise.withResolvers<Edited>();
    // The editor switches the terminal's raw mode through its input.
    const setRawMode = (mode: boolean) => stdin.setRawMode(mode);
    const keys = Object.assign(new PassThrough(), { setRawMode });
    const feed = (chunk?: Buffer) => {
      this.#typed.add(this.#decoder.decode(chunk, { stream: true }));
      for (const piece of this.#typed.take()) {
        // Keys are emitted, not written, so that they keep their place between the texts.
        if (isText(piece)) editor.write(piece);
        else keys.emit("data", piece);
      }
    };
    const history = remembered ? this.#history : [];
    const editor = createInterface({
      input: keys,
      output: stdout,
      terminal: true,
      prompt,
      history,
    });
    editor.once("line", (line) => {
      resolve({ line });
      editor.close();
    });
    editor.once("SIGINT", () => {
      stdout.write("\r\n");
      if (remembered && !editor.line) this.#screen.remark(HINTS.leave);
      resolve("interrupted");
      editor.close();
    });
    editor.once("close", () => {
      stdin.off("data", feed);
      stdin.pause();
      stdout.write(PASTE_OFF);
      resolve("ended");
    });
    if (remembered) editor.on("history", (lines) => (this.#history = lines));
    stdout.write(PASTE_ON);
    editor.prompt();
    stdin.on("data", feed);
    stdin.resume();
    feed();
    return promise;
  }
}

/** Lines from a pipe or a file, in UTF-8; what is none becomes U+FFFD. */
export class PipedLines implements Keyboard {
  readonly interactive = false;
  readonly #lines: AsyncGenerator<string>;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#lines = readLines(source);
  }

  /** Return the next line, or null at the end. */
  async read(): Promise<string | null> {
    const next = await this.#lines.next();
    return next.done ? null : next.value;
  }

  /** Answer no: nobody is there to ask. */
  async confirm(_question: string, { enter: _enter }: { enter: boolean }): Promise<boolean> {
    return false;
  }
}

async function* readLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  rest += decoder.decode();
  if (rest) yield rest;
}
