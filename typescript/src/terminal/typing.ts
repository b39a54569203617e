/**
 * What a terminal sends, cut into what the line editor takes one by one.
 *
 * Node's editor takes each line of a pasted text for a line of its own, drops what comes after Enter
 * when it is closed, and loses its place where several characters that come at once (from a paste,
 * or an input method) reach the right margin. Python's does none of this, so there is no twin.
 */

import { visible } from "./width.ts";

/** Ask the terminal to say where a pasted text begins and ends ("bracketed paste"), or not to. */
export const PASTE_ON = "\u001b[?2004h";
export const PASTE_OFF = "\u001b[?2004l";

const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
const TEXT = /^[^\u0000-\u001f\u007f]+/;
/** One key: a control character, or what follows an escape (ECMA-48, 5.4). */
const KEY =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  /^(?:\u001b(?:\[[0-?]*[ -/]*[@-~]|O[@-~]|[^[O])|[\u0000-\u001a\u001c-\u001f\u007f])/;
/** Enter, Ctrl-C and Ctrl-D, after which the editor is closed. */
const ENDINGS = "\r\n\u0003\u0004";

/** What stands in the editor for a line end inside a pasted text. */
const LINE_END = "\u23ce";

/** Return a line of the editor with the line ends that were pasted. */
export function pastedText(line: string): string {
  return line.replaceAll(LINE_END, "\n");
}

/** Whether a piece of `TypedAhead` is text; else it is a key. */
export function isText(piece: string): boolean {
  return TEXT.test(piece);
}

/**
 * Keeps what the terminal sent until it is asked for.
 *
 * `add` what came; `take` the pieces that are whole, up to the end of a line.
 */
export class TypedAhead {
  #text = "";
  #pasting = false;

  add(text: string): void {
    this.#text += text;
  }

  take(): string[] {
    const pieces: string[] = [];
    for (;;) {
      const piece = this.#pasting ? this.#takePasted() : this.#take(TEXT) || this.#take(KEY);
      if (piece === PASTE_BEGINS) this.#pasting = true;
      else if (piece === "") return pieces;
      else pieces.push(piece === "\n" ? "\r" : piece);
      if (ENDINGS.includes(piece)) return pieces;
    }
  }

  #take(pattern: RegExp): string {
    const [piece = ""] = pattern.exec(this.#text) ?? [];
    this.#text = this.#text.slice(piece.length);
    return piece;
  }

  /** Take a pasted text once its end has come. */
  #takePasted(): string {
    const end = this.#text.indexOf(PASTE_ENDS);
    if (end < 0) return "";
    const pasted = this.#text.slice(0, end).replaceAll(/\r\n?/g, "\n");
    this.#text = this.#text.slice(end + PASTE_ENDS.length);
    this.#pasting = false;
    return visible(pasted).replaceAll("\n", LINE_END) || this.#take(TEXT) || this.#take(KEY);
  }
}
