/** The token estimate: what holds for every text and message, and how close its figures are. */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../src/core/messages.ts";
import { estimateText, estimateTokens, estimateTools, IMAGE_TOKENS } from "../src/core/tokens.ts";
import type { JsonObject } from "../src/core/values.ts";

/** Of all code points but lone surrogates: where two halves met, they would make one of two. */
const texts = fc.string({ unit: "binary", maxLength: 60 });

/** The most tokens by which two texts apart and joined differ: a code point's cost, rounded. */
const JOIN = 5;

const TOOL: JsonObject = {
  type: "function",
  function: { name: "now", parameters: { type: "object", properties: {} } },
};

test("a text costs at most four tokens a code point and none less than zero", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(estimateText(text)).toBeGreaterThanOrEqual(0);
      expect(estimateText(text)).toBeLessThanOrEqual(4 * Array.from(text).length);
    }),
  );
});

test("a longer text never costs less", () => {
  fc.assert(
    fc.property(texts, texts, (text, more) => {
      expect(estimateText(text + more)).toBeGreaterThanOrEqual(estimateText(text));
    }),
  );
});

test("two texts joined cost their sum within rounding", () => {
  fc.assert(
    fc.property(texts, texts, (text, more) => {
      const apart = estimateText(text) + estimateText(more);
      expect(Math.abs(estimateText(text + more) - apart)).toBeLessThanOrEqual(JOIN);
    }),
  );
});

test("a lone surrogate costs what its replacement costs", () => {
  const lone = fc.integer({ min: 0xdc00, max: 0xdfff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(lone, { maxLength: 20 }), texts, (halves, text) => {
      expect(estimateText(text + halves.join(""))).toBe(
        estimateText(text + "\ufffd".repeat(halves.length)),
      );
    }),
  );
});

test.each([
  ["The cat sat by the window and watched the rain come down on the quiet street.", 17],
  ["我想了解明天去杭州的火车时刻和票价", 12],
  ["3.14159265358979", 16],
])("an everyday text is within a quarter of the tokenizer's count: %s", (text, exact) => {
  expect(estimateText(text)).toBeGreaterThanOrEqual(exact * 0.75);
  expect(estimateText(text)).toBeLessThanOrEqual(exact * 1.25);
});

test("a message costs its content and five tokens of template", () => {
  expect(estimateTokens({ role: "user", content: "hello" })).toBe(5 + estimateText("hello"));
});

test("thinking and unknown fields cost nothing", () => {
  const plain: Message = { role: "assistant", content: "yes" };
  const rest = { thinking: "hm ".repeat(999), mood: "good", tool_call_id: "7" };
  expect(estimateTokens({ ...plain, ...rest })).toBe(estimateTokens(plain));
});

test("an image costs the same at any size", () => {
  const plain: Message = { role: "user", content: "look" };
  expect(estimateTokens({ ...plain, images: ["A".repeat(400_000), ""] })).toBe(
    estimateTokens(plain) + 2 * IMAGE_TOKENS,
  );
});

test("a call's arguments cost the same in any order", () => {
  const orders: JsonObject[] = [
    { b: 1, "10": 2, "9": 3 },
    { "9": 3, "10": 2, b: 1 },
  ];
  const [first, second] = orders.map((order) =>
    estimateTokens({
      role: "assistant",
      content: "",
      tool_calls: [{ function: { name: "add", arguments: order } }],
    }),
  );
  expect(first).toBe(second);
  expect(first).toBeGreaterThan(estimateTokens({ role: "assistant", content: "" }) + 5);
});

test("no tools cost nothing and each adds its schema", () => {
  const [none = -1, one = 0, two = 0, three = 0] = [0, 1, 2, 3].map((count) =>
    estimateTools(Array(count).fill(TOOL)),
  );
  expect(none).toBe(0);
  expect(two - one).toBe(three - two);
  expect(two - one).toBeGreaterThan(10);
});
