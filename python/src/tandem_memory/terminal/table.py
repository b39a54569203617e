"""What the model sees, as a table: each part, its tokens, kept or dropped and why."""

from __future__ import annotations

from ..core.explanation import ExplainedPart, Explanation
from ..core.messages import Message
from ..core.tokens import estimate_text
from .width import clip, one_line, pad, width

__all__ = ["bar", "render_context"]

BAR = 24
TEXT = 16
"""The columns that a message's beginning has at least, however narrow the terminal is."""


def render_context(explanation: Explanation, columns: int) -> str:
    """Return the lines of `/context` for a terminal of so many columns.

    The last lines hold the budget as a bar, and how many closed turns there are of how many.
    """
    rows = [["part", "messages", "tokens", "state", "begins"]]
    rows += system_rows(explanation)
    rows += [part_row(part, explanation) for part in explanation["parts"]]
    widths = [max(width(row[i]) for row in rows) for i in range(4)]
    room = max(TEXT, columns - sum(widths) - 2 * len(widths) - 1)
    lines = [
        "  ".join(
            [
                pad(row[0], widths[0]),
                pad(row[1], widths[1], right=True),
                pad(row[2], widths[2], right=True),
                pad(row[3], widths[3]),
                clip(row[4], room),
            ]
        ).rstrip(" ")
        for row in rows
    ]
    return "\n".join([*lines, "", budget_line(explanation), turns_line(explanation)]) + "\n"


def bar(done: int, total: int) -> str:
    """Return `done` of `total` as a bar and a share in percent: `[######------] 50 %`."""
    share = 100 * done // total if total else 100
    # ASCII alone: Chinese and Japanese terminals give block characters two columns.
    filled = min(BAR, BAR * done // total if total else BAR)
    return f"[{'#' * filled}{'-' * (BAR - filled)}] {share} %"


def system_rows(explanation: Explanation) -> list[list[str]]:
    """Return the rows of the system message: of its prompt, and of the summary at its end."""
    prompt, summary = explanation["system_prompt"], explanation["summary"]
    tokens = explanation["system_tokens"]
    most = estimate_text(summary["text"]) if summary and prompt else tokens
    told = min(most, tokens) if summary else 0
    rows: list[list[str]] = []
    if prompt:
        rows.append(["system", "1", str(tokens - told), "kept", one_line(prompt)])
    if summary:
        messages = "" if prompt else "1"
        state = f"kept, of {summary['turns']} turns"
        rows.append(["summary", messages, str(told), state, one_line(summary["text"])])
    return rows


def part_row(part: ExplainedPart, explanation: Explanation) -> list[str]:
    state = "kept, open" if part["open"] else "kept"
    if part["rule"] is not None:
        state = f"dropped by {part['rule']} {explanation[part['rule']]}"
    messages = part["messages"]
    beginning = message_text(messages[0]) if messages else ""
    return [part["part"], str(len(messages)), str(part["tokens"]), state, beginning]


def message_text(message: Message) -> str:
    calls = "".join(f" {call['function']['name']}()" for call in message.get("tool_calls", []))
    text = one_line(message["content"] + calls)
    return text if message["role"] == "user" else f"{message['role']}: {text}"


def budget_line(explanation: Explanation) -> str:
    tokens, allowed = explanation["tokens"], explanation["max_tokens"]
    if allowed is None:
        return f"{tokens} tokens, without a limit"
    over = ", over the budget" if explanation["over_budget"] else ""
    return f"{bar(tokens, allowed)}  {tokens} of {allowed} tokens{over}"


def turns_line(explanation: Explanation) -> str:
    kept = [part for part in explanation["parts"] if part["kept"] and part["part"] == "turn"]
    closed = sum(not part["open"] for part in kept)
    limit, trim_to = explanation["max_turns"], explanation["trim_to"]
    if limit is None:
        return f"{closed} closed turns, without a limit"
    trim = f"; a trim leaves {trim_to}" if trim_to not in (None, limit) else ""
    return f"{closed} of {limit} closed turns{trim}"
