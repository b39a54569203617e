/**
 * The window: adds and trims per second, beside what a user would pick instead.
 *
 * Every manager holds a chat whose window is just full, and goes on with the same turns of a
 * question and a reply; so every turn trims. Each is timed in the same process, in rounds, and built
 * anew for each round; shown is the median. Seconds are the processor's, so that what else runs on
 * the machine shows as little as can be. Run it with `nox -s bench -- window`.
 */

import { PerformanceObserver, performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Agents } from "./rivals/agents.ts";
import { LangChain } from "./rivals/langchain.ts";
import type { Message } from "./rivals/naive.ts";
import { Naive } from "./rivals/naive.ts";
import { Tandem } from "./rivals/tandem.ts";

const WINDOWS = [10, 1_000, 100_000]; // messages
const DROPPED = [0, 1_000, 100_000]; // messages that left before
const LEAST = 200; // milliseconds a measurement lasts at least

const QUESTION =
  "What did I tell you about my cat Huahua yesterday, and what should I buy for her?";
const REPLY =
  "You told me that Huahua is three years old, that she is afraid of thunder, and that she likes " +
  "tuna far more than chicken. So buy tuna, and perhaps a soft blanket for under the bed.";

/** A manager under test. */
interface Chat {
  readonly name: string;
  /** Chat for some turns. */
  run(turns: readonly (readonly [string, string])[]): Promise<void>;
}

/** What was measured of one manager at one window: milliseconds a turn, and the share of GC. */
class Times {
  readonly turn: number[] = [];
  readonly gc: number[] = [];

  /** Messages added per second. */
  rate(): number {
    return 2000 / median(this.turn);
  }
}

/** Adds up the milliseconds that the garbage collector takes. */
class GcClock {
  #milliseconds = 0;
  readonly #observer = new PerformanceObserver(() => {});

  constructor() {
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  /** Return the sum so far. Entries come with the event loop's next round, so it waits for one. */
  async read(): Promise<number> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const entry of this.#observer.takeRecords()) this.#milliseconds += entry.duration;
    return this.#milliseconds;
  }
}

/** Return `count` turns of a chat from its turn `first` on. */
function chat(first: number, count: number): [string, string][] {
  return Array.from({ length: count }, (_, i) => [
    `${QUESTION} (${first + i})`,
    `${REPLY} (${first + i})`,
  ]);
}

/** Return a system message and as many others. */
function history(messages: number): Message[] {
  const told = chat(0, messages / 2).flatMap(([question, reply]): Message[] => [
    { role: "user", content: question },
    { role: "assistant", content: reply },
  ]);
  return [{ role: "system", content: "You are a helpful assistant." }, ...told];
}

/** Time turns for at least `LEAST` milliseconds, after one that is not timed. */
async function measure(manager: Chat, clock: GcClock, into: Times): Promise<void> {
  await manager.run(chat(0, 1));
  let count = 1;
  for (;;) {
    const turns = chat(1, count);
    const collected = await clock.read();
    const started = performance.now();
    const before = process.cpuUsage();
    await manager.run(turns);
    const { user, system } = process.cpuUsage(before);
    const took = (user + system) / 1000;
    if (took >= LEAST) {
      into.turn.push(took / count);
      into.gc.push(((await clock.read()) - collected) / (performance.now() - started));
      return;
    }
    count = Math.max(2 * count, Math.floor((count * 1.2 * LEAST) / took));
  }
}

/** Return the table's lines for these managers, the first of which is the measure. */
async function compare(
  makers: readonly ((told: Message[]) => Chat)[],
  rounds: number,
): Promise<string[]> {
  const clock = new GcClock();
  const names = new Map<string, Times[]>();
  for (const [column, window] of WINDOWS.entries()) {
    for (let round = 1; round <= rounds; round++) {
      showProgress(`window of ${whole(window)}: round ${round} of ${rounds}`);
      for (const make of makers) {
        const manager = make(history(window));
        const row = names.get(manager.name) ?? WINDOWS.map(() => new Times());
        names.set(manager.name, row);
        await measure(manager, clock, row[column] as Times);
      }
    }
  }
  const own = [...names.values()][0]?.map((times) => times.rate()) ?? [];
  const lines = [`| | ${WINDOWS.map(whole).join(" | ")} | in GC |`];
  lines.push(`|---|${"--:|".repeat(WINDOWS.length + 1)}`);
  for (const [name, cells] of names) {
    const rates = cells.map((times, i) => {
      const ratio = (own[i] as number) / times.rate();
      return `${figures(times.rate())}/s (${figures(ratio)})`;
    });
    const collecting = cells.map((times) => `${Math.round(100 * median(times.gc))}%`);
    lines.push(`| ${name} | ${rates.join(" | ")} | ${collecting.join(" / ")} |`);
  }
  return lines;
}

/** Return the lines of the table of what an add costs, by window and by what was dropped. */
async function growth(rounds: number): Promise<string[]> {
  const clock = new GcClock();
  const rows: string[][] = DROPPED.map(() => []);
  for (const window of WINDOWS) {
    const manager = new Tandem(history(window), { handsOut: false });
    let before = 0;
    for (const [i, dropped] of DROPPED.entries()) {
      showProgress(`window of ${whole(window)}: ${whole(dropped)} dropped`);
      await manager.run(chat(0, (dropped - before) / 2));
      before = dropped;
      const times = new Times();
      for (let round = 0; round < rounds; round++) await measure(manager, clock, times);
      rows[i]?.push(`${(1e6 / times.rate()).toFixed(1)} µs`);
    }
  }
  return [
    `| messages dropped before | ${WINDOWS.map(whole).join(" | ")} |`,
    `|--:|${"--:|".repeat(WINDOWS.length)}`,
    ...rows.map((row, i) => `| ${whole(DROPPED[i] ?? 0)} | ${row.join(" | ")} |`),
  ];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function whole(value: number): string {
  return value.toLocaleString("en-US");
}

/** Return a number to three significant digits. */
function figures(value: number): string {
  return value.toLocaleString("en-US", {
    minimumSignificantDigits: 3,
    maximumSignificantDigits: 3,
  });
}

/** Show a line on a terminal's standard error, in place of the last one. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(60)}\r`);
}

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const rounds = Number(values.rounds);
const trims = await compare(
  [
    (told) => new Tandem(told, { handsOut: false }),
    (told) => new Naive(told, { handsOut: false }),
    (told) => new LangChain(told),
    (told) => new Agents(told),
  ],
  rounds,
);
console.log(`Node ${process.versions.node}: messages added and trimmed per second, by window`);
console.log(
  "(in brackets: how many times as many Tandem Memory does; last, the share spent in GC)\n",
);
console.log(trims.join("\n"));
const turns = await compare(
  [
    (told) => new Tandem(told, { handsOut: true }),
    (told) => new Naive(told, { handsOut: true }),
    (told) => new LangChain(told),
    (told) => new Agents(told),
  ],
  rounds,
);
console.log("\nThe same with the messages handed out before each reply\n");
console.log(turns.join("\n"));
console.log("\nAn add of Tandem Memory, by window and by what it dropped before\n");
console.log((await growth(rounds)).join("\n"));
