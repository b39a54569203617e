"""Sessions of the terminal program; both languages: shared-fixtures/checks/sessions.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "shared-fixtures" / "checks"))

from scenario import Play
from sessions import SCENARIOS, play_scenario

PROGRAM = [sys.executable, "-m", "tandem_memory"]


@pytest.mark.parametrize("play", SCENARIOS, ids=lambda play: play.__name__)
def test_a_session(play: Play) -> None:
    play_scenario(play, PROGRAM, PROGRAM)
