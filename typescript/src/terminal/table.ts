/** What the model sees, as a table: each part, its tokens, kept or dropped and why. */

import type { ExplainedPart, Explanation } from "../core/explanation.ts";
import type { Message } from "../core/messages.ts";
import { estimateText } from "../core/tokens.ts";
import { count } from "./texts.ts";
import { clip, oneLine, pad, width } from "./width.ts";

type Row = readonly [string, string, string, string, string];

const BAR = 24;
/** The columns that a message's beginning has at least, however narrow the terminal is. */
const TEXT = 8;

/**
 * Return the lines of `/context` for a terminal of so many columns.
 *
 * The last lines hold the budget as a bar, how many closed turns there are of how many, and how many
 * left before those that the table shows.
 */
export function renderContext(explanation: Explanation, columns: number): string {
  const rows: Row[] = [["part", "messages", "tokens", "state", "begins"]];
  rows.push(...frameRows(explanation));
  rows.push(...explanation.parts.map((part) => partRow(part, explanation)));
  const widest = (i: 0 | 1 | 2 | 3) => Math.max(...rows.map((row) => width(row[i])));
  const widths = [widest(0), widest(1), widest(2), widest(3)] as const;
  const taken = widths.reduce((total, each) => total + each + 2, 0);
  const room = Math.max(TEXT, columns - taken - 1);
  const lines = rows.map((row) =>
    [
      pad(row[0], widths[0]),
      pad(row[1], widths[1], { right: true }),
      pad(row[2], widths[2], { right: true }),
      pad(row[3], widths[3]),
      clip(row[4], room),
    ]
      .join("  ")
      .replace(/ +$/, ""),
  );
  const ends = [budgetLine(explanation), turnsLine(explanation), ...earlierLines(explanation)];
  return `${[...lines, "", ...ends].join("\n")}\n`;
}

/** Return `done` of `total` as a bar and a share in percent: `[######------] 50 %`. */
export function bar(done: number, total: number): string {
  const share = total ? Math.floor((100 * done) / total) : 100;
  // ASCII alone: Chinese and Japanese terminals give block characters two columns.
  const filled = Math.min(BAR, total ? Math.floor((BAR * done) / total) : BAR);
  return `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ${share} %`;
}

/**
 * Return the rows of what is sent beside the turns, each with its share of the tokens.
 *
 * The first of those that share the system message has its count of messages.
 */
function frameRows(explanation: Explanation): Row[] {
  const { system_prompt: prompt, summary, context, context_tokens: recalled } = explanation;
  const inSystem = context?.place === "system";
  const tokens = explanation.system_tokens - (inSystem ? recalled : 0);
  const most = summary && prompt ? estimateText(summary.text) : tokens;
  const told = summary ? Math.min(most, tokens) : 0;
  const rows: Row[] = [];
  if (prompt) rows.push(["system", "1", String(tokens - told), "kept", oneLine(prompt)]);
  if (summary) {
    const state = `kept, of ${count(summary.turns, "turn")}`;
    const messages = rows.length > 0 ? "" : "1";
    rows.push(["summary", messages, String(told), state, oneLine(summary.text)]);
  }
  if (context) {
    const state = inSystem ? "kept, in the system message" : "kept, before the question";
    const messages = inSystem && rows.length === 0 ? "1" : "";
    rows.push(["context", messages, String(recalled), state, oneLine(context.text)]);
  }
  return rows;
}

function partRow(part: ExplainedPart, explanation: Explanation): Row {
  let state = part.open ? "kept, open" : "kept";
  let told = ", in the summary too";
  if (part.rule !== null) {
    state = `dropped by ${part.rule} ${explanation[part.rule]}`;
    told = ", in the summary";
  }
  if (part.summarised) state += told;
  const [first] = part.messages;
  const beginning = first ? messageText(first) : "";
  return [part.part, String(part.messages.length), String(part.tokens), state, beginning];
}

function messageText(message: Message): string {
  const calls = (message.tool_calls ?? []).map((call) => ` ${call.function.name}()`).join("");
  const text = oneLine(message.content + calls);
  return message.role === "user" ? text : `${message.role}: ${text}`;
}

function budgetLine({ tokens, max_tokens: allowed, over_budget }: Explanation): string {
  if (allowed === null) return `${count(tokens, "token")}, without a limit`;
  const over = over_budget ? ", over the budget" : "";
  return `${bar(tokens, allowed)}  ${tokens} of ${count(allowed, "token")}${over}`;
}

function turnsLine({ parts, max_turns: limit, trim_to: trimTo }: Explanation): string {
  const kept = parts.filter((part) => part.kept && part.part === "turn");
  const closed = kept.filter((part) => !part.open).length;
  if (limit === null) return `${count(closed, "closed turn")}, without a limit`;
  const trim = trimTo !== null && trimTo !== limit ? `; a trim leaves ${trimTo}` : "";
  return `${closed} of ${count(limit, "closed turn")}${trim}`;
}

/** Return the line about turns that left before those of the table, if there are any. */
function earlierLines({ parts, summary, dropped_turns }: Explanation): string[] {
  const left = parts.filter((part) => !part.kept && part.part === "turn");
  const earlier = dropped_turns - left.length;
  if (earlier <= 0) return [];
  const told = summary ? Math.min(summary.turns, earlier) : 0;
  const share = told < earlier ? `${told} of them` : earlier > 1 ? "all of them" : "it";
  const tells = told > 0 ? `; the summary tells of ${share}` : "";
  return [`${count(earlier, "turn")} left the window earlier${tells}.`];
}
