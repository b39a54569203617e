/**
 * `Chat`: a conversation with a model that remembers, question by question.
 *
 * A question is in the window before the model is called. Where the call fails, the memory is as it
 * was before the question, and asking again doubles nothing. Where the reader stops in mid-answer,
 * the part that came is kept and marked `interrupted`; if no text came, the question has failed.
 *
 * One question is answered at a time. Another that is asked meanwhile waits while somebody waits for
 * the model; a stream that nobody is reading just then is interrupted by it, and its part kept.
 *
 * A chat that was opened on a store writes all of it there: the question before the model is called,
 * failed ones too. It then holds the session's lease for the turn, so that chats of other processes
 * wait until it has ended, and takes over what they have made of the session.
 */

import { ContextTruncatedError, ModelNotFoundError, ServerFailedError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { JsonValue } from "../core/values.ts";
import type { Store } from "../storage/store.ts";
import { MOST_TURNS } from "./backlog.ts";
import type { ConversationOptions, Outcome } from "./conversation.ts";
import { Conversation } from "./conversation.ts";
import type { Engine, ModelInfo } from "./engine.ts";
import type { Exchange, Question, Reply } from "./exchange.ts";
import { message } from "./exchange.ts";
import { Lock } from "./lock.ts";
import type { ModelEntry } from "./settings.ts";
import { StoredJournal } from "./stored.ts";
import { ChatStream } from "./stream.ts";
import type { Making } from "./summarizer.ts";

export interface OpenOptions extends ConversationOptions {
  model: ModelEntry | Engine;
  waitMilliseconds?: number | undefined;
  leaseMilliseconds?: number | undefined;
}

export interface AskOptions {
  images?: readonly string[] | undefined;
  format?: JsonValue | undefined;
  onThinking?: ((piece: string) => void) | undefined;
  /** Interrupts the answer, closes the connection, and throws its reason to the reader. */
  signal?: AbortSignal | undefined;
}

/** A chat; see `Conversation` for what it takes. */
export class Chat extends Conversation {
  readonly #lock = new Lock();
  #open: ChatStream | null = null;
  #summary: { made: Promise<boolean>; stop: AbortController } | null = null;

  /**
   * Open a user's session, with its window as it was left, and go on with it.
   *
   * `sessionId`: an id that the user has no session of is given to a new one; null makes a new
   *     session of an id of its own. To go on with the newest, see `Store.listSessions`.
   * `systemPrompt`: wins over the stored one; null takes that, `""` is none.
   * `waitMilliseconds`: how long a question waits while another process has the session, before it
   *     throws `SessionBusyError`.
   * `leaseMilliseconds`: how long others wait for a process that died in mid-answer.
   *
   * The rest is as in `Conversation`. What the store throws is thrown by each call; an answer that
   * it does not take throws `ReplyNotStoredError`.
   */
  static async open(
    store: Store,
    userId: string,
    sessionId: string | null = null,
    { model, waitMilliseconds = 30_000, leaseMilliseconds = 10_000, ...options }: OpenOptions,
  ): Promise<Chat> {
    const chat = new Chat(model, options);
    chat.journal = await StoredJournal.open(() => chat.newMemory(), store, userId, sessionId, {
      systemPrompt: options.systemPrompt ?? null,
      waitMilliseconds,
      leaseMilliseconds,
      mostWaiting: options.summarize ? MOST_TURNS : 0,
    });
    return chat;
  }

  /** Ask, wait for the whole answer and return it; `stream` says the rest. */
  ask(content: string | null, options: AskOptions = {}): Promise<Reply> {
    return this.stream(content, options).read();
  }

  /**
   * Ask, and return the answer's text as a stream, which begins with its first piece.
   *
   * `content`: the question. Null goes on after tool results: where a reply has `toolCalls`, add
   *     each result with `addToolMessage` and ask null.
   * `images`: base64 texts. `format`: a JSON schema (or `"json"`) that the answer keeps to.
   * `onThinking`: called with each piece of the model's thinking, which is no part of the text.
   *
   * Throws `BudgetExceededError` where the window can't hold the question, `NoAnswerError` where the
   * model says nothing, and what `Engine.stream` throws.
   */
  stream(
    content: string | null,
    { images, format, onThinking, signal }: AskOptions = {},
  ): ChatStream {
    const question = { content, images, format, onThinking };
    return new ChatStream(
      (stream, closing) => this.#answer(question, stream, closing, signal),
      this.#lock,
    );
  }

  /** Add a tool's result; see `MemoryManager.addToolMessage`. */
  async addToolMessage(
    content: string,
    { toolName, toolCallId }: { toolName?: string; toolCallId?: string } = {},
  ): Promise<Message[]> {
    const ids = { tool_name: toolName ?? null, tool_call_id: toolCallId ?? null };
    const dropped = await this.#alone(() => this.addResult({ role: "tool", content, ...ids }));
    this.teller.tell();
    return dropped;
  }

  /** Empty the conversation; the system prompt stays. */
  clear(): Promise<void> {
    return this.#alone(() => this.empty());
  }

  /** Drop the last turn of the window and return its messages. */
  undo(): Promise<Message[]> {
    return this.#alone(() => this.takeBack());
  }

  /**
   * Summarise the turns that the next trim is to drop, and those that left unsummarised.
   *
   * The model is asked meanwhile; the chat may go on, and a question ends it. The summary takes its
   * place in the system message together with the trim, where it has room; a stored chat saves it
   * then. Returns whether one was made: false where there is nothing to summarise, and where it
   * failed, which changes nothing and can be tried again. With `summarize` on it is called after
   * every answer.
   */
  async summarize(): Promise<boolean> {
    await this.#lock.hold(async () => this.#startSummary());
    return this.settle();
  }

  /** Wait until no summary is being made; returns whether the last one was. */
  async settle(): Promise<boolean> {
    return (await this.#summary?.made) ?? false;
  }

  /** Stop a summary being made, and an answer left unread; the chat may go on all the same. */
  close(): Promise<void> {
    return this.#lock.hold(() => this.#interrupt());
  }

  /** Wait until nobody waits for the model, interrupt what is left unread, and work. */
  #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#lock.hold(async () => {
      await this.#interrupt();
      try {
        await this.journal.hold();
        return await work();
      } finally {
        await this.journal.release();
      }
    });
  }

  async #interrupt(): Promise<void> {
    this.summarizer.making = null;
    this.#summary?.stop.abort();
    this.#summary = null;
    await this.#open?.close();
  }

  async *#answer(
    question: Question,
    stream: ChatStream,
    closing: AbortSignal,
    given: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    await this.#interrupt();
    this.#open = stream;
    const signal = given ? AbortSignal.any([closing, given]) : closing;
    let outcome: Outcome = "interrupted";
    try {
      await this.journal.hold({ signal });
      await this.journal.ask(message(question));
      await this.#look(signal);
      let exchange: Exchange | null = this.begin(question);
      while (exchange) {
        try {
          yield* this.#read(exchange, signal);
          exchange = null;
        } catch (error) {
          if (!(exchange && error instanceof ContextTruncatedError)) throw error;
          exchange = this.again(exchange, error);
        }
      }
      outcome = "finished";
    } catch (error) {
      if (!signal.aborted) outcome = "failed";
      if (!closing.aborted) throw error;
    } finally {
      this.#open = null;
      try {
        stream.reply = await this.end(outcome);
        const isDue = outcome === "finished" && this.summarizes && this.summarizer.countAnswer();
        if (isDue) this.#startSummary();
      } finally {
        this.teller.tell();
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (!this.isUnseen()) return;
    let info: ModelInfo | null = null;
    try {
      info = await unlessAborted(this.engine.show(), signal);
    } catch (error) {
      // The question will tell, and it may be pulled then.
      if (error instanceof ModelNotFoundError) return;
      if (!(error instanceof ServerFailedError)) throw error; // else it may answer all the same
    }
    this.see(info);
  }

  async *#read(exchange: Exchange, signal: AbortSignal): AsyncGenerator<string> {
    const { question, entry } = exchange;
    if (this.recall && this.asksRecall(exchange)) {
      const recalled = this.recall(question.content ?? "");
      this.putContext(exchange, await unlessAborted(recalled, signal));
    }
    const { tools } = this;
    const format = question.format ?? null;
    const deltas = this.engine.stream(exchange.messages, { tools, format, entry, signal });
    for await (const delta of deltas) {
      const shown = exchange.take(delta);
      if (shown.thinking) question.onThinking?.(shown.thinking);
      if (shown.content) yield shown.content;
    }
  }

  #startSummary(): void {
    this.#summary?.stop.abort();
    const making = this.plan();
    const stop = new AbortController();
    this.#summary = making && { made: this.#makeSummary(making, stop.signal), stop };
    this.#summary?.made.catch(() => {}); // what `onEvent` throws is for whoever waits
  }

  async #makeSummary(making: Making, signal: AbortSignal): Promise<boolean> {
    try {
      const { entry, messages } = making;
      for await (const delta of this.engine.stream(messages, { entry, signal })) making.take(delta);
      await this.#lock.hold(async () => this.keep(making));
    } catch (error) {
      // The chat goes on as it would without a summary.
      this.failed(making, error);
    }
    return making.kept;
  }
}

/** Wait for `value`; throws the signal's reason as soon as it aborts. */
async function unlessAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
