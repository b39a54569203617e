"""The commands that need no model: what is stored is listed, shown, moved and removed."""

from __future__ import annotations

from .archive import Archive
from .arguments import Arguments
from .keyboard import Keyboard
from .place import find_place, open_place
from .screen import Screen

__all__ = ["DEFAULT_USER", "UPKEEP", "keep_up"]

UPKEEP = ("sessions", "show", "export", "import", "forget")
"""The names of these commands."""

DEFAULT_USER = "me"


async def keep_up(given: Arguments, screen: Screen, keyboard: Keyboard) -> None:
    """Do one of these commands; raises what is in its way."""
    place = find_place(given.store)
    with open_place(place, make=given.command == "import") as store:
        archive = Archive(store, given.user or DEFAULT_USER, screen, keyboard)
        match given.command:
            case "sessions":
                archive.list_sessions()
            case "show":
                archive.show_session(given.session, given.turns)
            case "export":
                archive.export_sessions(given.session, given.document, replace=given.sure)
            case "import":
                archive.import_sessions(given.document or "", given.user)
            case _:
                await archive.forget(given.session, sure="" if given.sure else "--yes")
