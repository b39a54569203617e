/**
 * What fixtures call of the chat: a tree of models, and a chat whose engine speaks from a script.
 *
 * Twin: python/tests/chats.py.
 */

import { Corrections } from "../src/chat/correction.ts";
import type { Engine, ModelInfo, StreamOptions } from "../src/chat/engine.ts";
import type { ChatEvent } from "../src/chat/events.ts";
import { readModels } from "../src/chat/models.ts";
import { Chat } from "../src/chat/session.ts";
import type { ModelEntry } from "../src/chat/settings.ts";
import { makeEntry, readHost } from "../src/chat/settings.ts";
import type { Delta } from "../src/chat/wire.ts";
import { chatRequest, ReplyReader, serverError } from "../src/chat/wire.ts";
import { TandemError } from "../src/core/errors.ts";
import type { MemoryManager } from "../src/core/manager.ts";
import type { Message } from "../src/core/messages.ts";
import type { CountTokens } from "../src/core/turns.ts";
import { isObject } from "../src/core/values.ts";
import { camelKeys } from "./encoding.ts";
import type { Json, Subject } from "./fixtures.ts";

/** A model file's content, read anew for each call, so that a faulty one is thrown by it. */
export function modelsSubject(document: Json): Subject {
  return {
    call(name, { value, path, env = {} }) {
      if (name === "read_host") return readHost(value);
      const models = readModels(document, { file: "models.toml", env });
      return name === "paths" ? models.paths : snakeKeys(models.find(path));
    },
    state: () => null,
  };
}

/** A chat with the options that the case gives, and the replies of its engine. */
export function chatSubject(
  { entry = {}, replies, context_length = null, recall = null, corrections = {}, ...options }: Json,
  countTokens: CountTokens,
): Subject {
  const own = makeEntry("scripted", { model: "scripted", ...entry });
  const engine = scriptedEngine(own, replies, context_length);
  const learnt = new Corrections(corrections);
  const events: ChatEvent[] = [];
  const chat = new Chat(engine, {
    ...camelKeys(options),
    countTokens,
    corrections: learnt,
    recall: recallFrom(recall),
    onEvent: (event) => events.push(event),
  });
  return {
    async call(name, args) {
      switch (name) {
        case "last_request":
          return engine.requests.at(-1);
        case "events":
          return events.splice(0).map(shown);
        case "corrections":
          return learnt.weights;
        case "explain":
          return chat.memory.explain();
      }
      return callChat(chat, name, args);
    },
    state: () => told(chat.memory),
  };
}

/** Return a `recall` that knows what a case gives: a text for each question. */
function recallFrom(known: Json): ((question: string) => string | null) | undefined {
  return known === null ? undefined : (question) => known[question] ?? null;
}

/** Return what a fixture says of a chat's memory. */
export function told(memory: MemoryManager): Json {
  const { version: _, ...held } = memory.snapshot();
  return held;
}

export async function callChat(chat: Chat, name: string, args: Json): Promise<Json> {
  const { content, stop_after, tool_name, tool_call_id, value, ...options } = args;
  switch (name) {
    case "ask": {
      const reply = await chat.ask(content, options);
      await chat.settle();
      return shown(reply);
    }
    case "stream":
      return readStream(chat, content, stop_after);
    case "add_tool_message":
      return chat.addToolMessage(content, { toolName: tool_name, toolCallId: tool_call_id });
    case "clear":
      return chat.clear();
    case "undo":
      return chat.undo();
    case "summarize":
      return chat.summarize();
    case "set_system_prompt":
      chat.systemPrompt = value;
      return null;
    default:
      throw new Error(`no call ${name}`);
  }
}

async function readStream(chat: Chat, content: string, stopAfter?: number): Promise<Json> {
  const pieces: string[] = [];
  let thinking = "";
  const onThinking = (piece: string) => {
    thinking += piece;
  };
  const stream = chat.stream(content, { onThinking });
  while (pieces.length !== stopAfter) {
    const { done, value } = await stream.next();
    if (done) break;
    pieces.push(value);
  }
  await stream.close();
  await chat.settle();
  return { pieces, thinking, reply: shown(stream.reply) };
}

export type ScriptedEngine = Engine & { requests: Json[] };

/** Answers with the script's replies, one a question, as their lines come off the wire. */
export function scriptedEngine(
  own: ModelEntry,
  script: Json[],
  contextLength: number | null = null,
): ScriptedEngine {
  const requests: Json[] = [];
  const replies = script.values();

  async function* stream(
    messages: readonly Message[],
    { tools = [], format = null, entry = own }: StreamOptions = {},
  ): AsyncGenerator<Delta> {
    requests.push(chatRequest(entry, messages, { tools, format }));
    const reply = replies.next().value;
    if (!Array.isArray(reply)) throw serverError(reply.status, reply.error, entry, messages);
    const reader = new ReplyReader(entry, messages);
    for (const data of reply.flatMap(wireData)) yield* reader.feed(data);
    yield* reader.finish();
  }

  const show = async (): Promise<ModelInfo> => ({ contextLength, capabilities: [] });
  return { entry: own, requests, stream, show } as ScriptedEngine;
}

/** Return what arrives of an item of a scripted reply: its line, or bytes that come alone. */
function wireData(item: Json): Uint8Array[] {
  if (typeof item === "string") return wireData({ content: item });
  const encoder = new TextEncoder();
  if ("raw" in item) return Array.from(encoder.encode(item.raw), (byte) => Uint8Array.of(byte));
  const line = "done" in item || "error" in item ? item : { message: item, done: false };
  return [encoder.encode(`${JSON.stringify(line)}\n`)];
}

/** Return a reply or an event as a fixture writes it: without what is empty, but its content. */
function shown(value: Json): Json {
  if (value instanceof TandemError) return { code: value.code, data: value.data };
  if (!isObject(value)) return value;
  const items = Object.entries(snakeKeys(value)).map(([name, item]) => [
    name,
    name === "durations" ? shown(item) : item instanceof TandemError ? shown(item) : item,
  ]);
  return Object.fromEntries(items.filter(([name, item]) => name === "content" || !isEmpty(item)));
}

function isEmpty(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return !value || (Array.isArray(value) && value.length === 0);
}

function snakeKeys(value: object): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      item,
    ]),
  );
}
