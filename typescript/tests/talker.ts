/**
 * A program that asks in a stored chat: `talker.ts STORE HOST [QUESTION…]`.
 *
 * Twin: python/tests/talker.py. It prints a JSON line for each piece of an answer and for each
 * error's code, and at the end what it remembers and what the store exports.
 */

import { Chat, documentText, makeEntry, SqliteStore, TandemError } from "../src/index.ts";

function tell(fields: object): void {
  process.stdout.write(`${JSON.stringify(fields)}\n`);
}

const [place = "", host = "", ...questions] = process.argv.slice(2);
const model = makeEntry("t", { model: "qwen3:0.6b", host, max_turns: 3 });
await using store = new SqliteStore(place);
const chat = await Chat.open(store, "ann", "s", { model, leaseMilliseconds: 600 });
for (const question of questions) {
  try {
    for await (const piece of chat.stream(question)) tell({ piece });
  } catch (error) {
    if (!(error instanceof TandemError)) throw error;
    tell({ error: error.code });
    break;
  }
}
tell({ snapshot: chat.memory.snapshot() });
tell({ export: documentText(await store.exportSessions("ann")) });
