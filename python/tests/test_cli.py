"""The terminal program as a user meets it; both languages: shared-fixtures/checks/terminal.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "shared-fixtures" / "checks"))

from fake_ollama import fake_ollama
from pseudoterminal import Terminal, environment, pipe
from terminal import PIPED, TYPED, Play, play_piped, play_typed

PROGRAM = [sys.executable, "-m", "tandem_memory"]


@pytest.mark.parametrize("name", PIPED)
def test_in_a_pipe_it(name: str) -> None:
    out, err = play_piped(PROGRAM, name)
    assert b"Traceback" not in out + err


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a thing of POSIX")
@pytest.mark.parametrize("play", TYPED, ids=lambda play: play.__name__)
def test_in_a_terminal_it(play: Play) -> None:
    play_typed(PROGRAM, play)


def test_an_answer_in_a_pipe_is_the_answer_alone(tmp_path: Path) -> None:
    with fake_ollama() as server:
        expected = (0, "You said “hi” (1).\n\n".encode(), b"")
        assert pipe(PROGRAM, ["chat"], b"hi\n", server.port, str(tmp_path)) == expected


def test_a_bad_model_file_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[local.chat]\nnum_ctx = 0\n", "utf-8")
    words = ["models", "--models", "m.toml"]
    status, out, err = pipe(PROGRAM, words, b"", 1, str(tmp_path))
    line = b"error: invalid model file: m.toml: local/chat/num_ctx is 0; it must be a whole number"
    assert (status, out, err.count(b"\n")) == (2, b"", 1)
    assert err.startswith(line)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no signal that stops one process alone")
def test_ctrl_c_in_a_pipe_stops_the_answer_and_fails_the_line() -> None:
    with fake_ollama() as server:
        program = subprocess.Popen(
            [*PROGRAM, "chat"],
            env=environment(server.port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"talk on\n")
        program.stdin.flush()
        program.stdout.read(4)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(b"next\n", timeout=30)
        asked = [messages[-1]["content"] for messages in server.asked]
    assert (program.returncode, err, asked) == (
        1,
        b"Stopped; what came is kept.\n",
        ["talk on", "next"],
    )


@pytest.mark.parametrize("command", [b"/bye\n", b"/new\n", b"/model qwen3:4b\n"])
def test_leaving_waits_for_no_summary(command: bytes) -> None:
    with fake_ollama() as server:
        program = subprocess.Popen(
            [*PROGRAM, "chat", "--summarize", "--max-turns", "1"],
            env=environment(server.port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdin is not None
        program.stdin.write(b"slowly\n")
        program.stdin.flush()
        while not server.summaries:
            time.sleep(0.01)
        program.communicate(command, timeout=5)
    assert program.returncode == 0


def test_a_reader_that_goes_away_ends_it_without_a_word() -> None:
    with fake_ollama() as server:
        program = subprocess.Popen(
            [*PROGRAM, "models"],
            env=environment(server.port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None
        program.stdout.close()
        _, err = program.communicate(timeout=30)
    assert (program.returncode, err) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a thing of POSIX")
@pytest.mark.parametrize(("setting", "dimmed"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_thinking_is_dimmed_unless_colours_are_off(setting: dict[str, str], dimmed: bool) -> None:
    with fake_ollama() as server:
        terminal = Terminal(PROGRAM, ["chat"], server.port, setting)
        try:
            terminal.prompt()
            terminal.type("think\r")
            terminal.see("(1).")
            terminal.prompt()
            terminal.type("/bye\r")
            assert terminal.end() == 0
        finally:
            terminal.kill()
    assert ("\x1b[2mHmm" in terminal.raw) is dimmed
    assert ("(thinking) Hmm" in terminal.raw) is not dimmed
