"""Messages: JSON objects in Ollama's own chat form, the same on the wire, in stores and fixtures.

`read_message` is the one door by which a message enters: it checks the known fields, makes every
text well-formed, and returns a copy of its own. Unknown fields are kept, whatever they hold.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, cast

from .errors import InvalidMessageError, quote
from .thinking import split_thinking
from .values import JsonObject, JsonValue, copy_json, parse_object, read_json

__all__ = [
    "Message",
    "Role",
    "ToolCall",
    "ToolFunction",
    "read_message",
    "sent_message",
]

Role = Literal["system", "user", "assistant", "tool"]

ROLES = ("system", "user", "assistant", "tool")


class ToolFunction(TypedDict):
    """What a tool call asks for. `raw_arguments` is there only where they were unreadable."""

    name: str
    arguments: JsonObject
    raw_arguments: NotRequired[str]


class ToolCall(TypedDict):
    """One call of a tool; Ollama may leave the id out."""

    id: NotRequired[str]
    function: ToolFunction


class Message(TypedDict):
    """One chat message. `images` are base64 texts; `synthetic` marks what the manager made."""

    role: Role
    content: str
    thinking: NotRequired[str]
    images: NotRequired[list[str]]
    tool_calls: NotRequired[list[ToolCall]]
    tool_name: NotRequired[str]
    tool_call_id: NotRequired[str]
    synthetic: NotRequired[bool]


def read_message(value: object, path: str = "") -> Message:
    """Return the message that `value` is, as a copy of its own.

    Null and empty optional fields are left out, so that "absent" has one form. `content` may be
    absent or null only beside tool calls, where it becomes `""`. Tool arguments that come as a JSON
    text (OpenAI's form) become the object that they hold; a text that holds none is kept in
    `raw_arguments` beside empty `arguments`, so that nothing is lost and every request is valid.
    An assistant's leading `<think>` block becomes its `thinking`, unless it has that already.

    Raises `InvalidMessageError`; `path` is put before the path that it names.
    """
    fields = read_json(value, path)
    if not isinstance(fields, dict):
        raise InvalidMessageError(path, "wrong_type", f"must be an object, not {quote(fields)}")
    dot = f"{path}." if path else ""
    for name in ("thinking", "images", "tool_calls", "tool_name", "tool_call_id"):
        if name in fields and fields[name] in (None, "", []):
            del fields[name]
    role = read_text(fields, "role", dot)
    if role not in ROLES:
        hint = f"is {quote(role)}; it must be one of {', '.join(ROLES)}"
        raise InvalidMessageError(f"{dot}role", "unknown_role", hint)
    if "tool_calls" in fields:
        if role != "assistant":
            hint = f"are an assistant's to make, not a {role}'s"
            raise InvalidMessageError(f"{dot}tool_calls", "not_allowed", hint)
        fields["tool_calls"] = read_calls(fields["tool_calls"], f"{dot}tool_calls")
        if fields.get("content") is None:
            fields["content"] = ""
    read_text(fields, "content", dot)
    for name in ("thinking", "tool_name", "tool_call_id"):
        if name in fields:
            read_text(fields, name, dot)
    images = fields.get("images", [])
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        raise InvalidMessageError(f"{dot}images", "wrong_type", "must be a list of base64 strings")
    if role == "assistant" and "thinking" not in fields:
        move_thinking(fields)
    return cast("Message", fields)


def move_thinking(fields: JsonObject) -> None:
    thought = split_thinking(str(fields["content"]))
    fields["content"] = thought.content
    if thought.thinking:
        fields["thinking"] = thought.thinking


def read_text(fields: JsonObject, name: str, dot: str) -> str:
    value = fields.get(name)
    if value is None:
        raise InvalidMessageError(f"{dot}{name}", "missing", "is missing; it must be a string")
    if not isinstance(value, str):
        hint = f"must be a string, not {quote(value)}"
        raise InvalidMessageError(f"{dot}{name}", "wrong_type", hint)
    return value


def read_calls(value: JsonValue, path: str) -> JsonValue:
    if not isinstance(value, list):
        raise InvalidMessageError(path, "wrong_type", f"must be a list, not {quote(value)}")
    return [read_call(call, f"{path}[{i}]") for i, call in enumerate(value)]


def read_call(call: JsonValue, path: str) -> JsonObject:
    if not isinstance(call, dict):
        raise InvalidMessageError(path, "wrong_type", f"must be an object, not {quote(call)}")
    if "id" in call and call["id"] in (None, ""):
        del call["id"]
    if "id" in call:
        read_text(call, "id", f"{path}.")
    function = call.get("function")
    if not isinstance(function, dict):
        hint = 'must be an object {"name", "arguments"}'
        raise InvalidMessageError(f"{path}.function", "wrong_type", hint)
    read_text(function, "name", f"{path}.function.")
    arguments = function.get("arguments")
    if arguments is None or arguments == "":
        function["arguments"] = {}
    elif isinstance(arguments, str):
        parsed = parse_object(arguments, f"{path}.function.arguments")
        function["arguments"] = {} if parsed is None else parsed
        if parsed is None:
            function["raw_arguments"] = arguments
    elif not isinstance(arguments, dict):
        hint = f"must be an object, not {quote(arguments)}"
        raise InvalidMessageError(f"{path}.function.arguments", "wrong_type", hint)
    return call


def sent_message(message: Message, *, include_thinking: bool = False) -> Message:
    """Return a copy as a model is sent it: without `thinking`, unless that is asked for."""
    sent = copy_json(message)
    if not include_thinking:
        sent.pop("thinking", None)
    return sent
