/**
 * Makes single steps of store fixtures: each line on stdin is a step with the store that it is for.
 *
 * The store check plays cases with it, so that one language goes on where the other was.
 */

import { createInterface } from "node:readline";
import { perform } from "./fixtures.ts";
import { StoreSubject } from "./stores.ts";

for await (const line of createInterface({ input: process.stdin })) {
  const { store, ...step } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await perform(new StoreSubject(store), step))}\n`);
}
