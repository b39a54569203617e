/**
 * Every error of Tandem Memory: one class per code.
 *
 * Each class has a `code` from a closed list (the fixture schema holds the same list) and its data
 * as fields. Programs and fixtures compare code and data; the message is for people: it says what
 * happened, quotes the value, and says what to do.
 */

/** Return `value` as a short JSON text for a message; at most 80 code points. */
export function quote(value: unknown): string {
  let text: string;
  try {
    // JSON has no NaN, no infinity and no undefined: those are quoted by their own names.
    text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  } catch {
    text = String(value);
  }
  const points = Array.from(text);
  return points.length <= 80 ? text : `${points.slice(0, 79).join("")}…`;
}

/** The base of all errors here. After one, the object's state is what it was before the call. */
export class TandemError extends Error {
  readonly code: string = "error";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** The error's fields by name, in JSON's snake_case, as fixtures compare them. */
  get data(): Record<string, unknown> {
    const fields = Object.entries(this).filter(([name]) => name !== "code" && name !== "name");
    return Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value]));
  }
}

/** A limit (`maxTurns`, `maxTokens`, `trimTo`, …) that is not a whole number it may be. */
export class InvalidLimitError extends TandemError {
  override readonly code = "invalid_limit";
  /** The limit's name as JSON has it (`max_turns`). */
  readonly limit: string;
  readonly value: unknown;

  constructor(limit: string, value: unknown, allowed: string) {
    super(`${camelCase(limit)} is ${quote(value)}; it must be ${allowed}`);
    this.limit = limit;
    this.value = value;
  }
}

/**
 * A value that is not a message. `path` says where, `reason` what is wrong there.
 *
 * `reason` is one of `missing`, `wrong_type`, `unknown_role`, `not_allowed`, `not_finite`,
 * `unsafe_integer`, `too_deep`.
 */
export class InvalidMessageError extends TandemError {
  override readonly code = "invalid_message";
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string, hint: string) {
    super(`invalid message: ${path || "the message"} ${hint}`);
    this.path = path;
    this.reason = reason;
  }
}

/** `countTokens` returned something that is not a whole number from 0 up. */
export class InvalidTokenCountError extends TandemError {
  override readonly code = "invalid_token_count";
  readonly value: unknown;

  constructor(value: unknown) {
    super(`countTokens returned ${quote(value)}; it must return a whole number from 0 up`);
    this.value = value;
  }
}

/** A value that `restore` can't take. `path` says where the fault is; nothing was changed. */
export class InvalidSnapshotError extends TandemError {
  override readonly code = "invalid_snapshot";
  readonly path: string;

  constructor(path: string, hint: string) {
    super(`invalid snapshot: ${path || "the snapshot"} ${hint}; nothing was changed`);
    this.path = path;
  }
}

/**
 * A model's answer that is no summary; everything stays as it was, to be tried again later.
 *
 * `reason` is one of `cut_off`, `empty`, `no_words`, `too_long`.
 */
export class SummaryFailedError extends TandemError {
  override readonly code = "summary_failed";
  readonly reason: string;

  constructor(reason: string) {
    super(`the model wrote no summary (${reason}); it will be tried again later`);
    this.reason = reason;
  }
}

/** A tool result whose call is not among the unanswered calls of the open turn. */
export class ToolCallNotFoundError extends TandemError {
  override readonly code = "tool_call_not_found";
  readonly toolCallId: string | null;
  readonly toolName: string | null;

  constructor(toolCallId: string | null, toolName: string | null) {
    const wanted = toolCallId !== null ? `id ${quote(toolCallId)}` : quote(toolName);
    super(
      `no unanswered tool call matches ${wanted}; ` +
        "add the assistant message that makes the call first",
    );
    this.toolCallId = toolCallId;
    this.toolName = toolName;
  }
}

/** What must be sent can't fit: it needs `needed` tokens and `allowed` are allowed. */
export class BudgetExceededError extends TandemError {
  override readonly code = "budget_exceeded";
  readonly needed: number;
  readonly allowed: number;

  constructor(needed: number, allowed: number) {
    super(
      `${needed} tokens are needed and ${allowed} are allowed; ` +
        "shorten the message or the system prompt, or raise the token budget",
    );
    this.needed = needed;
    this.allowed = allowed;
  }
}

/** A path that names no entry in the tree of models; `available` lists those there are. */
export class UnknownModelError extends TandemError {
  override readonly code = "unknown_model";
  readonly path: string;
  readonly available: string[];

  constructor(path: string, available: readonly string[]) {
    super(`no model entry ${quote(path)}; there are: ${available.join(", ")}`);
    this.path = path;
    this.available = [...available];
  }
}

/** A model file that can't be read; `path` says where in it, or is empty for all of it. */
export class InvalidModelFileError extends TandemError {
  override readonly code = "invalid_model_file";
  readonly file: string;
  readonly path: string;

  constructor(file: string, path: string, hint: string) {
    const where = path ? `${file}: ${path}` : file;
    super(`invalid model file: ${where} ${hint}`);
    this.file = file;
    this.path = path;
  }
}

/** No model server answers at `host`. */
export class ServerUnreachableError extends TandemError {
  override readonly code = "server_unreachable";
  readonly host: string;

  constructor(host: string) {
    super(`no model server answers at ${host}; start Ollama (\`ollama serve\`) or set OLLAMA_HOST`);
    this.host = host;
  }
}

/** The server at `host` runs, but has no model of this name. */
export class ModelNotFoundError extends TandemError {
  override readonly code = "model_not_found";
  readonly model: string;
  readonly host: string;

  constructor(model: string, host: string) {
    super(
      `the server at ${host} has no model ${quote(model)}; get it with \`ollama pull ${model}\``,
    );
    this.model = model;
    this.host = host;
  }
}

/** The model can't do what was asked of it: `capability` is `thinking` or `tools`. */
export class UnsupportedCapabilityError extends TandemError {
  override readonly code = "unsupported_capability";
  readonly model: string;
  readonly capability: string;

  constructor(model: string, capability: string) {
    super(
      `the model ${quote(model)} does not support ${capability}; ` +
        "leave it out or choose another model",
    );
    this.model = model;
    this.capability = capability;
  }
}

/** The server answered with an error: its HTTP `status` and its own words, `detail`. */
export class ServerFailedError extends TandemError {
  override readonly code = "server_failed";
  readonly status: number;
  readonly detail: string;

  constructor(status: number, detail: string) {
    super(`the model server answered ${status}: ${detail}`);
    this.status = status;
    this.detail = detail;
  }
}

/** The server broke off in mid-answer; `received` is the text that had come. */
export class ReplyBrokenOffError extends TandemError {
  override readonly code = "reply_broken_off";
  readonly received: string;

  constructor(received: string) {
    const count = Array.from(received).length;
    super(`the model server broke off after ${count} characters of the answer; ask again`);
    this.received = received;
  }
}

/**
 * The store refused the answer, whose text `received` is; the memory is as before the question.
 *
 * The error that caused this one says why the store did.
 */
export class ReplyNotStoredError extends TandemError {
  override readonly code = "reply_not_stored";
  readonly received: string;

  constructor(received: string, options: ErrorOptions = {}) {
    const count = Array.from(received).length;
    super(
      `the answer of ${count} characters could not be stored and is not remembered; ` +
        "see to the store, then ask again",
      options,
    );
    this.received = received;
  }
}

/** The model ended without text and without a tool call; `doneReason` says why it stopped. */
export class NoAnswerError extends TandemError {
  override readonly code = "no_answer";
  readonly doneReason: string | null;

  constructor(doneReason: string | null) {
    super(
      `the model gave no answer (done_reason ${quote(doneReason)}); ` +
        "ask again, turn thinking off, or allow a longer answer (num_predict)",
    );
    this.doneReason = doneReason;
  }
}

/**
 * The prompt did not fit the server's context, which would cut, or has cut, its front.
 *
 * `promptTokens` is the prompt's size as far as it is known, `numCtx` the context's.
 */
export class ContextTruncatedError extends TandemError {
  override readonly code = "context_truncated";
  readonly promptTokens: number;
  readonly numCtx: number;

  constructor(promptTokens: number, numCtx: number) {
    super(
      `the prompt of about ${promptTokens} tokens does not fit num_ctx ${numCtx}; ` +
        "raise num_ctx or lower the token budget",
    );
    this.promptTokens = promptTokens;
    this.numCtx = numCtx;
  }
}

/**
 * A `userId`, `sessionId` or `holder` (`label` says which) that no store can hold.
 *
 * `reason` is one of `wrong_type`, `empty`, `lone_surrogate`.
 */
export class InvalidIdError extends TandemError {
  override readonly code = "invalid_id";
  readonly label: string;
  readonly reason: string;

  constructor(label: string, reason: string, hint: string) {
    super(`invalid id: ${camelCase(label)} ${hint}`);
    this.label = label;
    this.reason = reason;
  }
}

/** An exported document, or changes to a session, that can't be taken; `path` says where. */
export class InvalidDocumentError extends TandemError {
  override readonly code = "invalid_document";
  readonly path: string;

  constructor(path: string, hint: string) {
    super(`invalid document: ${path || "the document"} ${hint}; nothing was stored`);
    this.path = path;
  }
}

/** The user has no session of this id. */
export class SessionNotFoundError extends TandemError {
  override readonly code = "session_not_found";
  readonly userId: string;
  readonly sessionId: string;

  constructor(userId: string, sessionId: string) {
    super(
      `the user ${quote(userId)} has no session ${quote(sessionId)}; ` +
        "create it, or list the user's sessions",
    );
    this.userId = userId;
    this.sessionId = sessionId;
  }
}

/** The user has a session of this id already. */
export class SessionExistsError extends TandemError {
  override readonly code = "session_exists";
  readonly userId: string;
  readonly sessionId: string;

  constructor(userId: string, sessionId: string) {
    super(
      `the user ${quote(userId)} has a session ${quote(sessionId)} already; ` +
        "open it, choose another id, or delete it first",
    );
    this.userId = userId;
    this.sessionId = sessionId;
  }
}

/** Another writer has the session, or has gone on with it since; nothing was written. */
export class SessionBusyError extends TandemError {
  override readonly code = "session_busy";
  readonly userId: string;
  readonly sessionId: string;

  constructor(userId: string, sessionId: string) {
    super(
      `another writer has the session ${quote(sessionId)} of the user ${quote(userId)}; ` +
        "wait until its turn has ended, open the session again and retry",
    );
    this.userId = userId;
    this.sessionId = sessionId;
  }
}

/** A store's file that can't be read as what it was; it was left as it is. */
export class StoreDamagedError extends TandemError {
  override readonly code = "store_damaged";
  readonly path: string;
  readonly detail: string;

  constructor(path: string, detail: string) {
    super(
      `the store ${path} is damaged (${detail}) and was left as it is; ` +
        "move it away, or put a backup in its place",
    );
    this.path = path;
    this.detail = detail;
  }
}

/** A file that is in order but belongs to another program; it was left as it is. */
export class NotAStoreError extends TandemError {
  override readonly code = "not_a_store";
  readonly path: string;

  constructor(path: string) {
    super(`${path} is no store of Tandem Memory and was left as it is; choose another path`);
    this.path = path;
  }
}

/** A store of a later release: it has `version`, this release reads up to `supported`. */
export class StoreTooNewError extends TandemError {
  override readonly code = "store_too_new";
  readonly path: string;
  readonly version: number;
  readonly supported: number;

  constructor(path: string, version: number, supported: number) {
    super(
      `the store ${path} has version ${version} and this release reads up to ${supported}; ` +
        "install a newer release of tandem-memory",
    );
    this.path = path;
    this.version = version;
    this.supported = supported;
  }
}

/** There is no room for what was to be written; the store is as it was before. */
export class StoreFullError extends TandemError {
  override readonly code = "store_full";
  readonly path: string;

  constructor(path: string) {
    super(`there is no room to write to the store ${path}; free some and try again`);
    this.path = path;
  }
}

/** A store that can't be reached or locked just now; `detail` is the system's own words. */
export class StoreUnavailableError extends TandemError {
  override readonly code = "store_unavailable";
  readonly path: string;
  readonly detail: string;

  constructor(path: string, detail: string) {
    super(
      `the store ${path} can't be used: ${detail}; ` +
        "see that it is there and may be written, or try again",
    );
    this.path = path;
    this.detail = detail;
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
