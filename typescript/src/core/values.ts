/**
 * JSON values that are the same in both languages: checked and copied on entry, one text form.
 *
 * What one language can hold and the other can't is settled here. A lone surrogate becomes U+FFFD,
 * an integer beyond 2^53 - 1 is refused (JavaScript would round it), NaN and the infinities are
 * refused (JSON has none), and `1.0` is `1`, `-0` is `0`.
 */

import { InvalidMessageError } from "./errors.ts";

const TYPE_NAMES = "null, a boolean, a number, a string, a list or an object";

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** How deep values may be nested; far below where either language's stack ends. */
const MAX_DEPTH = 100;

/** Return `text` with each lone surrogate replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Return `value` as a JSON value of its own, or throw `InvalidMessageError` naming the path. */
export function readJson(value: unknown, path: string, depth = 0): JsonValue {
  if (typeof value === "string") return wellFormed(value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return readNumber(value, path);
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) {
    throw new InvalidMessageError(path, "wrong_type", `must be ${TYPE_NAMES}`);
  }
  if (depth === MAX_DEPTH) {
    throw new InvalidMessageError(path, "too_deep", `is nested over ${MAX_DEPTH} levels deep`);
  }
  if (isList) return value.map((item, i) => readJson(item, `${path}[${i}]`, depth + 1));
  return readObject(value, path, depth);
}

/** Whether `value` is a plain object, from whichever realm (a frame's objects count too). */
export function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function readObject(fields: Record<string, unknown>, path: string, depth: number): JsonObject {
  const keys = Object.keys(fields).filter((key) => fields[key] !== undefined);
  // In sorted order, so that of several faults both languages name the same one: JavaScript has
  // integer-like keys first, wherever they were written.
  const read = new Map(
    keys
      .toSorted()
      .map((key) => [key, readJson(fields[key], path ? `${path}.${key}` : key, depth + 1)]),
  );
  // fromEntries defines properties, so that a key such as `__proto__` is a key like any other.
  return Object.fromEntries(keys.map((key) => [wellFormed(key), read.get(key) ?? null]));
}

function readNumber(value: number, path: string): number {
  if (!Number.isFinite(value)) {
    throw new InvalidMessageError(path, "not_finite", "must be a finite number");
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new InvalidMessageError(path, "unsafe_integer", "is an integer beyond 2^53 - 1");
  }
  return value === 0 ? 0 : value;
}

/** Return `value` if it is a whole number from 0 up, or null. */
export function wholeNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value + 0 : null;
}

/** Return a deep copy of a JSON value. */
export function copyJson<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(copyJson) as Value;
  if (typeof value !== "object" || value === null) return value;
  // Most fields are texts, which need no copy: spreading first makes this many times as fast. A key
  // such as `__proto__` is an own property of the copy by then, so that setting it is harmless.
  const copy = { ...value } as Record<string, unknown>;
  for (const key of Object.keys(copy)) {
    if (typeof copy[key] === "object") copy[key] = copyJson(copy[key]);
  }
  return copy as Value;
}

/** Return the JSON object that `text` holds, or null where it holds none that may enter. */
export function parseObject(text: string, path: string): JsonObject | null {
  try {
    const value = readJson(JSON.parse(text), path);
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof InvalidMessageError) return null;
    throw error;
  }
}

/** Return the one text form of a JSON value, by RFC 8785: sorted keys, JavaScript's numbers. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).sort(); // by UTF-16 units, as the RFC asks
    return `{${keys.map((key) => `${canonicalJson(key)}:${canonicalJson(value[key] ?? null)}`).join(",")}}`;
  }
  return JSON.stringify(typeof value === "string" ? wellFormed(value) : value);
}
