/** Stores: where conversations outlive the process; the same files in both languages. */

export type { MessageDocument, SessionDocument, TurnDocument } from "./documents.ts";
export type { Export } from "./exports.ts";
export { documentText, JsonStore, readDocument, writeDocument } from "./jsonfile.ts";
export { MemoryStore } from "./memory.ts";
export type {
  OpenedSession,
  Ranges,
  Removed,
  Session,
  SessionChanges,
  Status,
  StoredMessage,
  StoredTurn,
  StoreOptions,
} from "./records.ts";
export { cutRanges, joinRanges } from "./records.ts";
export type { Shelf } from "./shelf.ts";
export { SqliteStore } from "./sqlite.ts";
export type { HolderOptions } from "./store.ts";
export { LEASE_MILLISECONDS, Store } from "./store.ts";
