/** `window` is `MemoryManager`'s rule as a pure function; twin: python/tests/test_window.py. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryManager } from "../src/core/manager.ts";
import { window } from "../src/core/window.ts";
import { attempt, operations, options, played } from "./strategies.ts";

const scripts = fc.array(operations, { maxLength: 30 });

test("a whole conversation trimmed at once is what restore trims", () => {
  fc.assert(
    fc.property(options, scripts, ({ systemPrompt: _, ...limits }, script) => {
      const messages = played({ maxTurns: null }, script).getMessages();
      const manager = new MemoryManager(limits);
      const dropped = manager.restore({ version: 1, messages });
      const expected = { kept: manager.getMessages(), dropped, tokens: manager.tokens };
      expect(window(messages, limits)).toEqual(expected);
    }),
  );
});

test("without a budget the newest closed turns are those of the running manager", () => {
  fc.assert(
    fc.property(scripts, fc.integer({ min: 1, max: 4 }), (script, maxTurns) => {
      const limited = new MemoryManager({ maxTurns });
      const unlimited = new MemoryManager({ maxTurns: null });
      // What left can't be undone or answered, so only adds that both take are compared.
      for (const operation of script.filter(({ method }) => method.startsWith("add"))) {
        if (attempt(operation, limited) !== null) attempt(operation, unlimited);
      }
      // A turn that a reply closed and a tool call opened again has cost an older one its place.
      for (const manager of [limited, unlimited]) {
        manager.addUserMessage("close");
        manager.addAssistantMessage("closed");
      }
      const expected = window(unlimited.getMessages(), { maxTurns }).kept;
      expect(limited.getMessages()).toEqual(expected);
    }),
  );
});
