"""Both terminal programs, as a user meets them: in a pipe, and in a real terminal.

    python terminal.py     says what went another way; needs Node

Each scenario is played with both programs against a server that does what the question says. In a
pipe both must print the same, byte for byte.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from environments import TYPESCRIPT
from fake_ollama import FakeOllama, fake_ollama
from pseudoterminal import Program, ScenarioError, Terminal, pipe
from scenario import expect

__all__ = ["PIPED", "TYPED", "Play", "play_piped", "play_typed"]

Play = Callable[[Terminal, FakeOllama], None]

PASTED = "\x1b[200~{}\x1b[201~"
CTRL_C, CTRL_D, LEFT, HOME, UP, BACKSPACE = "\x03", "\x04", "\x1b[D", "\x01", "\x1b[A", "\x7f"

# --- in a terminal ------------------------------------------------------------------------------


def edits_wide_characters(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type(f"我有一只猫叫花花花{BACKSPACE}x{LEFT}{LEFT}小\r")
    terminal.see("(1).")
    terminal.prompt()
    # Longer than a row: the margin falls into it, and it is edited on both sides of that.
    terminal.type("一二三四五六七八九十" * 7)
    terminal.type(f"{BACKSPACE * 2}{HOME}零\r")
    terminal.see("(3).")
    terminal.prompt()
    terminal.type(f"{UP}👍🏽\r")
    terminal.see("(5).")
    long = "零" + ("一二三四五六七八九十" * 7)[:-2]
    expect(["我有一只猫叫花小花x", long, f"{long}👍🏽"], questions(server))
    terminal.type("/bye\r")
    expect(0, terminal.end())


def stops_an_answer_alone(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type("talk on\r")
    terminal.see("0 1 2 3 ")
    terminal.type(CTRL_C)
    terminal.see("Stopped; what came is kept.")
    terminal.prompt()
    terminal.type("next\r")
    terminal.see("(3).")
    part = server.asked[-1][1]["content"]
    expect(True, part.startswith("0 1 2 3") and len(part) < 100)
    terminal.prompt()
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def never_dies_of_ctrl_c(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    # One at a time: between two prompts the terminal itself takes a Ctrl-C, and drops what else was
    # typed along with it.
    for _ in range(20):
        terminal.type(CTRL_C)
        terminal.see("To leave, type /bye or press Ctrl-D.")
        terminal.prompt()
    terminal.type(f"thrown away{CTRL_C}")
    terminal.prompt()
    # As a program in between (a shell, nox) may send it, at any time.
    terminal.type("talk on\r")
    for _ in range(100):
        os.kill(terminal.pid, signal.SIGINT)
        time.sleep(0.01)
    terminal.type("\r/clear\r")
    terminal.see("The conversation is forgotten.")
    terminal.prompt()
    terminal.type("alive\r")
    terminal.see("You said “alive” (1).")
    terminal.prompt()
    expect(False, "thrown away" in questions(server))
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def takes_a_pasted_text_as_one_message(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    pasted = "def f():\n\treturn 'я'\n/bye\nend"
    terminal.type(PASTED.format(pasted.replace("\n", "\r")) + "!\r")
    terminal.see("(1).")
    terminal.prompt()
    terminal.type(PASTED.format("x" * 20_000) + "\r")
    terminal.see("(3).", 60)
    terminal.prompt()
    expect([pasted + "!", "x" * 20_000], [text.replace("    ", "\t") for text in questions(server)])
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def keeps_what_is_typed_ahead(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type("one\rtwo\rthree\r")
    terminal.see("(5).")
    expect(["one", "two", "three"], questions(server))
    terminal.prompt()
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def offers_to_pull_a_missing_model(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type("/model missing:1b\r")
    terminal.see("has no model missing:1b. Pull it now?")
    terminal.type("n\r")
    terminal.see("error: ")
    terminal.prompt()
    terminal.type("hello\r")
    terminal.see("Pull it now?")
    terminal.type("\r")
    terminal.see("[############------------] 50 %")
    terminal.see("You said “hello” (1).")
    expect(True, "missing:1b" in server.models)
    terminal.prompt()
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def asks_again_when_the_server_is_back(terminal: Terminal, server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type("first\r")
    terminal.see("(1).")
    terminal.prompt()
    server.shutdown()
    server.server_close()
    terminal.type("break\r")
    terminal.see("error: no model server answers at ")
    terminal.see("(the question is kept; /retry asks it again)")
    with fake_ollama(server.port) as other:
        terminal.prompt()
        terminal.type("/retry\r")
        terminal.see("You said “break” (3).")
        terminal.prompt()
        terminal.type("break off\r")
        terminal.see("Half an ans")
        terminal.see(
            "error: the model server broke off after 11 characters of the answer; ask again"
        )
        terminal.prompt()
        terminal.type("/undo\r")
        terminal.see("Forgotten: break off")
        terminal.prompt()
        terminal.type("last\r")
        terminal.see("You said “last” (5).")
        expect(["break", "break off", "last"], questions(other))
    terminal.prompt()
    terminal.type(CTRL_D)
    expect(0, terminal.end())


def dims_thinking(terminal: Terminal, _server: FakeOllama) -> None:
    terminal.prompt()
    terminal.type("think\r")
    terminal.see("\nHmm, what a question.\n\nYou said “think” (1).")
    terminal.prompt()
    terminal.type(CTRL_D)
    expect(0, terminal.end())


TYPED: list[Play] = [
    edits_wide_characters,
    stops_an_answer_alone,
    never_dies_of_ctrl_c,
    takes_a_pasted_text_as_one_message,
    keeps_what_is_typed_ahead,
    offers_to_pull_a_missing_model,
    asks_again_when_the_server_is_back,
    dims_thinking,
]

# --- in a pipe ----------------------------------------------------------------------------------

TALK = """\
\ufeffMy cat is called 花花.

/context
What is it called?
break off
/retry
/undo
/undo
/foo
//foo
think
/think on
/model
/model nope
/model missing:1b
hello
/model local/chat/large
/retry
/clear
/retry
/context
/help
/bye
never read
"""

PIPED: dict[str, tuple[list[str], bytes, int]] = {
    "answers each line": (["chat"], b"hello\nagain", 0),
    "answers nothing": (["chat"], b"", 0),
    "takes what is no UTF-8": (["chat"], b"\xff\xfe caf\xe9 \xf0\x9f\n\x00\r\n", 0),
    "obeys commands, and fails where one line does": (["chat"], TALK.encode(), 1),
    "shows thinking": (["chat", "--show-thinking", "--system", "Be kind."], b"think\n/context", 0),
    "trims": (["chat", "--max-turns", "1"], b"a\nb\nc\n/context\n", 0),
    "summarises": (["chat", "--summarize", "--max-turns", "1"], b"a\nb\nc\n/context", 0),
    "has no such model": (["chat", "--model", "missing:1b"], b"hello\n", 1),
    "has no such entry": (["chat", "--model", "nope"], b"hello\n", 2),
    "has no such server": (["chat", "--host", "127.0.0.1:1"], b"hello\n", 1),
    "has no such option": (["chat", "--modle"], b"hello\n", 2),
    "has no such file": (["chat", "--models", "models.json"], b"hello\n", 2),
    "lists models": (["models"], b"", 0),
    "lists models without a server": (["models", "--host", "127.0.0.1:1"], b"", 1),
    "pulls": (["pull", "missing:1b"], b"", 0),
    "helps": (["chat", "--help"], b"", 0),
    "tells its version": (["--version"], b"", 0),
}
"""What is piped into which command, and the exit code."""


def questions(server: FakeOllama) -> list[str]:
    return [messages[-1]["content"] for messages in server.asked]


def play_piped(program: Program, name: str, port: int = 0) -> tuple[bytes, bytes]:
    """Play a scenario in a pipe; returns what was printed."""
    words, text, status = PIPED[name]
    with tempfile.TemporaryDirectory() as folder, fake_ollama(port) as server:
        bad = Path(folder) / "models.json"
        bad.write_text('{"local": {"chat": {"num_ctx": -1}}}', "utf-8")
        code, out, err = pipe(program, words, text, server.port, folder)
    expect(status, code)
    expect(False, b"\x1b" in out + err)
    return out, err


def play_typed(program: Program, play: Play) -> None:
    """Play a scenario in a terminal."""
    with fake_ollama() as server:
        terminal = Terminal(program, ["chat"], server.port)
        try:
            play(terminal, server)
        finally:
            terminal.kill()


def main() -> int:
    """Play all scenarios with both programs; returns how many went another way."""
    find_node = ["node", "-p", "process.execPath"]
    node = subprocess.run(find_node, capture_output=True, text=True, check=True).stdout.strip()
    programs: dict[str, Program] = {
        "python": [sys.executable, "-m", "tandem_memory"],
        "typescript": [node, str(TYPESCRIPT / "src" / "cli.ts")],
    }
    problems = 0
    for name in PIPED:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = int(probe.getsockname()[1])
        try:
            python, typescript = (play_piped(each, name, port) for each in programs.values())
            expect(python, typescript)
        except ScenarioError as error:
            problems += 1
            print(f"in a pipe, a chat that {name}: {error}")
    for play in TYPED if os.name == "posix" else []:
        for language, program in programs.items():
            try:
                play_typed(program, play)
            except ScenarioError as error:
                problems += 1
                print(f"in a terminal, {language} {play.__name__}: {error}")
    print(f"{len(PIPED)} scenarios in a pipe and {len(TYPED)} in a terminal, {problems} went wrong")
    return problems


if __name__ == "__main__":
    sys.exit(main())
