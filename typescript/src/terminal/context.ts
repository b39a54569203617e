/** `tandem-memory context`: the window of a stored session, as its next question would find it. */

import type { Engine } from "../chat/engine.ts";
import type { ModelEntry } from "../chat/settings.ts";
import type { Explanation } from "../core/explanation.ts";
import { documentText } from "../storage/jsonfile.ts";
import type { Session } from "../storage/records.ts";
import { Archive } from "./archive.ts";
import type { Arguments } from "./arguments.ts";
import type { Keyboard } from "./keyboard.ts";
import { findPlace, openPlace } from "./place.ts";
import type { Screen } from "./screen.ts";
import type { Setup } from "./setup.ts";
import { renderContext } from "./table.ts";
import { HINTS } from "./texts.ts";
import { DEFAULT_USER } from "./upkeep.ts";

/**
 * A session's window for programs.
 *
 * `model`: the name of the model that would be asked. `num_ctx`: its context in tokens, of which
 * `answer_tokens` are kept free for the answer. `explanation`: as `MemoryManager.explain` tells.
 */
export interface ContextDocument {
  user_id: string;
  session_id: string;
  model: string;
  num_ctx: number;
  answer_tokens: number;
  explanation: Explanation;
}

/** Do the command; throws what is in its way. The engine's model is not asked. */
export async function showContext(
  given: Arguments,
  setup: Setup,
  engine: Engine,
  screen: Screen,
  keyboard: Keyboard,
): Promise<void> {
  const store = openPlace(findPlace(given.store), { make: false });
  try {
    const archive = new Archive(store, given.user ?? DEFAULT_USER, screen, keyboard);
    const session = await archive.find(given.session);
    if (session === null) {
      screen.remark(HINTS.nothingStored);
      return;
    }
    // To open a session that is there only reads it.
    const chat = await setup.open(engine, archive, session.session_id);
    const explanation = chat.memory.explain();
    if (given.json) {
      screen.write(documentText(contextDocument(session, engine.entry, explanation)));
    } else {
      screen.write(renderContext(explanation, screen.columns));
    }
  } finally {
    await store.close();
  }
}

/** Return what `--json` prints. */
export function contextDocument(
  session: Session,
  entry: ModelEntry,
  explanation: Explanation,
): ContextDocument {
  return {
    user_id: session.user_id,
    session_id: session.session_id,
    model: entry.model,
    num_ctx: entry.numCtx,
    answer_tokens: entry.answerTokens,
    explanation,
  };
}
