/** Values as fixtures write them, and back; twin: python/tests/encoding.py. */

import { isObject } from "../src/core/values.ts";

// biome-ignore lint/suspicious/noExplicitAny: a fixture's JSON is looked into freely; `runCase` compares it whole
export type Json = any;

/** Return a fixture's value as a JavaScript value of its own. */
export function decode(value: Json): Json {
  if (Array.isArray(value)) return value.map(decode);
  if (!isObject(value)) return value;
  const fields = Object.entries(value);
  if (fields.length === 1 && "$number" in value) return Number(value.$number);
  return Object.fromEntries(fields.map(([key, item]) => [key, decode(item)]));
}

/** Return a JavaScript value as a fixture writes it. */
export function encode(value: Json): Json {
  if (Array.isArray(value)) return value.map(encode);
  if (isObject(value)) {
    const fields = Object.entries(value);
    if (fields.length === 2 && "role" in value && "content" in value) {
      return `${value.role}: ${value.content}`;
    }
    return Object.fromEntries(fields.map(([key, item]) => [key, encode(item)]));
  }
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  return value;
}

export function expand(message: Json): Json {
  if (typeof message !== "string") return message;
  const end = message.indexOf(": ");
  return { role: message.slice(0, end), content: message.slice(end + 2) };
}

/** Overwrite a value as deep as it goes: whoever holds it must not have handed it out. */
export function spoil(value: Json): void {
  if (Array.isArray(value)) {
    value.forEach(spoil);
    value.splice(0, value.length, "spoilt");
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      spoil(value[key]);
      value[key] = "spoilt";
    }
  }
}

/** Return a value as text with its keys in order. */
export function write(value: Json): string {
  return JSON.stringify(
    value,
    (_, item) =>
      isObject(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
        : item,
    1,
  );
}

export function camelKeys(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, item]) => [camelCase(key), item]));
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
