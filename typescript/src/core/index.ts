/** The core: pure functions over plain values and one thin class. No I/O and no dependency. */

export {
  BudgetExceededError,
  ContextTruncatedError,
  InvalidDocumentError,
  InvalidIdError,
  InvalidLimitError,
  InvalidMessageError,
  InvalidModelFileError,
  InvalidSnapshotError,
  InvalidTokenCountError,
  ModelNotFoundError,
  NoAnswerError,
  NotAStoreError,
  ReplyBrokenOffError,
  ReplyNotStoredError,
  ServerFailedError,
  ServerUnreachableError,
  SessionBusyError,
  SessionExistsError,
  SessionNotFoundError,
  StoreDamagedError,
  StoreFullError,
  StoreTooNewError,
  StoreUnavailableError,
  SummaryFailedError,
  TandemError,
  ToolCallNotFoundError,
  UnknownModelError,
  UnsupportedCapabilityError,
} from "./errors.ts";
export type { ExplainedPart, Explanation } from "./explanation.ts";
export type { Context, Place } from "./frame.ts";
export type { MemoryManagerOptions } from "./manager.ts";
export { MemoryManager } from "./manager.ts";
export type { Message, Role, ToolCall, ToolFunction } from "./messages.ts";
export { readMessage } from "./messages.ts";
export type { Snapshot } from "./snapshot.ts";
export type { Summary, SummaryOptions } from "./summary.ts";
export { readSummaryReply, summaryMessages } from "./summary.ts";
export type { ThinkingOptions, Thought } from "./thinking.ts";
export { splitThinking, ThinkingSplitter } from "./thinking.ts";
export { estimateText, estimateTokens, estimateTools, IMAGE_TOKENS } from "./tokens.ts";
export type { CountTokens } from "./turns.ts";
export type { JsonObject, JsonValue } from "./values.ts";
export type { Window, WindowOptions } from "./window.ts";
export { window } from "./window.ts";
