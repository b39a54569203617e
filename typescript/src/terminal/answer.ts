/** An answer as it is printed while it comes. */

import { visible } from "./width.ts";

const DIM = "\u001b[2m";
const UNDIM = "\u001b[22m";

type Part = "thinking" | "content" | "";

/**
 * Turns the pieces of an answer into what is printed: the thinking apart, no blank ends.
 *
 * `styled`: whether thinking is dimmed by the terminal's own codes; else words mark it.
 * `shown`: whether thinking is printed at all.
 */
export class AnswerText {
  readonly #styled: boolean;
  readonly #shown: boolean;
  #part: Part = "";
  // A blank end may be the answer's own end, so it waits for what follows.
  #held = "";

  constructor({ styled, shown }: { styled: boolean; shown: boolean }) {
    this.#styled = styled;
    this.#shown = shown;
  }

  /** Take the next piece and return what it adds to the screen. */
  add({ thinking = "", content = "" }: { thinking?: string; content?: string }): string {
    const thought = this.#shown ? this.#add("thinking", visible(thinking)) : "";
    return thought + this.#add("content", visible(content));
  }

  /** Return what ends the answer: an empty line, if anything was printed. */
  end(): string {
    return this.#part ? `${this.#close()}\n\n` : "";
  }

  #add(part: Part, piece: string): string {
    const begun = part === this.#part;
    const text = begun ? this.#held + piece : piece.replace(/^[\n ]+/, "");
    const kept = text.replace(/[\n ]+$/, "");
    if (begun || kept) this.#held = text.slice(kept.length);
    if (!kept) return "";
    return begun ? kept : this.#open(part) + kept;
  }

  #open(part: Part): string {
    const text = this.#part ? `${this.#close()}\n\n` : "";
    // Without the codes words tell where the thinking begins, and where it ends.
    const plain = part === "thinking" ? "(thinking) " : this.#part ? "(answer) " : "";
    const dimmed = part === "thinking" ? DIM : "";
    this.#part = part;
    return text + (this.#styled ? dimmed : plain);
  }

  #close(): string {
    return this.#styled && this.#part === "thinking" ? UNDIM : "";
  }
}
