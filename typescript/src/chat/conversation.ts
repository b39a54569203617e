/** `Conversation`: all of a chat that waits for nothing. */

import { InvalidLimitError, ReplyNotStoredError, TandemError } from "../core/errors.ts";
import { MemoryManager } from "../core/manager.ts";
import type { Message } from "../core/messages.ts";
import { estimateTokens, estimateTools } from "../core/tokens.ts";
import type { CountTokens } from "../core/turns.ts";
import type { JsonObject } from "../core/values.ts";
import { copyJson } from "../core/values.ts";
import type { Engine } from "./engine.ts";
import { OllamaEngine } from "./engine.ts";
import type { Question, Reply } from "./exchange.ts";
import { Exchange } from "./exchange.ts";
import { Journal } from "./journal.ts";
import type { ModelEntry } from "./settings.ts";
import { half } from "./settings.ts";
import type { Making } from "./summarizer.ts";
import { Coverage, readSummaryTokens } from "./summarizer.ts";

/** How the reading of an answer ended; where the reader left from outside, it is interrupted. */
export type Outcome = "finished" | "interrupted" | "failed";

export interface ConversationOptions {
  systemPrompt?: string | null | undefined;
  maxTurns?: number | null | undefined;
  trimTo?: number | null | undefined;
  maxTokens?: number | null | undefined;
  countTokens?: CountTokens | undefined;
  tools?: readonly JsonObject[] | undefined;
  summarize?: boolean | undefined;
  summaryTokens?: number | undefined;
}

/**
 * A memory, and the model that talks, by whose entry the memory's limits are set.
 *
 * `model`: an entry, such as `loadModels().find("local/chat/small")`, or an engine of one's own.
 * `systemPrompt`: the one system message's text; null or `""` is none.
 * `maxTurns`, `trimTo`: as in `MemoryManager`; default undefined, which takes the entry's.
 * `maxTokens`: default undefined: the entry's `numCtx` less its `answerTokens` and the `tools`.
 * `countTokens`: the tokens of one message as it is sent; default `estimateTokens`.
 * `tools`: JSON schemas in Ollama's form, sent with every question.
 * `summarize`: whether turns that are about to leave the window are summarised after an answer, by
 *     the same model; default false. See `Chat.summarize`.
 * `summaryTokens`: what such a summary may cost, by `estimateText`; default 256.
 *
 * Throws `InvalidLimitError` and `BudgetExceededError`.
 */
export class Conversation {
  /** What answers; another may take its place between two questions. The limits stay. */
  engine: Engine;
  /** The tools that go with every question. */
  readonly tools: readonly JsonObject[];
  readonly #maxTurns: number | null;
  readonly #trimTo: number | null;
  readonly #maxTokens: number | null;
  readonly #countTokens: CountTokens;
  protected journal: Journal;
  #playing: Exchange | null = null;
  protected readonly summarizes: boolean;
  readonly #summaryTokens: number;
  #coverage = new Coverage();
  #covered: MemoryManager;
  #making: Making | null = null;

  constructor(
    model: ModelEntry | Engine,
    {
      systemPrompt = null,
      maxTurns,
      trimTo,
      maxTokens,
      countTokens = estimateTokens,
      tools = [],
      summarize = false,
      summaryTokens = 256,
    }: ConversationOptions = {},
  ) {
    this.engine = "stream" in model ? model : new OllamaEngine(model);
    this.tools = copyJson([...tools]);
    const { entry } = this.engine;
    const ownTrim = maxTurns === undefined ? entry.trimTo : half(maxTurns);
    this.#trimTo = trimTo === undefined ? ownTrim : trimTo;
    this.#maxTurns = maxTurns === undefined ? entry.maxTurns : maxTurns;
    this.#maxTokens = maxTokens === undefined ? tokenBudget(entry, this.tools) : maxTokens;
    this.#countTokens = countTokens;
    this.journal = new Journal(() => this.newMemory());
    this.memory.systemPrompt = systemPrompt;
    this.summarizes = summarize;
    this.#summaryTokens = readSummaryTokens(summaryTokens);
    this.#covered = this.memory;
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
    this.memory.systemPrompt = value;
    if (this.#playing) this.#playing.memory.systemPrompt = value;
  }

  /** Write the question down, then begin its exchange, on a copy of the memory. */
  protected async begin(question: Question): Promise<Exchange> {
    await this.journal.ask(userMessage(question));
    const memory = this.journal.copy();
    this.#playing = new Exchange(memory, this.engine.entry, question, this.#knownCoverage());
    return this.#playing;
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

  protected async addResult(
    content: string,
    { toolName, toolCallId }: { toolName?: string; toolCallId?: string },
  ): Promise<Message[]> {
    const memory = this.journal.copy();
    const message = {
      role: "tool",
      content,
      tool_name: toolName ?? null,
      tool_call_id: toolCallId ?? null,
    };
    const [coverage, dropped] = this.#knownCoverage().follow(memory, memory.add(message));
    await this.journal.settle({ memory, message, dropped, status: "complete" });
    this.#cover(coverage);
    return dropped;
  }

  protected async empty(): Promise<void> {
    await this.journal.clear();
    this.#cover(new Coverage());
  }

  protected async takeBack(): Promise<Message[]> {
    const coverage = this.#knownCoverage();
    const undone = await this.journal.undo();
    this.#cover(coverage.undone(this.memory));
    return undone;
  }

  /** Return the making of the next summary, where it is time for one. */
  protected plan(): Making | null {
    const coverage = this.#knownCoverage();
    this.#making = coverage.plan(this.memory, this.engine.entry, this.#summaryTokens);
    return this.#making;
  }

  /** Keep the summary for the next trim, unless the conversation has gone on meanwhile. */
  protected keep(making: Making): void {
    const coverage = making.finish();
    if (this.#making === making && this.#knownCoverage() === making.coverage) {
      this.#cover(coverage);
      making.kept = true;
    }
  }

  /** Return how far the memory is summarised; what was planned for another window is void. */
  #knownCoverage(): Coverage {
    if (this.#covered !== this.memory) this.#cover(new Coverage(this.journal.waiting));
    return this.#coverage;
  }

  #cover(coverage: Coverage): void {
    this.#coverage = coverage;
    this.#covered = this.memory;
    this.#making = null;
  }

  protected newMemory(): MemoryManager {
    return new MemoryManager({
      maxTurns: this.#maxTurns,
      maxTokens: this.#maxTokens,
      trimTo: this.#trimTo,
      countTokens: this.#countTokens,
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
    const { dropped } = reply;
    const status = reply.interrupted ? "interrupted" : "complete";
    try {
      await this.journal.settle({ memory, message, dropped, status });
    } catch (cause) {
      if (!(cause instanceof TandemError)) throw cause;
      throw new ReplyNotStoredError(reply.content, { cause });
    }
    this.#cover(exchange.coverage);
    return reply;
  }
}

function userMessage({ content, images = [] }: Question): JsonObject | null {
  return content === null ? null : { role: "user", content, images: [...images] };
}

/** Return what the window may cost: the context less the answer's room and the tools. */
function tokenBudget({ numCtx, answerTokens }: ModelEntry, tools: readonly JsonObject[]): number {
  const budget = numCtx - answerTokens - estimateTools(tools);
  if (budget < 1) {
    const allowed = `so small that num_ctx, ${numCtx}, has room for a question and the tools`;
    throw new InvalidLimitError("answer_tokens", answerTokens, allowed);
  }
  return budget;
}
