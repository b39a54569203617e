/**
 * Tandem Memory: conversation memory for chat with local models.
 *
 * `MemoryManager` keeps what a model is to see; `Chat` asks a model and remembers its answers. The
 * Python package of the same name does the same, file for file.
 *
 *     import { Chat, loadModels } from "tandem-memory";
 *
 *     const chat = new Chat(loadModels().find("local/chat/small"), { systemPrompt: "Be kind." });
 *     console.log((await chat.ask("My cat is called Flora.")).content);
 */

export * from "./chat/index.ts";
export * from "./core/index.ts";
export * from "./storage/index.ts";
