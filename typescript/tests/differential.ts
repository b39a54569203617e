/**
 * Plays scripts for `shared-fixtures/checks/differential.py`: a JSON line in, one with results out.
 *
 * A script is a fixture case without its expectations. A crash is a result too, the last one.
 */

import { createInterface } from "node:readline";
import { TandemError } from "../src/core/errors.ts";
import { makeSubject, perform } from "./fixtures.ts";

async function play({ given, steps }: { given: unknown; steps: unknown[] }): Promise<unknown[]> {
  const results: unknown[] = [];
  try {
    const subject = makeSubject(given);
    for (const step of steps) results.push(await perform(subject, step));
  } catch (error) {
    results.push(error instanceof TandemError ? { refused: error.code } : { crash: String(error) });
  }
  return results;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await play(JSON.parse(line)))}\n`);
}
