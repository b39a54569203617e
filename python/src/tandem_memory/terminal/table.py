"""What the model sees, as a table: each part, its tokens, kept or dropped and why."""

from __future__ import annotations

from ..core.explanation import ExplainedPart, Explanation
from ..core.messages import Message
from ..core.tokens import estimate_text
from .texts import count
from .width import clip, one_line, pad, width

__all__ = ["bar", "render_context"]

BAR = 24
TEXT = 8
"""The columns that a message's beginning has at least, however narrow the terminal is."""


def render_context(explanation: Explanation, columns: int) -> str:
    """Return the lines of `/context` for a terminal of so many columns.

    The last lines hold the budget as a bar, how many closed turns there are of how many, and how
    many left before those that the table shows.
    """
    rows = [["part", "messages", "tokens", "state", "begins"]]
    rows += frame_rows(explanation)
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
    ends = [budget_line(explanation), turns_line(explanation), *earlier_lines(explanation)]
    return "\n".join([*lines, "", *ends]) + "\n"


def bar(done: int, total: int) -> str:
    """Return `done` of `total` as a bar and a share in percent: `[######------] 50 %`."""
    share = 100 * done // total if total else 100
    # ASCII alone: Chinese and Japanese terminals give block characters two columns.
    filled = min(BAR, BAR * done // total if total else BAR)
    return f"[{'#' * filled}{'-' * (BAR - filled)}] {share} %"


def frame_rows(explanation: Explanation) -> list[list[str]]:
    """Return the rows of what is sent beside the turns, each with its share of the tokens.

    The first of those that share the system message has its count of messages.
    """
    prompt, summary = explanation["system_prompt"], explanation["summary"]
    context, recalled = explanation["context"], explanation["context_tokens"]
    tokens = explanation["system_tokens"]
    in_system = context is not None and context["place"] == "system"
    if in_system:
        tokens -= recalled
    most = estimate_text(summary["text"]) if summary and prompt else tokens
    told = min(most, tokens) if summary else 0
    rows: list[list[str]] = []
    if prompt:
        rows.append(["system", "1", str(tokens - told), "kept", one_line(prompt)])
    if summary:
        state = f"kept, of {count(summary['turns'], 'turn')}"
        rows.append(["summary", "" if rows else "1", str(told), state, one_line(summary["text"])])
    if context:
        state = "kept, in the system message" if in_system else "kept, before the question"
        messages = "1" if in_system and not rows else ""
        rows.append(["context", messages, str(recalled), state, one_line(context["text"])])
    return rows


def part_row(part: ExplainedPart, explanation: Explanation) -> list[str]:
    state = "kept, open" if part["open"] else "kept"
    told = ", in the summary too"
    if part["rule"] is not None:
        state = f"dropped by {part['rule']} {explanation[part['rule']]}"
        told = ", in the summary"
    if part["summarised"]:
        state += told
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
        return f"{count(tokens, 'token')}, without a limit"
    over = ", over the budget" if explanation["over_budget"] else ""
    return f"{bar(tokens, allowed)}  {tokens} of {count(allowed, 'token')}{over}"


def turns_line(explanation: Explanation) -> str:
    kept = [part for part in explanation["parts"] if part["kept"] and part["part"] == "turn"]
    closed = sum(not part["open"] for part in kept)
    limit, trim_to = explanation["max_turns"], explanation["trim_to"]
    if limit is None:
        return f"{count(closed, 'closed turn')}, without a limit"
    trim = f"; a trim leaves {trim_to}" if trim_to not in (None, limit) else ""
    return f"{closed} of {count(limit, 'closed turn')}{trim}"


def earlier_lines(explanation: Explanation) -> list[str]:
    """Return the line about turns that left before those of the table, if there are any."""
    left = [part for part in explanation["parts"] if not part["kept"] and part["part"] == "turn"]
    earlier = explanation["dropped_turns"] - len(left)
    if earlier <= 0:
        return []
    summary = explanation["summary"]
    told = min(summary["turns"], earlier) if summary else 0
    share = f"{told} of them" if told < earlier else "all of them" if earlier > 1 else "it"
    tells = f"; the summary tells of {share}" if told else ""
    return [f"{count(earlier, 'turn')} left the window earlier{tells}."]
