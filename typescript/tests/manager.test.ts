/** What holds for every conversation; twin: python/tests/test_manager.py. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { TandemError } from "../src/core/errors.ts";
import { MemoryManager } from "../src/core/manager.ts";
import type { Message } from "../src/core/messages.ts";
import { attempt, countCodePoints, operations, options, played } from "./strategies.ts";

const scripts = fc.array(operations, { maxLength: 40 });

test("the number of closed turns is bounded after every call", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      played(given, script, (manager) => {
        const closed = manager.explain().parts.filter((part) => part.kept && !part.open);
        expect(closed.length).toBeLessThanOrEqual(given.maxTurns ?? Number.POSITIVE_INFINITY);
      });
    }),
  );
  expect.hasAssertions();
});

test("over the budget only the least window is left", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      played(given, script, (manager) => {
        const parts = manager.explain().parts.filter((part) => part.kept);
        expect(manager.overBudget ? parts.length : 0).toBeLessThanOrEqual(1);
      });
    }),
  );
});

test("every tool result follows its call", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      played(given, script, (manager) => {
        let unanswered = 0;
        for (const message of manager.getMessages()) {
          unanswered += (message.tool_calls?.length ?? 0) - (message.role === "tool" ? 1 : 0);
          expect(unanswered).toBeGreaterThanOrEqual(0);
          expect(message.role === "user" ? unanswered : 0).toBe(0);
        }
      });
    }),
  );
});

test("the system message stands first exactly once", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      const sent = played(given, script).getMessages();
      const expected = given.systemPrompt === null ? [] : [0];
      expect(sent.flatMap((message, i) => (message.role === "system" ? [i] : []))).toEqual(
        expected,
      );
    }),
  );
});

test("an error changes nothing", () => {
  fc.assert(
    fc.property(options, scripts, operations, (given, script, operation) => {
      const manager = played(given, script);
      const before = [manager.snapshot(), manager.explain()];
      let refused = false;
      try {
        operation.run(manager);
      } catch (error) {
        refused = error instanceof TandemError;
      }
      expect(refused ? [manager.snapshot(), manager.explain()] : before).toEqual(before);
    }),
  );
});

test("nothing is lost: what an add drops it returns", () => {
  fc.assert(
    fc.property(options, scripts, operations, (given, script, operation) => {
      fc.pre(operation.method.startsWith("add"));
      const manager = played(given, script);
      const before = manager.snapshot().messages;
      const dropped = attempt(operation, manager) as Message[] | null;
      fc.pre(dropped !== null);
      const texts = (messages: readonly Message[]) => messages.map((m) => JSON.stringify(m));
      const after = texts(manager.snapshot().messages);
      const seen = new Set([...after, ...texts(dropped)]);
      expect(dropped.length + after.length).toBeGreaterThan(before.length);
      expect(texts(before).filter((message) => !seen.has(message))).toEqual([]);
    }),
  );
});

test("a snapshot restores the same window", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      const manager = played(given, script);
      const twin = new MemoryManager(given);
      expect(twin.restore(manager.snapshot())).toEqual([]);
      expect([twin.snapshot(), twin.tokens]).toEqual([manager.snapshot(), manager.tokens]);
    }),
  );
});

test("the tokens are the sum of what is sent", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      const manager = played(given, script);
      const costs = manager.getMessages().map(countCodePoints);
      expect(manager.tokens).toBe(costs.reduce((total, cost) => total + cost, 0));
    }),
  );
});

test("a counter gets a copy", () => {
  const manager = new MemoryManager({
    systemPrompt: "S",
    countTokens(message) {
      message.content = "changed";
      return 1;
    },
  });
  manager.addUserMessage("hi");
  const expected = [
    { role: "system", content: "S" },
    { role: "user", content: "hi" },
  ];
  expect(manager.getMessages()).toEqual(expected);
});

test("a counter that throws changes nothing", () => {
  const manager = new MemoryManager({
    countTokens(message) {
      throw new RangeError(message.content);
    },
  });
  expect(() => manager.addUserMessage("hi")).toThrow(RangeError);
  expect(manager.getMessages()).toEqual([]);
});

test("the two most used options may be given by position", () => {
  const manager = new MemoryManager("S", 1);
  expect([manager.systemPrompt, manager.explain().max_turns]).toEqual(["S", 1]);
  expect(new MemoryManager("S").explain().max_turns).toBe(20);
  expect(new MemoryManager(null, null).explain().max_turns).toBeNull();
});
