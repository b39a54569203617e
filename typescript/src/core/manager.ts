/**
 * `MemoryManager`: the controller between the messages and the model.
 *
 * A language model is stateless: the application keeps the messages and decides what the model
 * sees. This class holds the window and nothing else; its rules are the pure functions of `turns`
 * and `window`.
 */

import { BudgetExceededError } from "./errors.ts";
import type { ExplainedPart, Explanation } from "./explanation.ts";
import { explainCut, explainWindow } from "./explanation.ts";
import type { Context, Frame } from "./frame.ts";
import { countContext, makeFrame, placeContext, readContext } from "./frame.ts";
import type { Message, ToolCall } from "./messages.ts";
import { readMessage, sentMessage } from "./messages.ts";
import type { Snapshot } from "./snapshot.ts";
import { readSnapshot, readSystemPrompt, writeSnapshot } from "./snapshot.ts";
import type { Summary } from "./summary.ts";
import { readSummary } from "./summary.ts";
import { estimateTokens } from "./tokens.ts";
import type { CountTokens, Turn } from "./turns.ts";
import { appendMessage, arrivingMessages, countMessage, takeSteps, turnMessages } from "./turns.ts";
import { copyJson } from "./values.ts";
import type { Limits, WindowOptions } from "./window.ts";
import { cutTurns, foreseeCut, readLimits } from "./window.ts";

export interface MemoryManagerOptions extends WindowOptions {
  systemPrompt?: string | null | undefined;
}

/**
 * Keeps a conversation's window: the system message, then the newest turns, always whole.
 *
 * `systemPrompt`: the one system message's text; null or `""` is none.
 * `maxTurns`: how many closed turns are kept beside the open one; default 20, null is no limit.
 * `maxTokens`: the window's token budget, the system message included; null is no limit.
 * `trimTo`: how many closed turns a trim leaves, once a limit is passed; default `maxTurns`.
 *     A smaller number lets the front of the prompt stand still for many turns, so that a model
 *     server's prompt cache keeps serving; the token budget is then trimmed by the same share.
 * `countTokens`: the tokens of one message as it is sent; default `estimateTokens`.
 *
 * Messages are copied on their way in and out. Trimming happens on every add, and an add returns
 * what it dropped. After an error the manager is as it was before the call. Throws
 * `InvalidLimitError`, and `BudgetExceededError` for a system prompt that can't fit alone.
 *
 * The two most used options may also be given by position: `new MemoryManager("Be kind.", 5)`.
 */
export class MemoryManager {
  readonly #limits: Limits;
  readonly #countTokens: CountTokens;
  #frame: Frame;
  // The window is #turns from #start on. What left stays in front until it is as long as the
  // window: so dropping a turn costs the same however long the window is.
  #turns: Turn[] = [];
  #start = 0;
  #tokens = 0;
  #droppedTurns = 0;
  #dropped: ExplainedPart[] = [];

  constructor(options?: MemoryManagerOptions);
  constructor(systemPrompt: string | null, maxTurns?: number | null);
  constructor(first: MemoryManagerOptions | string | null = {}, second?: number | null) {
    const options =
      typeof first === "string" || first === null
        ? { systemPrompt: first, maxTurns: second }
        : first;
    const { systemPrompt = null, maxTurns = 20, maxTokens = null, trimTo = null } = options;
    this.#limits = readLimits(maxTurns, maxTokens, trimTo);
    this.#countTokens = options.countTokens ?? estimateTokens;
    this.#frame = makeFrame(null, null, null, this.#countTokens);
    this.systemPrompt = systemPrompt;
  }

  /** The system message's text. Setting it takes effect at once, but trims nothing. */
  get systemPrompt(): string | null {
    return this.#frame.systemPrompt;
  }

  set systemPrompt(value: string | null) {
    this.#setFrame(readSystemPrompt(value), this.#frame.summary, this.#frame.context);
  }

  /**
   * What stands for turns that have left, sent in the system message behind its prompt.
   *
   * Setting it takes effect at once, but trims nothing; `clear` drops it. It tells of the first
   * `turns` turns of the conversation: `explain` says which of them have left.
   */
  get summary(): Summary | null {
    return copyJson(this.#frame.summary);
  }

  set summary(value: Summary | null) {
    this.#setFrame(this.#frame.systemPrompt, readSummary(value), this.#frame.context);
  }

  /**
   * What was recalled from elsewhere, sent as it is, in its place.
   *
   * Setting it takes effect at once, but trims nothing; `clear` drops it. Before the question it
   * counts as a message of its own.
   */
  get context(): Context | null {
    return copyJson(this.#frame.context);
  }

  set context(value: Context | null) {
    this.#setFrame(this.#frame.systemPrompt, this.#frame.summary, readContext(value));
  }

  /** The tokens of the window, by `countTokens`. */
  get tokens(): number {
    return this.#frame.tokens + this.#tokens;
  }

  /** How many turns have left the window since the conversation began. */
  get droppedTurns(): number {
    return this.#droppedTurns;
  }

  /** Whether the window is over `maxTokens`: a reply or a tool result is never refused. */
  get overBudget(): boolean {
    return this.#limits.maxTokens !== null && this.tokens > this.#limits.maxTokens;
  }

  /**
   * Open a new turn; `images` are base64 texts. Returns the messages that left the window.
   *
   * Tool calls still unanswered first get a result that says there is none. Throws
   * `BudgetExceededError` where the message can't fit with the system prompt.
   */
  addUserMessage(content: string, { images }: { images?: readonly string[] } = {}): Message[] {
    return this.add({ role: "user", content, images });
  }

  /**
   * Add the model's reply. Returns the messages that left the window.
   *
   * Where `thinking` is not given, a leading `<think>` block of `content` becomes it.
   */
  addAssistantMessage(
    content: string,
    { thinking, toolCalls }: { thinking?: string; toolCalls?: readonly ToolCall[] } = {},
  ): Message[] {
    return this.add({ role: "assistant", content, thinking, tool_calls: toolCalls });
  }

  /**
   * Add a tool's result. Returns the messages that left the window.
   *
   * It answers the call of that id; without an id, the first unanswered call of that name. Throws
   * `ToolCallNotFoundError` where there is none.
   */
  addToolMessage(
    content: string,
    { toolName, toolCallId }: { toolName?: string; toolCallId?: string } = {},
  ): Message[] {
    return this.add({ role: "tool", content, tool_name: toolName, tool_call_id: toolCallId });
  }

  /** Add a message in Ollama's chat form, unknown fields and all. Returns what left. */
  add(message: unknown): Message[] {
    const read = readMessage(message);
    const arriving = arrivingMessages(this.#newest(), read).map((each) => ({
      message: each,
      cost: countMessage(each, this.#countTokens),
    }));
    if (read.role === "user") this.#require(this.#frame.tokens + (arriving.at(-1)?.cost ?? 0));
    for (const each of arriving) {
      appendMessage(this.#turns, each.message, each.cost);
      this.#tokens += each.cost;
    }
    return this.#trim();
  }

  /** Return what a model is to be sent, as copies; `thinking` only where asked for. */
  getMessages({ includeThinking = false }: { includeThinking?: boolean } = {}): Message[] {
    const system = this.#frame.system ? [this.#frame.system] : [];
    const kept = placeContext([...system, ...turnMessages(this.#window())], this.#frame.context);
    return kept.map((message) => sentMessage(message, { includeThinking }));
  }

  /**
   * Return the turns that the next trim is to drop, oldest first, once it is near; else [].
   *
   * It is near when there are `maxTurns` closed turns, or when three quarters of `maxTokens` are
   * used up. What is returned can be summarised before it leaves.
   */
  leaving(): Message[][] {
    const turns = this.#window();
    const leaving = turns.slice(0, foreseeCut(turns, this.#limits, this.tokens));
    return copyJson(leaving.map((turn) => turnMessages([turn])));
  }

  /** Empty the conversation, drop its summary and its context; the system prompt stays. */
  clear(): void {
    this.#setFrame(this.#frame.systemPrompt, null, null);
    this.#replace([], 0);
  }

  /** Drop the window's last turn and return its messages; none that left comes back. */
  undo(): Message[] {
    const turns = this.#window();
    // One that the summary tells of counts as one that left: the next turn is not told yet.
    const told = Math.min(this.#told(), turns.length);
    const rest = turns.slice(0, -1);
    this.#replace(rest, this.#droppedTurns + Math.max(told - rest.length, 0));
    return turnMessages(turns.slice(-1));
  }

  /** Return all that the manager holds, thinking too, as a JSON document of its own. */
  snapshot(): Snapshot {
    const messages = turnMessages(this.#window());
    return copyJson(writeSnapshot(this.#frame, this.#droppedTurns, messages));
  }

  /**
   * Take a snapshot's place, trimmed by this manager's own limits. Returns what left by them.
   *
   * `trim`: false leaves the trimming to the next add. Throws `InvalidSnapshotError`.
   */
  restore(snapshot: unknown, { trim = true }: { trim?: boolean } = {}): Message[] {
    const { frame, droppedTurns, turns } = readSnapshot(snapshot, this.#countTokens);
    this.#frame = frame;
    this.#replace(turns, droppedTurns);
    return trim ? this.#trim() : [];
  }

  /**
   * Tell for each turn whether it is kept, by which rule it left, and at what token cost.
   *
   * It covers the window and what the last add dropped.
   */
  explain(): Explanation {
    return {
      tokens: this.tokens,
      max_tokens: this.#limits.maxTokens,
      max_turns: this.#limits.maxTurns,
      trim_to: this.#limits.trimTo,
      over_budget: this.overBudget,
      system_prompt: this.#frame.systemPrompt,
      summary: this.summary,
      context: this.context,
      system_tokens: this.#frame.systemTokens,
      context_tokens: countContext(this.#frame, this.#countTokens),
      dropped_turns: this.#droppedTurns,
      parts: copyJson(explainWindow(this.#window(), this.#dropped, this.#told())),
    };
  }

  #window(): Turn[] {
    return this.#turns.slice(this.#start);
  }

  #newest(): Turn | undefined {
    return this.#start < this.#turns.length ? this.#turns.at(-1) : undefined;
  }

  /** Return how many of the window's turns the summary tells of, below 0 as they are short. */
  #told(): number {
    return (this.#frame.summary?.turns ?? 0) - this.#droppedTurns;
  }

  #setFrame(systemPrompt: string | null, summary: Summary | null, context: Context | null): void {
    const frame = makeFrame(systemPrompt, summary, context, this.#countTokens);
    // Else it may be over the budget, and gets no worse.
    if (frame.tokens > this.#frame.tokens) this.#require(frame.tokens);
    this.#frame = frame;
  }

  #require(tokens: number): void {
    const allowed = this.#limits.maxTokens;
    if (allowed !== null && tokens > allowed) throw new BudgetExceededError(tokens, allowed);
  }

  #replace(turns: Turn[], droppedTurns: number): void {
    this.#turns = turns;
    this.#droppedTurns = droppedTurns;
    this.#start = 0;
    this.#tokens = turns.reduce((total, turn) => total + turn.tokens, 0);
    this.#dropped = [];
  }

  #trim(): Message[] {
    const cut = cutTurns(this.#turns, this.#limits, this.tokens, this.#start);
    const end = this.#start + cut.turns;
    const left = this.#turns.slice(this.#start, end);
    const newest = this.#turns.at(-1);
    const steps = newest && cut.steps > 0 ? takeSteps(newest, cut.steps) : [];
    this.#dropped = explainCut(left, steps, cut);
    this.#start = end;
    this.#tokens -= cut.tokens;
    this.#droppedTurns += cut.turns;
    if (this.#start * 2 >= this.#turns.length) {
      this.#turns.splice(0, this.#start);
      this.#start = 0;
    }
    return copyJson(this.#dropped.flatMap((part) => part.messages));
  }
}
