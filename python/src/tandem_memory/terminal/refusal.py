"""What the program won't do, with no part of the library to blame."""

from __future__ import annotations

from ..core.errors import TandemError

__all__ = ["RefusedError"]


class RefusedError(TandemError):
    """A wish that was not followed; the message says why, and what to do."""
