"""Every error of Tandem Memory: one class per code.

Each class has a `code` from a closed list (the fixture schema holds the same list) and its data as
fields. Programs and fixtures compare code and data; the message is for people: it says what
happened, quotes the value, and says what to do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BudgetExceededError",
    "ContextTruncatedError",
    "InvalidDocumentError",
    "InvalidIdError",
    "InvalidLimitError",
    "InvalidMessageError",
    "InvalidModelFileError",
    "InvalidSnapshotError",
    "InvalidTokenCountError",
    "ModelNotFoundError",
    "NoAnswerError",
    "NotAStoreError",
    "ReplyBrokenOffError",
    "ReplyNotStoredError",
    "ServerFailedError",
    "ServerUnreachableError",
    "SessionBusyError",
    "SessionExistsError",
    "SessionNotFoundError",
    "StoreDamagedError",
    "StoreFullError",
    "StoreTooNewError",
    "StoreUnavailableError",
    "SummaryFailedError",
    "TandemError",
    "ToolCallNotFoundError",
    "UnknownModelError",
    "UnsupportedCapabilityError",
    "quote",
]


def quote(value: object) -> str:
    """Return `value` as a short JSON text for a message; at most 80 code points."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 80 else text[:79] + "…"


class TandemError(Exception):
    """The base of all errors here. After one, the object's state is what it was before the call."""

    code: ClassVar[str] = "error"

    @property
    def data(self) -> dict[str, object]:
        """The error's fields by name, as fixtures compare them."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}


class InvalidLimitError(TandemError):
    """A limit (`max_turns`, `max_tokens`, `trim_to`, …) that is not a whole number it may be."""

    code = "invalid_limit"

    def __init__(self, limit: str, value: object, allowed: str) -> None:
        super().__init__(f"{limit} is {quote(value)}; it must be {allowed}")
        self.limit = limit
        self.value = value


class InvalidMessageError(TandemError):
    """A value that is not a message. `path` says where, `reason` what is wrong there.

    `reason` is one of `missing`, `wrong_type`, `unknown_role`, `not_allowed`, `not_finite`,
    `unsafe_integer`, `too_deep`.
    """

    code = "invalid_message"

    def __init__(self, path: str, reason: str, hint: str) -> None:
        super().__init__(f"invalid message: {path or 'the message'} {hint}")
        self.path = path
        self.reason = reason


class InvalidTokenCountError(TandemError):
    """`count_tokens` returned something that is not a whole number from 0 up."""

    code = "invalid_token_count"

    def __init__(self, value: object) -> None:
        super().__init__(
            f"count_tokens returned {quote(value)}; it must return a whole number from 0 up"
        )
        self.value = value


class InvalidSnapshotError(TandemError):
    """A value that `restore` can't take. `path` says where the fault is; nothing was changed."""

    code = "invalid_snapshot"

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(f"invalid snapshot: {path or 'the snapshot'} {hint}; nothing was changed")
        self.path = path


class SummaryFailedError(TandemError):
    """A model's answer that is no summary; everything stays as it was, to be tried again later.

    `reason` is one of `cut_off`, `empty`, `no_words`, `too_long`.
    """

    code = "summary_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model wrote no summary ({reason}); it will be tried again later")
        self.reason = reason


class ToolCallNotFoundError(TandemError):
    """A tool result whose call is not among the unanswered calls of the open turn."""

    code = "tool_call_not_found"

    def __init__(self, tool_call_id: str | None, tool_name: str | None) -> None:
        wanted = f"id {quote(tool_call_id)}" if tool_call_id is not None else f"{quote(tool_name)}"
        super().__init__(
            f"no unanswered tool call matches {wanted}; "
            "add the assistant message that makes the call first"
        )
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name


class BudgetExceededError(TandemError):
    """What must be sent can't fit: it needs `needed` tokens and `allowed` are allowed."""

    code = "budget_exceeded"

    def __init__(self, needed: int, allowed: int) -> None:
        super().__init__(
            f"{needed} tokens are needed and {allowed} are allowed; "
            "shorten the message or the system prompt, or raise the token budget"
        )
        self.needed = needed
        self.allowed = allowed


class UnknownModelError(TandemError):
    """A path that names no entry in the tree of models; `available` lists those there are."""

    code = "unknown_model"

    def __init__(self, path: str, available: Sequence[str]) -> None:
        super().__init__(f"no model entry {quote(path)}; there are: {', '.join(available)}")
        self.path = path
        self.available = list(available)


class InvalidModelFileError(TandemError):
    """A model file that can't be read; `path` says where in it, or is empty for all of it."""

    code = "invalid_model_file"

    def __init__(self, file: str, path: str, hint: str) -> None:
        where = f"{file}: {path}" if path else file
        super().__init__(f"invalid model file: {where} {hint}")
        self.file = file
        self.path = path


class ServerUnreachableError(TandemError):
    """No model server answers at `host`."""

    code = "server_unreachable"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"no model server answers at {host}; start Ollama (`ollama serve`) or set OLLAMA_HOST"
        )
        self.host = host


class ModelNotFoundError(TandemError):
    """The server at `host` runs, but has no model of this name."""

    code = "model_not_found"

    def __init__(self, model: str, host: str) -> None:
        super().__init__(
            f"the server at {host} has no model {quote(model)}; get it with `ollama pull {model}`"
        )
        self.model = model
        self.host = host


class UnsupportedCapabilityError(TandemError):
    """The model can't do what was asked of it: `capability` is `thinking` or `tools`."""

    code = "unsupported_capability"

    def __init__(self, model: str, capability: str) -> None:
        super().__init__(
            f"the model {quote(model)} does not support {capability}; "
            "leave it out or choose another model"
        )
        self.model = model
        self.capability = capability


class ServerFailedError(TandemError):
    """The server answered with an error: its HTTP `status` and its own words, `detail`."""

    code = "server_failed"

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"the model server answered {status}: {detail}")
        self.status = status
        self.detail = detail


class ReplyBrokenOffError(TandemError):
    """The server broke off in mid-answer; `received` is the text that had come."""

    code = "reply_broken_off"

    def __init__(self, received: str) -> None:
        super().__init__(
            f"the model server broke off after {len(received)} characters of the answer; ask again"
        )
        self.received = received


class ReplyNotStoredError(TandemError):
    """The store refused the answer, whose text `received` is; the memory is as before the question.

    The error that caused this one says why the store did.
    """

    code = "reply_not_stored"

    def __init__(self, received: str) -> None:
        super().__init__(
            f"the answer of {len(received)} characters could not be stored and is not remembered; "
            "see to the store, then ask again"
        )
        self.received = received


class NoAnswerError(TandemError):
    """The model ended without text and without a tool call; `done_reason` says why it stopped."""

    code = "no_answer"

    def __init__(self, done_reason: str | None) -> None:
        super().__init__(
            f"the model gave no answer (done_reason {quote(done_reason)}); "
            "ask again, turn thinking off, or allow a longer answer (num_predict)"
        )
        self.done_reason = done_reason


class ContextTruncatedError(TandemError):
    """The prompt did not fit the server's context, which would cut, or has cut, its front.

    `prompt_tokens` is the prompt's size as far as it is known, `num_ctx` the context's.
    """

    code = "context_truncated"

    def __init__(self, prompt_tokens: int, num_ctx: int) -> None:
        super().__init__(
            f"the prompt of about {prompt_tokens} tokens does not fit num_ctx {num_ctx}; "
            "raise num_ctx or lower the token budget"
        )
        self.prompt_tokens = prompt_tokens
        self.num_ctx = num_ctx


class InvalidIdError(TandemError):
    """A `user_id`, `session_id` or `holder` (`label` says which) that no store can hold.

    `reason` is one of `wrong_type`, `empty`, `lone_surrogate`.
    """

    code = "invalid_id"

    def __init__(self, label: str, reason: str, hint: str) -> None:
        super().__init__(f"invalid id: {label} {hint}")
        self.label = label
        self.reason = reason


class InvalidDocumentError(TandemError):
    """An exported document, or changes to a session, that can't be taken; `path` says where."""

    code = "invalid_document"

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(f"invalid document: {path or 'the document'} {hint}; nothing was stored")
        self.path = path


class SessionNotFoundError(TandemError):
    """The user has no session of this id."""

    code = "session_not_found"

    def __init__(self, user_id: str, session_id: str) -> None:
        super().__init__(
            f"the user {quote(user_id)} has no session {quote(session_id)}; "
            "create it, or list the user's sessions"
        )
        self.user_id = user_id
        self.session_id = session_id


class SessionExistsError(TandemError):
    """The user has a session of this id already."""

    code = "session_exists"

    def __init__(self, user_id: str, session_id: str) -> None:
        super().__init__(
            f"the user {quote(user_id)} has a session {quote(session_id)} already; "
            "open it, choose another id, or delete it first"
        )
        self.user_id = user_id
        self.session_id = session_id


class SessionBusyError(TandemError):
    """Another writer has the session, or has gone on with it since; nothing was written."""

    code = "session_busy"

    def __init__(self, user_id: str, session_id: str) -> None:
        super().__init__(
            f"another writer has the session {quote(session_id)} of the user {quote(user_id)}; "
            "wait until its turn has ended, open the session again and retry"
        )
        self.user_id = user_id
        self.session_id = session_id


class StoreDamagedError(TandemError):
    """A store's file that can't be read as what it was; it was left as it is."""

    code = "store_damaged"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"the store {path} is damaged ({detail}) and was left as it is; "
            "move it away, or put a backup in its place"
        )
        self.path = path
        self.detail = detail


class NotAStoreError(TandemError):
    """A file that is in order but belongs to another program; it was left as it is."""

    code = "not_a_store"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is no store of Tandem Memory and was left as it is; choose another path"
        )
        self.path = path


class StoreTooNewError(TandemError):
    """A store of a later release: it has `version`, this release reads up to `supported`."""

    code = "store_too_new"

    def __init__(self, path: str, version: int, supported: int) -> None:
        super().__init__(
            f"the store {path} has version {version} and this release reads up to {supported}; "
            "install a newer release of tandem-memory"
        )
        self.path = path
        self.version = version
        self.supported = supported


class StoreFullError(TandemError):
    """There is no room for what was to be written; the store is as it was before."""

    code = "store_full"

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no room to write to the store {path}; free some and try again")
        self.path = path


class StoreUnavailableError(TandemError):
    """A store that can't be reached or locked just now; `detail` is the system's own words."""

    code = "store_unavailable"

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            f"the store {path} can't be used: {detail}; "
            "see that it is there and may be written, or try again"
        )
        self.path = path
        self.detail = detail
