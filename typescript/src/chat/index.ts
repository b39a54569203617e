/** Chat with memory: the tree of models, the engine that runs one, the conversation with it. */

export type { ConversationOptions } from "./conversation.ts";
export { Conversation } from "./conversation.ts";
export { Corrections } from "./correction.ts";
export type { Engine, ModelInfo, PullProgress, StreamOptions } from "./engine.ts";
export { OllamaEngine } from "./engine.ts";
export type {
  ChatEvent,
  Recalled,
  Summarised,
  SummaryFailed,
  Trimmed,
  Truncated,
} from "./events.ts";
export type { Reply } from "./exchange.ts";
export type { ModelFileOptions } from "./modelfile.ts";
export { findModelFile, loadModels } from "./modelfile.ts";
export { Models, readModels } from "./models.ts";
export type { AskOptions, OpenOptions } from "./session.ts";
export { Chat } from "./session.ts";
export type { ModelEntry, Think } from "./settings.ts";
export { makeEntry } from "./settings.ts";
export { ChatStream } from "./stream.ts";
export type { Delta, Durations, Ending } from "./wire.ts";
