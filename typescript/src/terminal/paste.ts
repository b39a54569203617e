/**
 * What a terminal sends, cut into what is for one line.
 *
 * Node's line editor drops what comes after Enter when it is closed, and takes each line of a
 * pasted text for a line of its own. Python's does neither, so this module has no twin.
 */

import { visible } from "./width.ts";

/** Ask the terminal to say where a pasted text begins and ends ("bracketed paste"), or not to. */
export const PASTE_ON = "\u001b[?2004h";
export const PASTE_OFF = "\u001b[?2004l";

const BEGINS = "\u001b[200~";
const ENDS = "\u001b[201~";
const ENTER = /[\r\n]/;

/** What stands in the editor for a line end inside a pasted text. */
const LINE_END = "\u23ce";

/** Return a line of the editor with the line ends that were pasted. */
export function pastedText(line: string): string {
  return line.replaceAll(LINE_END, "\n");
}

/**
 * Keeps what the terminal sent until it is asked for.
 *
 * `add` what came; `take` returns what the editor may have: up to Enter, or all that is whole.
 */
export class TypedAhead {
  #text = "";
  #pasting = false;

  add(text: string): void {
    this.#text += text;
  }

  take(): string {
    let taken = "";
    while (this.#text) {
      const mark = this.#pasting ? ENDS : BEGINS;
      const at = this.#text.indexOf(mark);
      const [part, rest] = at < 0 ? this.#whole(mark) : this.#split(at);
      if (this.#pasting) {
        taken += visible(part.replaceAll(/\r\n?/g, "\n")).replaceAll("\n", LINE_END);
      } else {
        const enter = part.search(ENTER);
        if (enter >= 0) {
          this.#text = this.#text.slice(enter + 1);
          return `${taken}${part.slice(0, enter)}\r`;
        }
        taken += part;
      }
      this.#text = at < 0 ? rest : rest.slice(mark.length);
      if (at < 0) break;
      this.#pasting = !this.#pasting;
    }
    return taken;
  }

  #split(at: number): [string, string] {
    return [this.#text.slice(0, at), this.#text.slice(at)];
  }

  /** Cut off the beginning of a mark of which the end has not come yet. */
  #whole(mark: string): [string, string] {
    for (let length = mark.length - 1; length > 2; length--) {
      if (this.#text.endsWith(mark.slice(0, length)))
        return this.#split(this.#text.length - length);
    }
    return [this.#text, ""];
  }
}
