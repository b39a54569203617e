/**
 * What fixtures call of a chat on a store; a case is run on every kind of store.
 *
 * Twin: python/tests/storedchats.py.
 */

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { OpenOptions } from "../src/chat/session.ts";
import { Chat } from "../src/chat/session.ts";
import { makeEntry } from "../src/chat/settings.ts";
import { StoreFullError } from "../src/core/errors.ts";
import type { CountTokens } from "../src/core/turns.ts";
import type { Store } from "../src/storage/index.ts";
import { MemoryStore } from "../src/storage/index.ts";
import type { ScriptedEngine } from "./chats.ts";
import { callChat, scriptedEngine, told } from "./chats.ts";
import type { Json } from "./encoding.ts";
import { camelKeys, expand } from "./encoding.ts";
import type { Subject } from "./fixtures.ts";
import { brief, callStore, OPENERS, ROOT } from "./stores.ts";

const IDS = { user_id: "ann", session_id: "s" };

/** A chat on the session `s` of the user `ann`, at the time `clock`, which `advance` moves. */
export class StoredChatSubject implements Subject {
  #now: number;
  readonly #engine: ScriptedEngine;
  readonly #options: OpenOptions;
  readonly #store: OneStore;
  #chat: Promise<Chat>;

  constructor(
    { kind, clock = 0, entry = {}, replies, ...options }: Json,
    countTokens: CountTokens,
  ) {
    this.#now = clock;
    this.#engine = scriptedEngine(makeEntry("scripted", { model: "scripted", ...entry }), replies);
    const given = { waitMilliseconds: 0, ...camelKeys(options), countTokens };
    this.#options = { model: this.#engine, ...given };
    this.#store = new OneStore(kind, () => this.#now);
    this.#chat = this.#reopen({});
  }

  async call(name: string, args: Json): Promise<Json> {
    const chat = await this.#chat;
    switch (name) {
      case "advance":
        this.#now += args.milliseconds;
        return null;
      case "last_request":
        return this.#engine.requests.at(-1);
      case "fill":
        this.#store.room = args.appends;
        return null;
      case "reopen":
        this.#chat = this.#reopen(args);
        await this.#chat;
        return null;
      case "ask_elsewhere":
        return callChat(await this.#open({}), "ask", args);
    }
    if (!name.startsWith("store_")) return callChat(chat, name, args);
    const method = name.slice("store_".length);
    if (args.messages) args.messages = args.messages.map(expand);
    return brief(await callStore(this.#store.store, method, { ...IDS, ...args }));
  }

  async state(): Promise<Json> {
    const state = told((await this.#chat).memory);
    const { sessions } = await this.#store.store.exportSessions(IDS.user_id);
    return { ...state, stored: brief(sessions)[0] ?? null };
  }

  async #reopen(changed: Json): Promise<Chat> {
    await this.#store.open();
    return this.#open(changed);
  }

  #open(changed: Json): Promise<Chat> {
    const options = { ...this.#options, ...camelKeys(changed) };
    return Chat.open(this.#store.store, IDS.user_id, IDS.session_id, options);
  }
}

/** A store of a kind, opened anew where it is in files, which takes `room` more appends. */
class OneStore {
  store: Store;
  room: number | null = null;
  readonly #kind: string;
  readonly #folder = mkdtempSync(join(ROOT, "chat-"));
  readonly #clock: () => number;

  constructor(kind: string, clock: () => number) {
    this.#kind = kind;
    this.#clock = clock;
    this.store = new MemoryStore({ clock });
  }

  async open(): Promise<void> {
    const opener = OPENERS.get(this.#kind);
    if (opener) {
      await this.store.close();
      this.store = opener(this.#folder, { clock: this.#clock });
    }
    const { store } = this;
    const append = Object.getPrototypeOf(store).append as Store["append"];
    store.append = async (...args) => {
      if (this.room === 0) throw new StoreFullError("full");
      if (this.room !== null) this.room -= 1;
      return append.apply(store, args);
    };
  }
}
