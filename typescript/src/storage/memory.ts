/** `MemoryStore`: the store that lives and ends with its process. */

import type { StoreOptions } from "./records.ts";
import type { Desk, UserSheets } from "./sheets.ts";
import { SheetShelf } from "./sheets.ts";
import { Store } from "./store.ts";

/** Keeps sessions in this process's memory. */
export class MemoryStore extends Store {
  constructor(options: StoreOptions = {}) {
    super(new SheetShelf(new MemoryDesk()), options);
  }
}

/** Keeps users' sheets in a map. A shelf changes nothing before it is sure to finish. */
class MemoryDesk implements Desk {
  readonly #users = new Map<string, UserSheets>();

  async read<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result> {
    return body(this.#user(userId));
  }

  async write<Result>(userId: string, body: (user: UserSheets) => Result): Promise<Result> {
    const user = this.#user(userId);
    const result = body(user);
    if (user.revision > 0) this.#users.set(userId, user);
    else this.#users.delete(userId);
    return result;
  }

  /** Nothing is held open; what was stored goes with the store itself. */
  close(): void {}

  #user(userId: string): UserSheets {
    return this.#users.get(userId) ?? { revision: 0, sheets: new Map() };
  }
}
