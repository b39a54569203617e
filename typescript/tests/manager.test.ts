/** What holds for every conversation; twin: python/tests/test_manager.py. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { TandemError } from "../src/core/errors.ts";
import type { ExplainedPart } from "../src/core/explanation.ts";
import { MemoryManager } from "../src/core/manager.ts";
import type { Message } from "../src/core/messages.ts";
import { estimateTokens } from "../src/core/tokens.ts";
import {
  attempt,
  contexts,
  countCodePoints,
  operations,
  options,
  played,
  settingOf,
  settings,
} from "./strategies.ts";

const scripts = fc.array(operations, { maxLength: 40 });
const framedOperations = fc.oneof(operations, settings);
const framedScripts = fc.array(framedOperations, { minLength: 6, maxLength: 40 });

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function keptParts(manager: MemoryManager): ExplainedPart[] {
  return manager.explain().parts.filter((part) => part.kept);
}

test("the number of closed turns is bounded after every call", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      played(given, script, (manager) => {
        const closed = keptParts(manager).filter((part) => !part.open);
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
        expect(manager.overBudget ? keptParts(manager).length : 0).toBeLessThanOrEqual(1);
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
    fc.property(options, framedScripts, framedOperations, (given, script, operation) => {
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

test("an untrimmed snapshot restores even what is over the limits", () => {
  fc.assert(
    fc.property(options, framedScripts, (given, script) => {
      const manager = played(given, script);
      const limits = { maxTurns: 0, maxTokens: 0, trimTo: 0, systemPrompt: null };
      const twin = new MemoryManager({ ...given, ...limits });
      expect(twin.restore(manager.snapshot(), { trim: false })).toEqual([]);
      expect([twin.snapshot(), twin.getMessages(), twin.tokens]).toEqual([
        manager.snapshot(),
        manager.getMessages(),
        manager.tokens,
      ]);
    }),
  );
});

test("the turns that left and those in the window are all that were opened", () => {
  fc.assert(
    fc.property(options, framedScripts, (given, script) => {
      const manager = new MemoryManager(given);
      let opened = 0;
      for (const operation of script) {
        if (operation.method === "undo" || operation.method === "clear") continue;
        const kept = keptParts(manager).length;
        const accepted = attempt(operation, manager) !== null;
        // With no turn in the window a message of any role opens one.
        const opens = operation.method.startsWith("add") && kept === 0;
        if (accepted && (opens || operation.method === "addUserMessage")) opened += 1;
        expect(manager.droppedTurns + keptParts(manager).length).toBe(opened);
        expect(manager.snapshot().dropped_turns ?? 0).toBe(manager.droppedTurns);
      }
    }),
  );
  expect.hasAssertions();
});

test("what is set and set back leaves no trace", () => {
  fc.assert(
    fc.property(options, framedScripts, settings, (given, script, setting) => {
      const manager = played(given, script);
      const before = [manager.snapshot(), manager.explain(), manager.getMessages()];
      const held = { [setting.method]: manager[setting.method] };
      attempt(setting, manager);
      Object.assign(manager, held);
      expect([manager.snapshot(), manager.explain(), manager.getMessages()]).toEqual(before);
    }),
  );
});

test("the tokens are the sum of the frame and the parts", () => {
  fc.assert(
    fc.property(options, framedScripts, contexts, (given, script, context) => {
      const manager = played(given, script);
      attempt(settingOf("context", context), manager);
      const told = manager.explain();
      const system = manager.getMessages().filter(({ role }) => role === "system");
      const parts = keptParts(manager);
      const apart = told.context?.place === "question" ? told.context_tokens : 0;
      const costs = sum(parts.map(({ tokens }) => tokens));
      expect([told.tokens, manager.tokens]).toEqual(
        Array(2).fill(told.system_tokens + apart + costs),
      );
      expect(told.system_tokens).toBe(sum(system.map(countCodePoints)));
      expect(costs).toBe(sum(parts.flatMap(({ messages }) => messages).map(countCodePoints)));
    }),
  );
});

test("after an accepted question what is sent is within the budget", () => {
  const budgets = fc.integer({ min: 10, max: 40 });
  fc.assert(
    fc.property(options, framedScripts, contexts, budgets, (given, script, context, maxTokens) => {
      const manager = new MemoryManager({ ...given, maxTokens, countTokens: estimateTokens });
      for (const operation of script) {
        const asks = operation.method === "addUserMessage";
        if (asks && attempt(settingOf("context", context), manager) === null) continue;
        if (attempt(operation, manager) === null || !asks) continue;
        expect(manager.tokens).toBeLessThanOrEqual(maxTokens);
        const sent = sum(manager.getMessages().map(estimateTokens));
        expect(sent).toBeLessThanOrEqual(manager.tokens);
      }
    }),
  );
  expect.hasAssertions();
});

test("the tokens are the sum of what is sent", () => {
  fc.assert(
    fc.property(options, scripts, (given, script) => {
      const manager = played(given, script);
      expect(manager.tokens).toBe(sum(manager.getMessages().map(countCodePoints)));
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
