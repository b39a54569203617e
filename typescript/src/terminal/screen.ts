/** The screen: answers and tables go to standard output, remarks and errors to standard error. */

import type { WriteStream } from "node:tty";
import { clip, oneLine, visible } from "./width.ts";

/** What can be printed to; only a terminal has `isTTY` and `columns`. */
type Output = Pick<NodeJS.WritableStream, "write"> &
  Partial<Pick<WriteStream, "isTTY" | "columns">>;

/**
 * What the program prints to.
 *
 * `styled`: whether thinking may be dimmed; not in a pipe, nor where NO_COLOR is set
 * (https://no-color.org) or the terminal is a dumb one.
 */
export class Screen {
  readonly styled: boolean;
  readonly #out: Output;
  readonly #err: Output;
  #shown = "";

  constructor(out: Output, err: Output, { env = process.env } = {}) {
    this.#out = out;
    this.#err = err;
    const plain = Boolean(env.NO_COLOR) || env.TERM === "dumb";
    this.styled = Boolean(out.isTTY) && !plain;
  }

  /** How wide the terminal is; 80 where there is none. */
  get columns(): number {
    return this.#out.columns || 80;
  }

  /** Print `text` as it is. */
  write(text: string): void {
    this.#out.write(text);
  }

  /** Print a line about what happened. */
  remark(text: string): void {
    this.#err.write(`${visible(text)}\n`);
  }

  /** Print what went wrong, on one line. */
  error(problem: string): void {
    this.remark(`error: ${oneLine(problem)}`);
  }

  /** Show how far something is: `line` over the one before in a terminal, else each `step`. */
  progress(line: string, step: string): void {
    if (this.#err.isTTY) {
      this.#err.write(`\r${clip(visible(line), this.columns - 1)}\u001b[K`);
    } else if (step !== this.#shown) {
      this.remark(step);
    }
    this.#shown = step;
  }

  /** Leave the line of the progress. */
  progressEnd(): void {
    if (this.#shown && this.#err.isTTY) this.#err.write("\n");
    this.#shown = "";
  }
}
