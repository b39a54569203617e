/** `Conversation`: all of a chat that waits for nothing. */

import { InvalidLimitError } from "../core/errors.ts";
import { MemoryManager } from "../core/manager.ts";
import { estimateTokens, estimateTools } from "../core/tokens.ts";
import type { CountTokens } from "../core/turns.ts";
import type { JsonObject } from "../core/values.ts";
import { copyJson } from "../core/values.ts";
import type { Engine } from "./engine.ts";
import { OllamaEngine } from "./engine.ts";
import type { Question, Reply } from "./exchange.ts";
import { Exchange } from "./exchange.ts";
import type { ModelEntry } from "./settings.ts";
import { half } from "./settings.ts";

export interface ConversationOptions {
  systemPrompt?: string | null | undefined;
  maxTurns?: number | null | undefined;
  trimTo?: number | null | undefined;
  maxTokens?: number | null | undefined;
  countTokens?: CountTokens | undefined;
  tools?: readonly JsonObject[] | undefined;
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
  #memory: MemoryManager;
  #playing: Exchange | null = null;

  constructor(
    model: ModelEntry | Engine,
    {
      systemPrompt = null,
      maxTurns,
      trimTo,
      maxTokens,
      countTokens = estimateTokens,
      tools = [],
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
    this.#memory = this.#newMemory();
    this.#memory.systemPrompt = systemPrompt;
  }

  /**
   * The window as the last exchange left it; each exchange that ends well makes a new one.
   *
   * Read it at will. Change it by the methods of the chat alone, which wait their turn.
   */
  get memory(): MemoryManager {
    return this.#memory;
  }

  /** The system message's text. Setting it takes effect with the next question. */
  get systemPrompt(): string | null {
    return this.#memory.systemPrompt;
  }

  set systemPrompt(value: string | null) {
    this.#memory.systemPrompt = value;
    if (this.#playing) this.#playing.memory.systemPrompt = value;
  }

  /** Begin an exchange on a copy of the memory. */
  protected begin(question: Question): Exchange {
    const memory = this.#newMemory();
    memory.restore(this.#memory.snapshot());
    this.#playing = new Exchange(memory, this.engine.entry, question);
    return this.#playing;
  }

  /** End it: remember what it made of the question, or nothing where it has no reply. */
  protected end(exchange: Exchange, reply: Reply | null): void {
    this.#playing = null;
    if (reply) this.#memory = exchange.memory;
  }

  #newMemory(): MemoryManager {
    return new MemoryManager({
      maxTurns: this.#maxTurns,
      maxTokens: this.#maxTokens,
      trimTo: this.#trimTo,
      countTokens: this.#countTokens,
    });
  }
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
