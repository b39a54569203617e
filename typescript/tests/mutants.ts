/**
 * Runs the fixtures on mutants for `shared-fixtures/checks/mutants.py`: a JSON line in, one out.
 *
 * In: `{ file, source }`, the text that stands in a source file's place. Out: `{ failed }`, the id
 * of the first fixture that fails, or null. Twin: shared-fixtures/checks/mutated.py.
 */

import { registerHooks } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { loadCases } from "./fixtures.ts";

const MUTATED = ["../src/core/", "../src/chat/correction.ts"].map(
  (path) => new URL(path, import.meta.url).href,
);

let mutant = { url: "", source: "", number: 0 };

// A query makes each of these modules a new one for each mutant.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isOurs = MUTATED.some((url) => found.url.startsWith(url));
    return isOurs && context.parentURL?.includes("?mutant=")
      ? { ...found, url: `${found.url}?mutant=${mutant.number}` }
      : found;
  },
  load(url, context, next) {
    const format = "module-typescript";
    if (url === `${mutant.url}?mutant=${mutant.number}`) {
      return { format, source: mutant.source, shortCircuit: true };
    }
    return next(url, context);
  },
});

// What is above has its own tests, and an unchanged core of its own.
const kinds = ["core", "corrections", "manager", "splitter"];
const cases = loadCases().filter(({ given }) => kinds.some((kind) => kind in given));

async function firstFailure(): Promise<string | null> {
  let id = "import";
  try {
    const fixtures = await import(`./fixtures.ts?mutant=${mutant.number}`);
    for (const each of cases) {
      id = each.id;
      await fixtures.runCase(each);
    }
  } catch {
    return id;
  }
  return null;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { file, source } = JSON.parse(line);
  mutant = { url: pathToFileURL(file).href, source, number: mutant.number + 1 };
  process.stdout.write(`${JSON.stringify({ failed: await firstFailure() })}\n`);
}
