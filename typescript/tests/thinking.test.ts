/** Splitting is the same at any chunking; twin: python/tests/test_thinking.py. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { splitThinking, ThinkingSplitter, type Thought } from "../src/core/thinking.ts";

const pieces = fc.array(
  fc.constantFrom(
    ...["<think>", "</think>", "<THINK>", "<th", "ink>", "</", "<", ">", " ", "\n", "a", "🦊", ""],
  ),
  { maxLength: 14 },
);

function streamed(parts: readonly string[], options: { opensThinking: boolean }): Thought {
  const splitter = new ThinkingSplitter(options);
  const came = [...parts.map((part) => splitter.feed(part)), splitter.finish()];
  return {
    content: came.map((thought) => thought.content).join(""),
    thinking: came.map((thought) => thought.thinking).join(""),
    finished: came.at(-1)?.finished ?? true,
  };
}

test("a stream gives what the whole text gives", () => {
  fc.assert(
    fc.property(pieces, fc.boolean(), (parts, opensThinking) => {
      const expected = splitThinking(parts.join(""), { opensThinking });
      expect(streamed(parts, { opensThinking })).toEqual(expected);
    }),
  );
});

test("one character at a time gives the same", () => {
  fc.assert(
    fc.property(pieces, fc.boolean(), (parts, opensThinking) => {
      const text = parts.join("");
      const expected = splitThinking(text, { opensThinking });
      expect(streamed(Array.from(text), { opensThinking })).toEqual(expected);
    }),
  );
});

test("what was split once is not split again", () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const { content } = splitThinking(parts.join(""));
      expect(splitThinking(content)).toEqual({ content, thinking: "", finished: true });
    }),
  );
});

test("text that opens with no tag is content as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (rest) => {
      const content = `x${rest}`;
      expect(splitThinking(content)).toEqual({ content, thinking: "", finished: true });
    }),
  );
});

test("no letter is lost", () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join("");
      const { content, thinking } = splitThinking(text);
      const count = (part: string) => part.split("a").length - 1;
      expect(count(content) + count(thinking)).toBe(count(text));
    }),
  );
});
