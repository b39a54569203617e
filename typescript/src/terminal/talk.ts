/** A conversation in the terminal: lines come in, answers and remarks go out. */

import { OllamaEngine } from "../chat/engine.ts";
import type { Reply } from "../chat/exchange.ts";
import type { ModelEntry } from "../chat/settings.ts";
import { ModelNotFoundError, SessionBusyError, TandemError } from "../core/errors.ts";
import { AnswerText } from "./answer.ts";
import type { Archive } from "./archive.ts";
import { parseLine } from "./commands.ts";
import type { Current } from "./current.ts";
import type { Interrupts } from "./interrupts.ts";
import { unlessStopped } from "./interrupts.ts";
import type { Keyboard } from "./keyboard.ts";
import { pullModel } from "./pull.ts";
import type { Screen } from "./screen.ts";
import type { Setup } from "./setup.ts";
import { renderContext } from "./table.ts";
import { BANNER, CHAT_HELP, HINTS } from "./texts.ts";
import { clip, oneLine, visible } from "./width.ts";

/** The columns that a question has when a remark names it. */
const QUOTED = 60;

export interface TalkOptions {
  keyboard: Keyboard;
  screen: Screen;
  interrupts: Interrupts;
  shown: boolean;
}

/**
 * A conversation in the current session, which `run` holds to its end.
 *
 * `shown`: whether the model's thinking is printed.
 */
export class Talk {
  readonly #setup: Setup;
  readonly #current: Current;
  readonly #archive: Archive;
  readonly #keyboard: Keyboard;
  readonly #screen: Screen;
  readonly #interrupts: Interrupts;
  readonly #shown: boolean;
  #status = 0;

  constructor(setup: Setup, current: Current, archive: Archive, options: TalkOptions) {
    this.#setup = setup;
    this.#current = current;
    this.#archive = archive;
    this.#keyboard = options.keyboard;
    this.#screen = options.screen;
    this.#interrupts = options.interrupts;
    this.#shown = options.shown;
  }

  /**
   * Read lines until the end; returns the exit code.
   *
   * In a terminal it is 0; from a pipe it is 1 where a line failed or was stopped.
   */
  async run(): Promise<number> {
    if (this.#keyboard.interactive) {
      const [model, session] = [
        describe(this.#current.engine.entry),
        visible(this.#current.opening),
      ];
      this.#screen.write(`Tandem Memory: ${model}\n${session}\n${BANNER}\n\n`);
      await this.#checkModel();
    }
    for (;;) {
      const line = await this.#keyboard.read();
      if (line === null) break;
      const entry = parseLine(line);
      if (entry.kind === "message") {
        await this.#ask(entry.text);
      } else if (entry.kind === "problem") {
        this.#status = 1;
        this.#screen.error(entry.text);
      } else if (entry.text === "bye") {
        break;
      } else if (entry.kind === "command") {
        try {
          await this.#obey(entry.text, entry.argument);
        } catch (error) {
          this.#status = 1;
          this.#screen.error(tell(expected(error)));
        }
      }
    }
    return this.#keyboard.interactive ? 0 : this.#status;
  }

  async #ask(question: string): Promise<void> {
    this.#current.failed = question;
    if (!this.#keyboard.interactive) {
      // The next line of a pipe is there already, and would leave no time for it.
      await this.#interrupts.run((signal) => unlessStopped(this.#current.summarize(), signal));
    }
    const answer = new AnswerText({ styled: this.#screen.styled, shown: this.#shown });
    const onThinking = (thinking: string) => this.#screen.write(answer.add({ thinking }));
    let reply: Reply | null = null;
    let problem: TandemError | null = null;
    try {
      await this.#interrupts.run(async (signal) => {
        const stream = this.#current.chat.stream(question, { onThinking, signal });
        try {
          for await (const content of stream) this.#screen.write(answer.add({ content }));
        } finally {
          reply = stream.reply;
        }
      });
    } catch (error) {
      problem = expected(error);
    }
    this.#screen.write(answer.end());
    if (reply) {
      this.#current.failed = null;
      this.#remarkReply(reply);
    } else if (problem instanceof ModelNotFoundError && (await this.#offerPull(problem))) {
      await this.#ask(question);
    } else {
      this.#remarkFailure(problem);
    }
  }

  #remarkReply(reply: Reply): void {
    if (reply.interrupted) {
      this.#status = 1;
      this.#screen.remark(HINTS.stopped);
    } else if (reply.doneReason === "length") {
      this.#screen.remark(HINTS.cutOff);
    }
    if (reply.truncation) this.#screen.error(reply.truncation.message);
  }

  /** Print why there is no answer, and how to ask again where somebody is there to do it. */
  #remarkFailure(problem: TandemError | null): void {
    this.#status = 1;
    const retry = this.#keyboard.interactive ? ` (${HINTS.retry})` : "";
    if (problem) this.#screen.error(`${tell(problem)}${retry}`);
    else this.#screen.remark(`${HINTS.stoppedEarly}${retry}`);
  }

  /** Say before the first question what would stop it. */
  async #checkModel(): Promise<void> {
    try {
      await this.#interrupts.run(async (signal) => {
        await unlessStopped(this.#current.engine.show(), signal);
      });
    } catch (error) {
      const problem = expected(error);
      const pulled = problem instanceof ModelNotFoundError && (await this.#offerPull(problem));
      if (!pulled) this.#screen.error(problem.message);
    }
  }

  /** Ask whether to fetch the model that is not there; returns whether it is there now. */
  async #offerPull(error: ModelNotFoundError): Promise<boolean> {
    const question = `${error.host} has no model ${error.model}. Pull it now?`;
    if (!(await this.#keyboard.confirm(question, { enter: true }))) return false;
    let pulled: boolean;
    try {
      pulled = await this.#interrupts.run((signal) =>
        pullModel(this.#current.engine, this.#screen, { signal }),
      );
    } catch (problem) {
      this.#screen.error(expected(problem).message);
      return false;
    }
    if (!pulled) this.#screen.remark(HINTS.pullStopped);
    return pulled;
  }

  async #obey(command: string, argument: string): Promise<void> {
    switch (command) {
      case "clear":
        await this.#current.chat.clear();
        this.#current.failed = null;
        this.#screen.remark(HINTS.cleared);
        break;
      case "context": {
        const explanation = this.#current.chat.memory.explain();
        this.#screen.write(`${renderContext(explanation, this.#screen.columns)}\n`);
        break;
      }
      case "export":
        await this.#current.export(argument || null);
        break;
      case "forget":
        if (await this.#archive.forget(null, { sure: argument ? "" : "/forget yes" })) {
          await this.#enter(null);
        }
        break;
      case "history": {
        const limit = argument ? Number(argument) : null;
        await this.#archive.showSession(this.#current.sessionId, limit);
        break;
      }
      case "model":
        await this.#changeModel(argument);
        break;
      case "new":
        if (argument || !(await this.#current.isEmpty())) await this.#enter(argument || null);
        else this.#screen.remark(HINTS.empty);
        break;
      case "retry":
        if (this.#current.failed === null) this.#screen.remark(HINTS.noFailure);
        else await this.#ask(this.#current.failed);
        break;
      case "sessions":
        await this.#archive.listSessions(this.#current.sessionId);
        break;
      case "think":
        this.#changeThinking(argument);
        break;
      case "undo":
        await this.#undo();
        break;
      default:
        this.#screen.write(`${CHAT_HELP}\n`);
    }
  }

  async #enter(sessionId: string | null): Promise<void> {
    await this.#current.enter(sessionId);
    this.#screen.remark(this.#current.opening);
  }

  async #changeModel(path: string): Promise<void> {
    if (path) await this.#current.use(new OllamaEngine(this.#setup.find(path)));
    this.#screen.remark(describe(this.#current.engine.entry));
    if (path && this.#keyboard.interactive) await this.#checkModel();
  }

  #changeThinking(wish: string): void {
    if (wish) {
      this.#setup.think = wish === "on";
      this.#current.engine = new OllamaEngine(this.#setup.find(this.#current.engine.entry.path));
    }
    const { think } = this.#current.engine.entry;
    const hint = think === null ? HINTS.thinkUnset : think ? HINTS.thinkOn : HINTS.thinkOff;
    this.#screen.remark(hint);
  }

  /** Forget the last question: the one that failed, or else the last turn. */
  async #undo(): Promise<void> {
    let question = this.#current.failed;
    this.#current.failed = null;
    if (question === null) {
      const [first] = await this.#current.chat.undo();
      question = first?.content ?? null;
    }
    if (question === null) this.#screen.remark(HINTS.nothingToUndo);
    else this.#screen.remark(`Forgotten: ${clip(oneLine(question), QUOTED)}`);
  }
}

/** Return what an error says; where another has the session, what to do in a terminal. */
function tell(problem: TandemError): string {
  return problem instanceof SessionBusyError ? HINTS.busy : problem.message;
}

/** Return a model's path, name and server; a path that is the name is not said twice. */
function describe(entry: ModelEntry): string {
  if (entry.path === entry.model) return `${entry.model} at ${entry.host}`;
  return `${entry.path} (${entry.model} at ${entry.host})`;
}

/** Return an error of this package; any other is a fault of the program, and is thrown on. */
function expected(error: unknown): TandemError {
  if (error instanceof TandemError) return error;
  throw error;
}
