"""Chat with memory: the tree of models, the engine that runs one, the conversation with it."""

from .asynchronous import AsyncChat, AsyncChatStream
from .conversation import Conversation
from .engine import (
    AsyncEngine,
    AsyncOllamaEngine,
    Engine,
    ModelInfo,
    OllamaEngine,
    PullProgress,
)
from .exchange import Reply
from .modelfile import find_model_file, load_models
from .models import Models, read_models
from .session import Chat, ChatStream
from .settings import ModelEntry, Think, make_entry
from .wire import Delta, Durations, Ending

__all__ = [
    "AsyncChat",
    "AsyncChatStream",
    "AsyncEngine",
    "AsyncOllamaEngine",
    "Chat",
    "ChatStream",
    "Conversation",
    "Delta",
    "Durations",
    "Ending",
    "Engine",
    "ModelEntry",
    "ModelInfo",
    "Models",
    "OllamaEngine",
    "PullProgress",
    "Reply",
    "Think",
    "find_model_file",
    "load_models",
    "make_entry",
    "read_models",
]
