/**
 * A program that appends turns to a session in PostgreSQL: `appender.ts URL SECONDS NAME`.
 *
 * Twin: python/tests/appender.py. It takes no lease, so that rivals meet in the database alone, and
 * prints the number of each turn once that is stored.
 */

import { writeSync } from "node:fs";
import { PostgresStore } from "../src/storage/postgres.ts";

const [url = "", seconds = "", name = ""] = process.argv.slice(2);
const end = performance.now() + Number(seconds) * 1000;
const store = new PostgresStore(url);
for (let number = 1; performance.now() < end; number += 1) {
  const question = { role: "user", content: `${name} asks ${number}` };
  const answer = { role: "assistant", content: `${name} answers ${number}` };
  const stored = await store.append("ann", "shared", [question, answer]);
  writeSync(1, `${stored.last_turn}\n`);
}
await store.close();
