/**
 * Engines: what a model must offer to be chatted with, and Ollama.
 *
 * An engine stands for one model entry. All that it knows of the wire is in `wire`.
 */

import type { ProgressResponse, ShowResponse } from "ollama";
import { Ollama } from "ollama";
import { ServerUnreachableError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { JsonObject, JsonValue } from "../core/values.ts";
import { wholeNumber } from "../core/values.ts";
import type { ModelEntry } from "./settings.ts";
import type { Delta } from "./wire.ts";
import { chatRequest, ReplyReader, readError, serverError } from "./wire.ts";

/** What a model is: its whole context in tokens, and what it can do (`tools`, `thinking`, …). */
export interface ModelInfo {
  readonly contextLength: number | null;
  readonly capabilities: readonly string[];
}

/** How far a pull is: `completed` of `total` bytes of the part that `status` names. */
export interface PullProgress {
  readonly status: string;
  readonly completed: number | null;
  readonly total: number | null;
}

export interface StreamOptions {
  /** Tools as JSON schemas in Ollama's form. */
  tools?: readonly JsonObject[];
  /** A JSON schema (or `"json"`) that the answer keeps to. */
  format?: JsonValue;
  /** The settings of this one answer, where they are not the engine's own. */
  entry?: ModelEntry;
  /** Closes the connection when it aborts. */
  signal?: AbortSignal | undefined;
}

/** What a model must offer. All that goes wrong is thrown as a `TandemError`. */
export interface Engine {
  /** The model and its settings. */
  readonly entry: ModelEntry;

  /**
   * Send `messages` and yield the answer as it comes; the last delta has the `ending`.
   *
   * Leaving the iteration, or aborting `signal`, closes the connection, at which the server stops;
   * an abort throws the signal's reason. Throws `ReplyBrokenOffError` where the server ends without
   * an ending.
   */
  stream(messages: readonly Message[], options?: StreamOptions): AsyncGenerator<Delta>;

  /** Fetch the model onto the server and yield how far it is. */
  pull(options?: { signal?: AbortSignal | undefined }): AsyncGenerator<PullProgress>;

  /** Return the names of the models on the server. */
  models(): Promise<string[]>;

  /** Return what the model is, or throw `ModelNotFoundError`. */
  show(): Promise<ModelInfo>;
}

/** A model on an Ollama server, through the official client. It tries nothing twice. */
export class OllamaEngine implements Engine {
  readonly entry: ModelEntry;
  readonly #client: Client;

  constructor(entry: ModelEntry) {
    this.entry = entry;
    this.#client = new Client({ host: entry.host, fetch: checkedFetch });
  }

  /** Send `messages` and yield the answer as it comes; see `Engine.stream`. */
  async *stream(
    messages: readonly Message[],
    { tools = [], format = null, entry = this.entry, signal }: StreamOptions = {},
  ): AsyncGenerator<Delta> {
    const body = chatRequest(entry, messages, { tools, format });
    const reader = new ReplyReader(entry, messages);
    const response = await this.#client
      .sendChat(body, signal)
      .catch((error) => clientError(error, entry, { messages, signal }));
    for await (const piece of breakingOff(response.body, reader, signal)) yield* reader.feed(piece);
    yield* reader.finish();
  }

  /** Fetch the model onto the server and yield how far it is. */
  async *pull({ signal }: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<PullProgress> {
    try {
      signal?.throwIfAborted();
      const stream = await this.#client.pull({ model: this.entry.model, stream: true });
      const abort = () => stream.abort();
      signal?.addEventListener("abort", abort);
      try {
        for await (const progress of stream) yield readProgress(progress);
      } finally {
        signal?.removeEventListener("abort", abort);
        abort();
      }
    } catch (error) {
      clientError(error, this.entry, { signal });
    }
  }

  /** Return the names of the models on the server. */
  async models(): Promise<string[]> {
    const { models } = await this.#client.list().catch((error) => clientError(error, this.entry));
    return models.map((model) => model.name);
  }

  /** Return what the model is, or throw `ModelNotFoundError`. */
  async show(): Promise<ModelInfo> {
    const shown = await this.#client
      .show({ model: this.entry.model })
      .catch((error) => clientError(error, this.entry));
    return readInfo(shown);
  }
}

/** The official client, with the chat request sent as it is. */
class Client extends Ollama {
  sendChat(body: JsonObject, signal: AbortSignal | undefined): Promise<Response> {
    const headers = new Headers(this.config.headers);
    headers.set("Content-Type", "application/json");
    const init = { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null };
    return this.fetch(`${this.config.host}/api/chat`, init);
  }
}

/** An answer of the server that is none. */
class StatusError extends Error {
  readonly status: number;
  readonly detail: JsonValue;

  constructor(status: number, detail: JsonValue) {
    super(`status ${status}`);
    this.status = status;
    this.detail = detail;
  }
}

/** Fetch, and throw `StatusError` before the client prints to the console what it can't read. */
async function checkedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  if (!response.ok) throw new StatusError(response.status, readError(await response.text()));
  return response;
}

/** Throw what an error of the client, or of `fetch`, means. */
function clientError(
  error: unknown,
  entry: ModelEntry,
  {
    messages = [],
    signal,
  }: { messages?: readonly Message[]; signal?: AbortSignal | undefined } = {},
): never {
  signal?.throwIfAborted();
  if (error instanceof StatusError) throw serverError(error.status, error.detail, entry, messages);
  if (error instanceof TypeError) throw new ServerUnreachableError(entry.host);
  // The client knows no class for an error in mid-stream, nor for a stream without its end.
  throw serverError(200, error instanceof Error ? error.message : String(error), entry, messages);
}

/** Yield the pieces of a body, and say of a connection that ends early how far the answer came. */
async function* breakingOff(
  body: ReadableStream<Uint8Array> | null,
  reader: ReplyReader,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    if (body) yield* body;
  } catch {
    signal?.throwIfAborted();
    throw reader.brokenOff();
  }
}

function readProgress({ status, completed, total }: ProgressResponse): PullProgress {
  return { status, completed: completed ?? null, total: total ?? null };
}

function readInfo({ model_info, capabilities }: ShowResponse): ModelInfo {
  // The client's types say Map; it is the object that the server sent.
  const info = Object(model_info) as Record<string, unknown>;
  const contextLength = wholeNumber(info[`${info["general.architecture"]}.context_length`]);
  return { contextLength, capabilities: capabilities ?? [] };
}
