"""Chat with memory: the tree of models, the engine that runs one, the conversation with it."""

from .asynchronous import AsyncChat
from .conversation import Conversation
from .correction import Corrections
from .engine import (
    AsyncEngine,
    AsyncOllamaEngine,
    Engine,
    ModelInfo,
    OllamaEngine,
    PullProgress,
)
from .events import ChatEvent, Recalled, Summarised, SummaryFailed, Trimmed, Truncated
from .exchange import Reply
from .modelfile import find_model_file, load_models
from .models import Models, read_models
from .session import Chat
from .settings import ModelEntry, Think, make_entry
from .stream import AsyncChatStream, ChatStream
from .wire import Delta, Durations, Ending

__all__ = [
    "AsyncChat",
    "AsyncChatStream",
    "AsyncEngine",
    "AsyncOllamaEngine",
    "Chat",
    "ChatEvent",
    "ChatStream",
    "Conversation",
    "Corrections",
    "Delta",
    "Durations",
    "Ending",
    "Engine",
    "ModelEntry",
    "ModelInfo",
    "Models",
    "OllamaEngine",
    "PullProgress",
    "Recalled",
    "Reply",
    "Summarised",
    "SummaryFailed",
    "Think",
    "Trimmed",
    "Truncated",
    "find_model_file",
    "load_models",
    "make_entry",
    "read_models",
]
