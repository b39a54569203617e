"""A stand-in for Ollama on machines that have none: its HTTP API over a real llama.cpp.

Run it with `python -m tandem_memory.embedded`, or from Python with `EmbeddedServer`. It needs the
extra `tandem-memory[embedded]` and a model's weights; without either it says what to install.
Python only: both languages talk to it over HTTP, as they do to Ollama.
"""

from .server import EmbeddedServer, EmbeddedServerError

__all__ = ["EmbeddedServer", "EmbeddedServerError"]
