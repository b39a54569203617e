/**
 * Messages: JSON objects in Ollama's own chat form, the same on the wire, in stores and fixtures.
 *
 * `readMessage` is the one door by which a message enters: it checks the known fields, makes every
 * text well-formed, and returns a copy of its own. Unknown fields are kept, whatever they hold.
 */

import { InvalidMessageError, quote } from "./errors.ts";
import { splitThinking } from "./thinking.ts";
import type { JsonObject, JsonValue } from "./values.ts";
import { copyJson, isObject, parseObject, readJson } from "./values.ts";

export type Role = "system" | "user" | "assistant" | "tool";

const ROLES = ["system", "user", "assistant", "tool"];

/** What a tool call asks for. `raw_arguments` is there only where they were unreadable. */
export interface ToolFunction {
  name: string;
  arguments: JsonObject;
  raw_arguments?: string;
}

/** One call of a tool; Ollama may leave the id out. */
export interface ToolCall {
  id?: string;
  function: ToolFunction;
}

/** One chat message. `images` are base64 texts; `synthetic` marks what the manager made. */
export interface Message {
  role: Role;
  content: string;
  thinking?: string;
  images?: string[];
  tool_calls?: ToolCall[];
  tool_name?: string;
  tool_call_id?: string;
  synthetic?: boolean;
}

/**
 * Return the message that `value` is, as a copy of its own.
 *
 * Null and empty optional fields are left out, so that "absent" has one form. `content` may be
 * absent or null only beside tool calls, where it becomes `""`. Tool arguments that come as a JSON
 * text (OpenAI's form) become the object that they hold; a text that holds none is kept in
 * `raw_arguments` beside empty `arguments`, so that nothing is lost and every request is valid.
 * An assistant's leading `<think>` block becomes its `thinking`, unless it has that already.
 *
 * Throws `InvalidMessageError`; `path` is put before the path that it names.
 */
export function readMessage(value: unknown, path = ""): Message {
  const fields = readJson(value, path);
  if (!isObject(fields)) {
    throw new InvalidMessageError(path, "wrong_type", `must be an object, not ${quote(fields)}`);
  }
  const dot = path ? `${path}.` : "";
  for (const name of ["thinking", "images", "tool_calls", "tool_name", "tool_call_id"]) {
    if (isEmpty(fields[name])) delete fields[name];
  }
  const role = readText(fields, "role", dot);
  if (!ROLES.includes(role)) {
    const hint = `is ${quote(role)}; it must be one of ${ROLES.join(", ")}`;
    throw new InvalidMessageError(`${dot}role`, "unknown_role", hint);
  }
  if (fields.tool_calls !== undefined) {
    if (role !== "assistant") {
      const hint = `are an assistant's to make, not a ${role}'s`;
      throw new InvalidMessageError(`${dot}tool_calls`, "not_allowed", hint);
    }
    fields.tool_calls = readCalls(fields.tool_calls, `${dot}tool_calls`);
    fields.content ??= "";
  }
  readText(fields, "content", dot);
  for (const name of ["thinking", "tool_name", "tool_call_id"]) {
    if (fields[name] !== undefined) readText(fields, name, dot);
  }
  const images = fields.images ?? [];
  if (!Array.isArray(images) || !images.every((image) => typeof image === "string")) {
    throw new InvalidMessageError(`${dot}images`, "wrong_type", "must be a list of base64 strings");
  }
  if (role === "assistant" && fields.thinking === undefined) moveThinking(fields);
  return fields as unknown as Message;
}

function moveThinking(fields: JsonObject): void {
  const thought = splitThinking(String(fields.content));
  fields.content = thought.content;
  if (thought.thinking) fields.thinking = thought.thinking;
}

function isEmpty(value: JsonValue | undefined): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function readText(fields: JsonObject, name: string, dot: string): string {
  const value = fields[name] ?? null;
  if (value === null) {
    throw new InvalidMessageError(`${dot}${name}`, "missing", "is missing; it must be a string");
  }
  if (typeof value !== "string") {
    const hint = `must be a string, not ${quote(value)}`;
    throw new InvalidMessageError(`${dot}${name}`, "wrong_type", hint);
  }
  return value;
}

function readCalls(value: JsonValue, path: string): JsonValue {
  if (!Array.isArray(value)) {
    throw new InvalidMessageError(path, "wrong_type", `must be a list, not ${quote(value)}`);
  }
  return value.map((call, i) => readCall(call, `${path}[${i}]`));
}

function readCall(call: JsonValue, path: string): JsonObject {
  if (!isObject(call)) {
    throw new InvalidMessageError(path, "wrong_type", `must be an object, not ${quote(call)}`);
  }
  if (call.id === null || call.id === "") delete call.id;
  if (call.id !== undefined) readText(call, "id", `${path}.`);
  const called = call.function;
  if (!isObject(called)) {
    const hint = 'must be an object {"name", "arguments"}';
    throw new InvalidMessageError(`${path}.function`, "wrong_type", hint);
  }
  readText(called, "name", `${path}.function.`);
  const args = called.arguments ?? null;
  if (args === null || args === "") {
    called.arguments = {};
  } else if (typeof args === "string") {
    const parsed = parseObject(args, `${path}.function.arguments`);
    called.arguments = parsed ?? {};
    if (parsed === null) called.raw_arguments = args;
  } else if (!isObject(args)) {
    const hint = `must be an object, not ${quote(args)}`;
    throw new InvalidMessageError(`${path}.function.arguments`, "wrong_type", hint);
  }
  return call;
}

/** Return a copy as a model is sent it: without `thinking`, unless that is asked for. */
export function sentMessage(
  message: Message,
  { includeThinking = false }: { includeThinking?: boolean } = {},
): Message {
  const sent = copyJson(message);
  if (!includeThinking) delete sent.thinking;
  return sent;
}
