/** What fixtures call of the terminal program. Twin: python/tests/terminals.py. */

import type { ModelEntry } from "../src/chat/settings.ts";
import { makeEntry } from "../src/chat/settings.ts";
import { documentText } from "../src/storage/jsonfile.ts";
import { AnswerText } from "../src/terminal/answer.ts";
import { exportName } from "../src/terminal/archive.ts";
import { parseArguments } from "../src/terminal/arguments.ts";
import { parseLine } from "../src/terminal/commands.ts";
import { contextDocument } from "../src/terminal/context.ts";
import {
  renderHistory,
  renderOpening,
  renderSessions,
  turnQuestion,
  turnTitle,
} from "../src/terminal/history.ts";
import { renderModels } from "../src/terminal/listing.ts";
import { findPlace } from "../src/terminal/place.ts";
import { renderProgress } from "../src/terminal/pull.ts";
import { renderContext } from "../src/terminal/table.ts";
import { BANNER, CHAT_HELP, HELP, HINTS, PROMPT } from "../src/terminal/texts.ts";

// biome-ignore lint/suspicious/noExplicitAny: a fixture's JSON is looked into freely; `runCase` compares it whole
type Json = any;

const FUNCTIONS: Record<string, (args: Json) => Json> = {
  context_text: ({ session, entry, explanation }) =>
    lines(documentText(contextDocument(session, readEntry(entry), explanation))),
  export_name: ({ session_id: id }) => exportName(id),
  find_place: ({ given, ...options }) => findPlace(given, options),
  parse_arguments: ({ words }) => parseArguments(words),
  parse_line: ({ line }) => parseLine(line),
  render_answer: ({ pieces, styled, shown }) => renderAnswer(pieces, styled, shown),
  render_context: ({ explanation, columns }) => lines(renderContext(explanation, columns)),
  render_history: ({ turns }) => lines(renderHistory(turns)),
  render_models: ({ entries, installed }) =>
    lines(renderModels(entries.map(readEntry), new Map(Object.entries(installed)))),
  render_opening: ({ session_id: id, title, place }) => renderOpening(id, title, place),
  render_progress: ({ model, progress }) =>
    renderProgress(model, { completed: null, total: null, ...progress }),
  render_sessions: ({ sessions, titles, columns, current }) =>
    lines(renderSessions(sessions, titles, columns, current)),
  texts: () => ({
    help: Object.fromEntries(Object.entries(HELP).map(([name, text]) => [name, lines(text)])),
    banner: BANNER,
    prompt: PROMPT,
    chat_help: lines(CHAT_HELP),
    hints: Object.fromEntries(
      Object.entries(HINTS).map(([name, text]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        text,
      ]),
    ),
  }),
  turn_question: ({ turn }) => turnQuestion(turn),
  turn_title: ({ turn }) => turnTitle(turn),
};

/** The functions of the terminal program, which have no state. */
export const terminalSubject = {
  call(name: string, args: Json): Json {
    const run = FUNCTIONS[name];
    if (!run) throw new Error(`no function ${name}`);
    return run(args);
  },
  state: () => null,
};

function readEntry({ path, ...settings }: Json): ModelEntry {
  return makeEntry(path, settings);
}

function lines(text: string): string[] {
  return text.split("\n");
}

function renderAnswer(pieces: Json[], styled: boolean, shown: boolean): string {
  const answer = new AnswerText({ styled, shown });
  return pieces.map((piece) => answer.add(piece)).join("") + answer.end();
}
