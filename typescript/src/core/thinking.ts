/**
 * Thinking: reasoning split off from the answer, the same at any chunking of a stream.
 *
 * The rules, as in Ollama's own parser (thinking/parser.go) with three additions of ours:
 *
 * - `<think>` counts only at the start of the text, white space aside, or right after another
 *   block. Anywhere later it is text, so that an answer may write about the tag.
 * - Tags are read in any case (`<THINK>`).
 * - Inside a block tags nest, if they balance. If the text ends first, the block ended at its first
 *   close: the reasoning only spoke of a tag. Until it is known which, what follows is held back.
 * - Where the model's template opens the block itself (`opensThinking`), the text starts inside it,
 *   and further closes right behind the first are dropped.
 */

// Unicode's White_Space, spelt out: `trim`, `\s` and Python's `strip` each differ from it.
const WHITE_SPACE = new Set(
  "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" +
    String.fromCharCode(...Array.from({ length: 11 }, (_, i) => 0x2000 + i)),
);

const TAG = /<(\/?)think>/gi;
const PART_OF_TAG = /<\/?(t(h(i(nk?)?)?)?)?$/gi;

/** Text split in two. `finished` is false where a block is still open at its end. */
export interface Thought {
  readonly content: string;
  readonly thinking: string;
  readonly finished: boolean;
}

export interface ThinkingOptions {
  /** Whether the model's template opens the block itself. Default: false. */
  opensThinking?: boolean;
}

/** Split a whole text; the same as feeding it to a `ThinkingSplitter` in any pieces. */
export function splitThinking(text: string, options: ThinkingOptions = {}): Thought {
  const splitter = new ThinkingSplitter(options);
  const [start, end] = [splitter.feed(text), splitter.finish()];
  return {
    content: start.content + end.content,
    thinking: start.thinking + end.thinking,
    finished: end.finished,
  };
}

/**
 * Splits a stream: `feed` each piece, then `finish`; each returns what became certain by it.
 *
 * Added up, the pieces' `content` and `thinking` are those of the whole text. Blocks of thinking
 * lose the white space around them and are joined by a line break; content loses the white space
 * between it and a block, and is else untouched.
 */
export class ThinkingSplitter {
  readonly #openedByTemplate: boolean;
  #state: "front" | "block" | "nested" | "text" = "front";
  #buffer = "";
  #depth = 0;
  #scanned = 0; // how far a "nested" buffer has been read
  #pastBlock = false;
  #blockHasText = false;
  #space = ""; // goes before the next piece of thinking, should one come
  #content = "";
  #thinking = "";
  #thoughtAny = false;

  constructor({ opensThinking = false }: ThinkingOptions = {}) {
    this.#openedByTemplate = opensThinking;
  }

  /** Take the next piece of the stream and return what is certain now. */
  feed(piece: string): Thought {
    this.#buffer += piece;
    return this.#read(false);
  }

  /** Say that the stream has ended and return what was still held back. */
  finish(): Thought {
    return this.#read(true);
  }

  #read(last: boolean): Thought {
    while (this.#step(last)) {}
    const isOpen = this.#state === "block" || this.#state === "nested";
    const thought = { content: this.#content, thinking: this.#thinking, finished: !isOpen };
    this.#content = this.#thinking = "";
    return thought;
  }

  /** Read as far as one state goes; return whether there is more to read. */
  #step(last: boolean): boolean {
    if (this.#state === "front") return this.#stepFront(last);
    if (this.#state === "block") return this.#stepBlock(last);
    if (this.#state === "nested") return this.#stepNested(last);
    this.#content += this.#take(this.#buffer.length);
    return false;
  }

  #stepFront(last: boolean): boolean {
    const space = leadingSpace(this.#buffer);
    const tag = find(TAG, this.#buffer, space);
    const atFront = tag?.index === space ? tag : null;
    if (atFront && !atFront[1]) {
      this.#take(space + atFront[0].length);
      this.#enterBlock();
    } else if (atFront && this.#pastBlock && this.#openedByTemplate) {
      this.#take(space + atFront[0].length);
    } else if (
      !last &&
      (space === this.#buffer.length || find(PART_OF_TAG, this.#buffer, space)?.index === space)
    ) {
      return false;
    } else if (this.#openedByTemplate && !this.#pastBlock) {
      this.#enterBlock();
    } else {
      this.#state = "text";
      if (this.#pastBlock) this.#take(space);
    }
    return true;
  }

  #enterBlock(): void {
    this.#state = "block";
    this.#depth = 1;
    this.#blockHasText = false;
    this.#space = this.#thoughtAny ? "\n" : "";
  }

  #stepBlock(last: boolean): boolean {
    const tag = find(TAG, this.#buffer);
    if (tag === null) {
      const part = last ? null : find(PART_OF_TAG, this.#buffer);
      this.#think(this.#take(part ? part.index : this.#buffer.length));
      return false;
    }
    this.#think(this.#take(tag.index));
    if (tag[1] && this.#depth === 1) {
      this.#take(tag[0].length);
      this.#leaveBlock();
    } else if (tag[1]) {
      this.#state = "nested";
      this.#scanned = 0;
    } else {
      this.#depth += 1;
      this.#think(this.#take(tag[0].length));
    }
    return true;
  }

  /** Look, from the first close on, whether the tags balance. */
  #stepNested(last: boolean): boolean {
    for (let tag = this.#nextTag(); tag !== null; tag = this.#nextTag()) {
      this.#depth += tag[1] ? -1 : 1;
      this.#scanned = tag.index + tag[0].length;
      if (this.#depth === 0) {
        this.#think(this.#take(tag.index));
        this.#take(tag[0].length);
        this.#leaveBlock();
        return true;
      }
    }
    if (!last) {
      const part = find(PART_OF_TAG, this.#buffer, this.#scanned);
      this.#scanned = part ? part.index : this.#buffer.length;
      return false;
    }
    this.#take("</think>".length);
    this.#leaveBlock();
    return true;
  }

  #nextTag(): RegExpExecArray | null {
    return find(TAG, this.#buffer, this.#scanned);
  }

  #leaveBlock(): void {
    this.#state = "front";
    this.#pastBlock = true;
  }

  #think(text: string): void {
    const body = this.#blockHasText ? text : text.slice(leadingSpace(text));
    const kept = body.slice(0, body.length - trailingSpace(body));
    if (kept) {
      this.#thinking += this.#space + kept;
      this.#space = "";
      this.#blockHasText = this.#thoughtAny = true;
    }
    this.#space += body.slice(kept.length);
  }

  #take(count: number): string {
    const taken = this.#buffer.slice(0, count);
    this.#buffer = this.#buffer.slice(count);
    return taken;
  }
}

function find(pattern: RegExp, text: string, start = 0): RegExpExecArray | null {
  pattern.lastIndex = start;
  return pattern.exec(text);
}

/** Return `text` without the white space around it; `trim` has another list of it. */
export function trimWhiteSpace(text: string): string {
  const rest = text.slice(leadingSpace(text));
  return rest.slice(0, rest.length - trailingSpace(rest));
}

function leadingSpace(text: string): number {
  let count = 0;
  while (WHITE_SPACE.has(text.charAt(count))) count += 1;
  return count;
}

function trailingSpace(text: string): number {
  let count = 0;
  while (WHITE_SPACE.has(text.charAt(text.length - 1 - count))) count += 1;
  return count;
}
