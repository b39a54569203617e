/**
 * One exchange: a question, the answer as it comes, and what of it is remembered.
 *
 * It is played on a copy of the memory. An exchange that ends well gives the copy to the
 * conversation; one that fails throws it away, and all is as it was before the question. Nothing
 * here waits for anything.
 */

import { BudgetExceededError, ContextTruncatedError, NoAnswerError } from "../core/errors.ts";
import type { Context } from "../core/frame.ts";
import type { MemoryManager } from "../core/manager.ts";
import type { Message, ToolCall } from "../core/messages.ts";
import type { Summary } from "../core/summary.ts";
import { ThinkingSplitter } from "../core/thinking.ts";
import type { CountTokens } from "../core/turns.ts";
import type { JsonObject, JsonValue } from "../core/values.ts";
import { copyJson } from "../core/values.ts";
import { hasImages } from "./budget.ts";
import type { Coverage } from "./coverage.ts";
import { fitContext, makeRoom } from "./room.ts";
import type { ModelEntry } from "./settings.ts";
import type { Delta, Durations, Ending } from "./wire.ts";

/** What is asked, and who is told the thinking; null as `content` is after tool results. */
export interface Question {
  readonly content: string | null;
  readonly images?: readonly string[] | undefined;
  readonly format?: JsonValue | undefined;
  readonly onThinking?: ((piece: string) => void) | undefined;
}

/** The user's message that a question is; null after tool results. */
export function message({ content, images = [] }: Question): JsonObject | null {
  return content === null ? null : { role: "user", content, images: [...images] };
}

/**
 * An answer.
 *
 * `content`, `thinking` and `toolCalls` are the model's; where it calls tools, add each result with
 *     `addToolMessage` and ask on with null.
 * `dropped`: the messages that left the window by this exchange.
 * `doneReason`: why the model stopped; `length` is an answer that was cut off.
 * `promptTokens`, `replyTokens`: the server's own count, null where it gave none.
 * `durations`: how long the server took.
 * `interrupted`: whether the reader stopped before the end; then `content` is the part that came.
 * `truncation`: the error that tells of a prompt whose front the server cut off unseen, or null.
 */
export interface Reply {
  readonly content: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly dropped: readonly Message[];
  readonly doneReason: string | null;
  readonly promptTokens: number | null;
  readonly replyTokens: number | null;
  readonly durations: Durations;
  readonly interrupted: boolean;
  readonly truncation: ContextTruncatedError | null;
}

const NO_ENDING: Ending = {
  doneReason: null,
  promptTokens: null,
  replyTokens: null,
  durations: { total: null, load: null, prompt: null, reply: null },
};

/**
 * The life of one exchange on `memory`, a copy that is its own, under `entry`.
 *
 * `take` each delta; then `finish`, or `interrupt` where the reader stopped. Recalled context and
 * the summary stay behind where the question needs their room; throws `BudgetExceededError` where
 * what must be sent is over the window's budget all the same. `coverage` says how far the memory is
 * summarised, and is kept up with it.
 */
export class Exchange {
  readonly memory: MemoryManager;
  readonly entry: ModelEntry;
  readonly question: Question;
  /** What was recalled for this question, whole; null where nothing was looked for. */
  recalled: Context | null = null;
  /** How many turns had left the window by then. */
  recalledAt = 0;
  /** Whether a server had refused a longer prompt of this question. */
  begunAgain = false;
  /** The answer as it was added to the memory. */
  answer: JsonObject | null = null;
  coverage: Coverage;
  readonly #splitter: ThinkingSplitter;
  #fieldThinks = false;
  #content = "";
  #thinking = "";
  #toolCalls: ToolCall[] = [];
  #ending: Ending | null = null;
  #held: Summary | null = null;
  readonly #dropped: Message[] = [];
  #sent: Message[] | null = null;
  #estimate = 0;

  constructor(memory: MemoryManager, entry: ModelEntry, question: Question, coverage: Coverage) {
    this.memory = memory;
    this.entry = entry;
    this.question = question;
    this.#splitter = new ThinkingSplitter({ opensThinking: entry.opensThinking });
    if (memory.context?.place === "question" && question.content !== null) {
      memory.context = null; // it was another question's
    }
    this.coverage = coverage;
    if (question.content === null && memory.overBudget) {
      this.#follow(memory.restore(memory.snapshot())); // the budget has become smaller
    }
    this.#follow(this.#addQuestion());
  }

  /** What the model is to be sent. */
  get messages(): Message[] {
    if (this.#sent === null) {
      this.#sent = this.memory.getMessages({ includeThinking: this.entry.sendThinking });
      this.#estimate = this.memory.tokens;
    }
    return this.#sent;
  }

  /** What has come of the answer, for the record of one that failed; null is nothing. */
  get part(): JsonObject | null {
    if (!this.#content && !this.#thinking) return null;
    return { role: "assistant", content: this.#content, thinking: this.#thinking };
  }

  /** Put recalled context in its place; returns what of it there was room for, maybe none. */
  recall(context: Context, countTokens: CountTokens): Context | null {
    this.recalled = context;
    this.memory.context = null;
    const fitted = fitContext(this.memory, context, countTokens);
    const putIn = () => {
      this.memory.context = fitted;
    };
    const left = fitted && makeRoom(this.memory, putIn);
    if (left && left.length > 0) this.#follow(left);
    this.recalledAt = this.memory.droppedTurns;
    this.#sent = null;
    return this.memory.context;
  }

  /**
   * Take the next piece of the answer and return what it shows, maybe nothing.
   *
   * Where the engine's `thinking` field has text, `content` is not searched for thinking.
   */
  take(delta: Delta): Shown {
    this.#toolCalls.push(...copyJson([...delta.toolCalls]));
    this.#fieldThinks ||= delta.thinking !== "";
    let shown: Shown = this.#fieldThinks ? delta : this.#splitter.feed(delta.content);
    if (delta.ending) {
      this.#ending = delta.ending;
      const held = this.#splitter.finish();
      shown = {
        content: shown.content + held.content,
        thinking: shown.thinking + held.thinking,
      };
    }
    this.#content += shown.content;
    this.#thinking += shown.thinking;
    return shown;
  }

  /** Remember the answer and return it; throws `NoAnswerError` where there is none. */
  finish(): Reply {
    const reason = this.#ending?.doneReason ?? null;
    if (isBlank(this.#content) && this.#toolCalls.length === 0) throw new NoAnswerError(reason);
    const fields = reason === null || reason === "stop" ? {} : { done_reason: reason };
    return this.#remember(this.#toolCalls, fields);
  }

  /**
   * Remember the part that came, or return null where no text did.
   *
   * Tool calls are left out: nobody is to run what may be half a request. A reader who stopped at
   * the very last piece has the whole answer.
   */
  interrupt(): Reply | null {
    if (isBlank(this.#content)) return null;
    if (this.#ending) return this.finish();
    return this.#remember([], { interrupted: true });
  }

  /** Add the question and return what left; what else is sent gives way to it. */
  #addQuestion(): Message[] {
    const { content, images = [] } = this.question;
    try {
      if (content !== null) return this.memory.addUserMessage(content, { images });
      requireRoom(this.memory);
      return [];
    } catch (error) {
      if (!(error instanceof BudgetExceededError)) throw error;
      const { context, summary } = this.memory;
      if (context) {
        this.memory.context = null;
      } else if (summary) {
        this.#held = summary;
        this.memory.summary = null;
      } else {
        throw error;
      }
      return this.#addQuestion();
    }
  }

  #follow(left: Message[]): void {
    const [coverage, dropped] = this.coverage.follow(this.memory, left);
    this.coverage = coverage;
    this.#dropped.push(...dropped);
  }

  #remember(toolCalls: ToolCall[], fields: JsonObject): Reply {
    this.answer = {
      role: "assistant",
      content: this.#content,
      thinking: this.#thinking,
      tool_calls: toolCalls as unknown as JsonValue,
      ...fields,
    };
    if (this.#held && !this.memory.summary) {
      this.memory.restore({ ...this.memory.snapshot(), summary: this.#held }, { trim: false });
    }
    this.#follow(this.memory.add(this.answer));
    const { doneReason, promptTokens, replyTokens, durations } = this.#ending ?? NO_ENDING;
    return {
      content: this.#content,
      thinking: this.#thinking,
      toolCalls: copyJson(toolCalls),
      dropped: this.#dropped,
      doneReason,
      promptTokens,
      replyTokens,
      durations,
      interrupted: "interrupted" in fields,
      truncation: this.#findTruncation(promptTokens),
    };
  }

  /**
   * Tell whether the server cut the prompt: it keeps what fills the context, or half of it.
   *
   * A count far below the estimate says so only where the estimate is near the context's size, and
   * made of words.
   */
  #findTruncation(seen: number | null): ContextTruncatedError | null {
    const estimate = this.#estimate;
    const { numCtx } = this.entry;
    if (seen === null) return null;
    const farBelow = estimate * 2 > numCtx && seen * 5 < estimate * 3;
    if (seen < numCtx && (!farBelow || hasImages(this.messages))) return null;
    return new ContextTruncatedError(Math.max(seen, estimate), numCtx);
  }
}

type Shown = Pick<Delta, "content" | "thinking">;

function requireRoom(memory: MemoryManager): void {
  const { max_tokens: budget, tokens } = memory.explain();
  if (budget !== null && tokens > budget) throw new BudgetExceededError(tokens, budget);
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}
