/** What the model sees, as a table: each part, its tokens, kept or dropped and why. */

import type { ExplainedPart, Explanation } from "../core/explanation.ts";
import type { Message } from "../core/messages.ts";
import { estimateText } from "../core/tokens.ts";
import { clip, oneLine, pad, width } from "./width.ts";

type Row = readonly [string, string, string, string, string];

const BAR = 24;
/** The columns that a message's beginning has at least, however narrow the terminal is. */
const TEXT = 16;

/**
 * Return the lines of `/context` for a terminal of so many columns.
 *
 * The last lines hold the budget as a bar, and how many closed turns there are of how many.
 */
export function renderContext(explanation: Explanation, columns: number): string {
  const rows: Row[] = [["part", "messages", "tokens", "state", "begins"]];
  rows.push(...systemRows(explanation));
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
  return `${[...lines, "", budgetLine(explanation), turnsLine(explanation)].join("\n")}\n`;
}

/** Return `done` of `total` as a bar and a share in percent: `[######------] 50 %`. */
export function bar(done: number, total: number): string {
  const share = total ? Math.floor((100 * done) / total) : 100;
  // ASCII alone: Chinese and Japanese terminals give block characters two columns.
  const filled = Math.min(BAR, total ? Math.floor((BAR * done) / total) : BAR);
  return `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ${share} %`;
}

/** Return the rows of the system message: of its prompt, and of the summary at its end. */
function systemRows({ system_prompt, summary, system_tokens }: Explanation): Row[] {
  const most = summary && system_prompt ? estimateText(summary.text) : system_tokens;
  const told = summary ? Math.min(most, system_tokens) : 0;
  const rows: Row[] = [];
  if (system_prompt) {
    rows.push(["system", "1", String(system_tokens - told), "kept", oneLine(system_prompt)]);
  }
  if (summary) {
    const messages = system_prompt ? "" : "1";
    const state = `kept, of ${summary.turns} turns`;
    rows.push(["summary", messages, String(told), state, oneLine(summary.text)]);
  }
  return rows;
}

function partRow(part: ExplainedPart, explanation: Explanation): Row {
  let state = part.open ? "kept, open" : "kept";
  if (part.rule !== null) state = `dropped by ${part.rule} ${explanation[part.rule]}`;
  const [first] = part.messages;
  const beginning = first ? messageText(first) : "";
  return [part.part, String(part.messages.length), String(part.tokens), state, beginning];
}

function messageText(message: Message): string {
  const calls = (message.tool_calls ?? []).map((call) => ` ${call.function.name}()`).join("");
  const text = oneLine(message.content + calls);
  return message.role === "user" ? text : `${message.role}: ${text}`;
}

function budgetLine(explanation: Explanation): string {
  const { tokens, max_tokens: allowed } = explanation;
  if (allowed === null) return `${tokens} tokens, without a limit`;
  const over = explanation.over_budget ? ", over the budget" : "";
  return `${bar(tokens, allowed)}  ${tokens} of ${allowed} tokens${over}`;
}

function turnsLine(explanation: Explanation): string {
  const kept = explanation.parts.filter((part) => part.kept && part.part === "turn");
  const closed = kept.filter((part) => !part.open).length;
  const { max_turns: limit, trim_to: trimTo } = explanation;
  if (limit === null) return `${closed} closed turns, without a limit`;
  const trim = trimTo !== null && trimTo !== limit ? `; a trim leaves ${trimTo}` : "";
  return `${closed} of ${limit} closed turns${trim}`;
}
