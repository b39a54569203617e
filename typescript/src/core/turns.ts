/**
 * Turns: from one user message up to the next; the unit in which a window keeps or drops.
 *
 * A turn is a list of steps. The user message is a step of its own, and each assistant message
 * opens the next one, which holds all its tool results: so a step can leave without parting a tool
 * call from its result. Messages before the first user message form the opening turn.
 */

import { InvalidMessageError, InvalidTokenCountError, ToolCallNotFoundError } from "./errors.ts";
import type { Message, ToolCall } from "./messages.ts";
import { sentMessage } from "./messages.ts";
import { wholeNumber } from "./values.ts";

/** A token counter: the tokens of one message as it is sent, a whole number from 0 up. */
export type CountTokens = (message: Message) => number;

/** Messages that stay or leave together, and their token cost. */
export interface Step {
  messages: Message[];
  tokens: number;
}

/** The steps of one turn, their token cost, and the tool calls that still wait for a result. */
export interface Turn {
  steps: Step[];
  tokens: number;
  unanswered: ToolCall[];
}

/** The index of the oldest step that may leave alone: the user message never does. */
export function firstLooseStep(turn: Turn): number {
  return turn.steps[0]?.messages[0]?.role === "user" ? 1 : 0;
}

/** Put `message`, with all that `arrivingMessages` has before it, at the end of `turns`. */
export function extendTurns(turns: Turn[], message: Message, countTokens: CountTokens): void {
  for (const arriving of arrivingMessages(turns.at(-1), message)) {
    appendMessage(turns, arriving, countMessage(arriving, countTokens));
  }
}

/**
 * Return what adding `message` after the turn `last` puts into the conversation.
 *
 * That is the message itself. A user message over unanswered tool calls is preceded by a result for
 * each that says there is none, so that a crash in the middle of a tool blocks nothing. A tool
 * result without a call throws `ToolCallNotFoundError`, a system message `InvalidMessageError`.
 */
export function arrivingMessages(last: Turn | undefined, message: Message): Message[] {
  if (message.role === "system") {
    const hint = "is system; there is one system message, set by the system prompt";
    throw new InvalidMessageError("role", "not_allowed", hint);
  }
  if (message.role === "tool") findCall(last, message);
  if (message.role === "user" && last) return [...last.unanswered.map(noResult), message];
  return [message];
}

/** Put an arriving message at the end of `turns`: into a new turn, a new step, or the last. */
export function appendMessage(turns: Turn[], message: Message, tokens: number): void {
  const { role } = message;
  let turn = turns.at(-1);
  if (turn === undefined || role === "user") {
    turn = { steps: [], tokens: 0, unanswered: [] };
    turns.push(turn);
  }
  let step = turn.steps.at(-1);
  // An assistant message over unanswered calls joins their step: their results may still come.
  if (step === undefined || (role === "assistant" && turn.unanswered.length === 0)) {
    step = { messages: [], tokens: 0 };
    turn.steps.push(step);
  }
  step.messages.push(message);
  step.tokens += tokens;
  turn.tokens += tokens;
  if (role === "tool") turn.unanswered.splice(turn.unanswered.indexOf(findCall(turn, message)), 1);
  turn.unanswered.push(...(message.tool_calls ?? []));
}

/**
 * Return the unanswered call that a tool message answers.
 *
 * It is found by id; without one, it is the first call of that name; without a name too, the first
 * call. Throws `ToolCallNotFoundError` where there is none.
 */
function findCall(turn: Turn | undefined, result: Message): ToolCall {
  const { tool_call_id: callId, tool_name: name } = result;
  for (const call of turn?.unanswered ?? []) {
    if (callId !== undefined) {
      if (call.id === callId) return call;
    } else if (name === undefined || call.function.name === name) {
      return call;
    }
  }
  throw new ToolCallNotFoundError(callId ?? null, name ?? null);
}

function noResult(call: ToolCall): Message {
  const message: Message = {
    role: "tool",
    content: "No result: the tool call was interrupted.",
    tool_name: call.function.name,
    synthetic: true,
  };
  if (call.id !== undefined) message.tool_call_id = call.id;
  return message;
}

/** Return the tokens of `message` as it is sent; an error if it is no whole number. */
export function countMessage(message: Message, countTokens: CountTokens): number {
  const tokens: unknown = countTokens(sentMessage(message));
  const whole = wholeNumber(tokens);
  if (whole === null) throw new InvalidTokenCountError(tokens);
  return whole;
}

/** Whether a last turn has ended: in an assistant message, with no call left unanswered. */
export function isClosed(turn: Turn): boolean {
  return turn.unanswered.length === 0 && turn.steps.at(-1)?.messages.at(-1)?.role === "assistant";
}

/** Take the oldest `count` loose steps out of `turn` and return them. */
export function takeSteps(turn: Turn, count: number): Step[] {
  const taken = turn.steps.splice(firstLooseStep(turn), count);
  for (const step of taken) turn.tokens -= step.tokens;
  return taken;
}

/** Return the messages of `turns` in their order; the messages themselves, not copies. */
export function turnMessages(turns: readonly Turn[]): Message[] {
  return turns.flatMap((turn) => turn.steps.flatMap((step) => step.messages));
}
