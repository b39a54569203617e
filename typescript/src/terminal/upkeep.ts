/** The commands that need no model: what is stored is listed, shown, moved and removed. */

import { Archive } from "./archive.ts";
import type { Arguments } from "./arguments.ts";
import type { Keyboard } from "./keyboard.ts";
import { findPlace, openPlace } from "./place.ts";
import type { Screen } from "./screen.ts";

/** The names of these commands. */
export const UPKEEP: readonly string[] = ["sessions", "show", "export", "import", "forget"];

export const DEFAULT_USER = "me";

/** Do one of these commands; throws what is in its way. */
export async function keepUp(given: Arguments, screen: Screen, keyboard: Keyboard): Promise<void> {
  const place = findPlace(given.store);
  const store = openPlace(place, { make: given.command === "import" });
  try {
    const archive = new Archive(store, given.user ?? DEFAULT_USER, screen, keyboard);
    switch (given.command) {
      case "sessions":
        await archive.listSessions();
        break;
      case "show":
        await archive.showSession(given.session, given.turns);
        break;
      case "export":
        await archive.exportSessions(given.session, given.document, { replace: given.sure });
        break;
      case "import":
        await archive.importSessions(given.document ?? "", given.user);
        break;
      default:
        await archive.forget(given.session, { sure: given.sure ? "" : "--yes" });
    }
  } finally {
    await store.close();
  }
}
