/** `Conversation`: all of a chat that waits for nothing. */

import type { ContextTruncatedError } from "../core/errors.ts";
import { ReplyNotStoredError, TandemError } from "../core/errors.ts";
import type { Place } from "../core/frame.ts";
import { readPlace } from "../core/frame.ts";
import { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { CountTokens } from "../core/turns.ts";
import type { JsonObject } from "../core/values.ts";
import { copyJson } from "../core/values.ts";
import { Budget } from "./budget.ts";
import { Corrections } from "./correction.ts";
import { Coverage } from "./coverage.ts";
import type { Engine, ModelInfo } from "./engine.ts";
import { OllamaEngine } from "./engine.ts";
import type { ChatEvent } from "./events.ts";
import { Teller } from "./events.ts";
import type { Question, Reply } from "./exchange.ts";
import { Exchange } from "./exchange.ts";
import { Journal } from "./journal.ts";
import type { ModelEntry } from "./settings.ts";
import { half } from "./settings.ts";
import type { Making } from "./summarizer.ts";
import { Summarizer } from "./summarizer.ts";

/** How the reading of an answer ended; where the reader left from outside, it is interrupted. */
export type Outcome = "finished" | "interrupted" | "failed";

export interface ConversationOptions {
  systemPrompt?: string | null | undefined;
  maxTurns?: number | null | undefined;
  trimTo?: number | null | undefined;
  maxTokens?: number | null | undefined;
  countTokens?: CountTokens | undefined;
  tools?: readonly JsonObject[] | undefined;
  corrections?: Corrections | undefined;
  summarize?: boolean | undefined;
  summaryTokens?: number | undefined;
  recall?: ((question: string) => string | null | Promise<string | null>) | undefined;
  context?: Place | undefined;
  onEvent?: ((event: ChatEvent) => unknown) | undefined;
}

/**
 * A memory, and the model that talks, by whose entry the memory's limits are set.
 *
 * `model`: an entry, such as `loadModels().find("local/chat/small")`, or an engine of one's own.
 * `systemPrompt`: the one system message's text; null or `""` is none.
 * `maxTurns`, `trimTo`: as in `MemoryManager`; default undefined, which takes the entry's.
 * `maxTokens`: default undefined: the entry's `numCtx`, or what the model has where that is less,
 *     without its `answerTokens` and the `tools`. A number is this or less.
 * `countTokens`: the tokens of one message as it is sent; default `estimateTokens`, corrected by the
 *     server's own counts as they come in. An exact counter is taken as it is.
 * `corrections`: what is learnt of the models so, for chats that share it; default one of its own.
 * `tools`: JSON schemas in Ollama's form, sent with every question.
 * `summarize`: whether turns that are about to leave the window are summarised after an answer, by
 *     the same model; default false. See `Chat.summarize`.
 * `summaryTokens`: what such a summary may cost, by `estimateText`; default 256.
 * `recall`: called with a question, returns what is known from elsewhere and worth telling with it,
 *     such as facts of other sessions, as text that is sent as it is; null is nothing. It may take a
 *     quarter of the budget; lines that are more are left out, the last ones first.
 * `context`: where that is sent. `system` (the default) is the system message: once something was
 *     recalled, that is done again only when a trim changes the prompt anyway, so that the server's
 *     prompt cache keeps serving. `question` is before the question, anew for each.
 * `onEvent`: called with what the chat did; what it throws goes to the caller. What it throws of a
 *     summary that failed rejects `Chat.settle`.
 *
 * Throws `InvalidLimitError`, `InvalidMessageError` and `BudgetExceededError`.
 */
export class Conversation {
  /** What answers; another may take its place between two questions. The limits of turns stay. */
  engine: Engine;
  /** The tools that go with every question. */
  readonly tools: readonly JsonObject[];
  readonly #maxTurns: number | null;
  readonly #trimTo: number | null;
  readonly #budget: Budget;
  protected journal: Journal;
  #playing: Exchange | null = null;
  protected readonly summarizes: boolean;
  protected readonly summarizer: Summarizer;
  protected readonly recall: ConversationOptions["recall"];
  readonly #place: Place;
  #recalledAt = 0;
  protected readonly teller: Teller;

  constructor(model: ModelEntry | Engine, options: ConversationOptions = {}) {
    const { countTokens = estimateTokens, tools = [], corrections = new Corrections() } = options;
    const { systemPrompt = null, summarize = false, summaryTokens = 256 } = options;
    this.engine = "stream" in model ? model : new OllamaEngine(model);
    this.tools = copyJson([...tools]);
    const { entry } = this.engine;
    const { maxTurns, trimTo = maxTurns === undefined ? entry.trimTo : half(maxTurns) } = options;
    this.#maxTurns = maxTurns === undefined ? entry.maxTurns : maxTurns;
    this.#trimTo = trimTo;
    this.#budget = new Budget(this.tools, options.maxTokens, countTokens, corrections);
    this.journal = new Journal(() => this.newMemory());
    this.memory.systemPrompt = systemPrompt;
    this.summarizes = summarize;
    this.summarizer = new Summarizer(summaryTokens);
    this.recall = options.recall;
    this.#place = readPlace(options.context ?? "system");
    this.teller = new Teller(options.onEvent ?? null);
  }

  /**
   * The window as the last exchange left it; each exchange that ends well makes a new one.
   *
   * Read it at will. Change it by the methods of the chat alone, which wait their turn.
   */
  get memory(): MemoryManager {
    return this.journal.memory;
  }

  /** The id of the session that the conversation is stored as; null where it is not. */
  get sessionId(): string | null {
    return this.journal.sessionId;
  }

  /**
   * The system message's text. Setting it takes effect with the next question.
   *
   * A stored conversation saves it with the answer to that.
   */
  get systemPrompt(): string | null {
    return this.memory.systemPrompt;
  }

  set systemPrompt(value: string | null) {
    const before = this.memory.systemPrompt;
    this.memory.systemPrompt = value;
    try {
      if (this.#playing) this.#playing.memory.systemPrompt = value;
    } catch (error) {
      this.memory.systemPrompt = before;
      throw error;
    }
  }

  /** Return whether the model is still to be looked at. */
  protected isUnseen(): boolean {
    return !this.#budget.knows(this.engine.entry);
  }

  /** Take note of what the model is; null where its server does not say it. */
  protected see(info: ModelInfo | null): void {
    this.#budget.see(this.engine.entry, info?.contextLength ?? null);
  }

  /** Begin the question's exchange, on a copy of the memory. */
  protected begin(question: Question): Exchange {
    const entry = this.#budget.fit(this.engine.entry);
    this.#playing = new Exchange(this.journal.copy(), entry, question, this.#coverage());
    return this.#playing;
  }

  /** Return whether it is time to recall something for the exchange's question. */
  protected asksRecall({ question, recalled, memory }: Exchange): boolean {
    if (!this.recall || question.content === null || recalled) return false;
    const trimmed = memory.droppedTurns !== this.#recalledAt;
    return this.#place === "question" || trimmed || memory.context === null;
  }

  /** Send what was recalled along with the question. */
  protected putContext(exchange: Exchange, text: string | null): void {
    const recalled = { text: text ?? "", place: this.#place };
    const context = exchange.recall(recalled, this.#budget.counter(exchange.entry));
    if (context) this.teller.note({ context, type: "recalled" });
  }

  /**
   * Begin a refused exchange again, shorter by the count that refused it.
   *
   * Throws the `error` where it was begun again before, had an answer, or can't be shorter.
   */
  protected again(refused: Exchange, error: ContextTruncatedError): Exchange {
    if (refused.begunAgain || refused.part) throw error;
    this.#budget.tighten(refused.entry, refused.messages, error.promptTokens);
    let exchange: Exchange;
    try {
      exchange = this.begin(refused.question);
    } catch (cause) {
      throw cause instanceof TandemError ? error : cause;
    }
    const { recalled } = refused;
    if (recalled) exchange.recall(recalled, this.#budget.counter(exchange.entry));
    const [sent, other] = [exchange, refused].map(({ messages }) => JSON.stringify(messages));
    if (sent === other) throw error;
    exchange.begunAgain = true;
    this.teller.note({ error, askedAgain: true, type: "truncated" });
    return exchange;
  }

  /** End the exchange: keep what it made of the question, or leave the memory as it was. */
  protected async end(outcome: Outcome): Promise<Reply | null> {
    const exchange = this.#playing;
    this.#playing = null;
    try {
      return await this.#conclude(exchange, outcome);
    } finally {
      await this.journal.release();
    }
  }

  protected async addResult(message: JsonObject): Promise<Message[]> {
    const memory = this.journal.copy();
    const before = memory.summary;
    const [coverage, dropped] = this.#coverage().follow(memory, memory.add(message));
    await this.journal.settle({ memory, message, dropped, status: "complete" });
    this.summarizer.cover(this.memory, coverage);
    this.teller.noteWindow(dropped, before, memory.summary);
    return dropped;
  }

  protected async empty(): Promise<void> {
    await this.journal.clear();
    this.summarizer.cover(this.memory, new Coverage());
  }

  protected async takeBack(): Promise<Message[]> {
    const coverage = this.#coverage();
    const undone = await this.journal.undo();
    this.summarizer.cover(this.memory, coverage.undone(this.memory));
    return undone;
  }

  /** Return the making of the next summary, where it is time for one. */
  protected plan(): Making | null {
    const entry = this.#budget.fit(this.engine.entry);
    this.#coverage();
    return this.summarizer.plan(this.memory, entry, this.#budget.worst(entry));
  }

  /** Keep the summary for the next trim, unless the conversation has gone on meanwhile. */
  protected keep(making: Making): void {
    this.summarizer.keep(this.memory, making);
  }

  /** Tell why there is no summary, unless the conversation has gone on meanwhile. */
  protected failed(making: Making, error: unknown): void {
    if (this.summarizer.making !== making) return;
    this.summarizer.fail();
    this.teller.note({ error, type: "summary_failed" });
    this.teller.tell();
  }

  #coverage(): Coverage {
    return this.summarizer.coverage(this.memory, this.journal.waiting);
  }

  protected newMemory(): MemoryManager {
    const entry = this.#budget.fit(this.engine.entry);
    return new MemoryManager({
      maxTurns: this.#maxTurns,
      maxTokens: this.#budget.limit(entry),
      trimTo: this.#trimTo,
      countTokens: this.#budget.counter(entry),
    });
  }

  async #conclude(exchange: Exchange | null, outcome: Outcome): Promise<Reply | null> {
    let reply: Reply | null = null;
    try {
      if (outcome === "finished") reply = exchange?.finish() ?? null;
      else if (outcome === "interrupted") reply = exchange?.interrupt() ?? null;
    } finally {
      if (reply === null) {
        const message = exchange?.part ?? null;
        await this.journal.settle({ memory: null, message, dropped: [], status: "failed" });
      }
    }
    if (exchange === null || reply === null) return null;
    const { memory, answer: message } = exchange;
    const status = reply.interrupted ? "interrupted" : "complete";
    const before = this.memory.summary;
    try {
      await this.journal.settle({ memory, message, dropped: reply.dropped, status });
    } catch (cause) {
      if (!(cause instanceof TandemError)) throw cause;
      throw new ReplyNotStoredError(reply.content, { cause });
    }
    this.summarizer.cover(this.memory, exchange.coverage);
    if (exchange.recalled) this.#recalledAt = exchange.recalledAt;
    this.teller.noteWindow(reply.dropped, before, memory.summary);
    this.#learn(exchange, reply);
    return reply;
  }

  /** Learn the server's own count of the prompt. */
  #learn({ entry, messages }: Exchange, { truncation, promptTokens }: Reply): void {
    if (truncation) {
      this.teller.note({ error: truncation, askedAgain: false, type: "truncated" });
      this.#budget.tighten(entry, messages, truncation.promptTokens);
    } else if (promptTokens) {
      this.#budget.learn(entry, messages, promptTokens);
    }
  }
}
