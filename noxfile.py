"""Every task of the project, needing Python 3.11 or newer alone.

    python3 noxfile.py                     all checks, as in CI
    python3 noxfile.py -s chat             a chat with memory (`-- --ts`: the TypeScript one)
    python3 noxfile.py -l                  the list of sessions

Run like this, the file makes an environment with nox in it and hands its arguments on, so that one
short line works on every platform and on a system Python that refuses to be installed into
(PEP 668). With a nox of one's own, `nox -s chat` is the same.

What the sessions fetch is in `shared-fixtures/checks/environments.py`, and how they find a model in
`serve.py` beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import platform
import signal
import sys
from collections.abc import Generator
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this line is for whoever has an older one
    version = platform.python_version()
    sys.exit(f"Tandem Memory needs Python 3.11 or newer; {sys.executable} is {version}.")

sys.path.insert(0, str(Path(__file__).parent / "shared-fixtures" / "checks"))

import serve
from environments import (
    BENCH,
    CHECKS,
    NODE,
    PYTHON,
    RUNNING,
    TOOLS,
    TOP,
    TYPESCRIPT,
    install,
    install_node,
    leave_to_child,
    python_of,
    run_nox,
)
from postgres import NoPostgresError, postgres_server

if __name__ == "__main__":
    sys.exit(run_nox(__file__, sys.argv[1:]))

import nox  # absent until run_nox has fetched it

REPORTS = TOP / ".nox" / "reports"
TABLES = ["window", "storage", "cache", "token_estimate"]
PYTHONS = sorted({"3.11", "3.12", "3.13", "3.14", RUNNING}, key=lambda text: int(text[2:]))

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["lint", "fixtures", "python", "typescript", "postgres", "parity", "live"]
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # each is skipped by name; RUNNING is there

# What follows `--` is for every session named: each takes what it knows, the rest goes to the
# program that it runs.
OPTIONS = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
OPTIONS.add_argument("--sequences", default="2000")
OPTIONS.add_argument("--model")
OPTIONS.add_argument("--ts", action="store_true")


def _node(session: nox.Session, package: str, *arguments: str | Path, **env: str) -> None:
    """Run the program of an installed npm package; its path spares Windows the `.cmd` wrappers."""
    with session.chdir(TYPESCRIPT):
        session.run(NODE, TYPESCRIPT / "node_modules" / package, *arguments, env=env, external=True)


def _check(session: nox.Session, script: str, *arguments: str | Path) -> None:
    """Run one of `shared-fixtures/checks/`, with both languages there, Node first on the PATH."""
    install(session, TOOLS, "package", "test")
    install_node(session)
    env = {"PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"}
    session.run(python_of(TOOLS), CHECKS / script, *arguments, env=env, external=True)


def _pytest(session: nox.Session, python: Path, name: str, *arguments: str, **env: str) -> None:
    with session.chdir(PYTHON):
        junit = f"--junitxml={REPORTS / 'junit' / name}.xml"
        session.run(python, "-m", "pytest", junit, *arguments, env=env, external=True)


def _vitest(session: nox.Session, name: str, *arguments: str, **env: str) -> None:
    junit = ["--reporter=junit", f"--outputFile.junit={REPORTS / 'junit' / name}.xml"]
    _node(session, "vitest/vitest.mjs", "run", "--reporter=default", *junit, *arguments, **env)


def _fresh_report(name: str) -> Path:
    """Where a suite writes which fixtures it ran; an old report must not stand in for a new one."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{name}.json"
    report.unlink(missing_ok=True)
    return report


# --- the checks -------------------------------------------------------------------------------


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Lint, format and types: ruff and pyright, Biome and tsc."""
    python = install(session, TOOLS, "package", "test", "embedded", "lint")
    ruff = [python, "-m", "ruff"]
    places = [".", TOP / "noxfile.py", CHECKS]
    with session.chdir(PYTHON):
        session.run(*ruff, "check", "--config=pyproject.toml", *places, external=True)
        session.run(*ruff, "format", "--check", "--config=pyproject.toml", *places, external=True)
        session.run(python, "-m", "pyright", f"--pythonpath={python}", external=True)
    install_node(session)
    _node(session, "@biomejs/biome/bin/biome", "check", "--error-on-warnings")
    _node(session, "typescript/bin/tsc")
    _node(session, "typescript/bin/tsc", "--project", "tsconfig.core.json")


@nox.session(python=False)
def fixtures(session: nox.Session) -> None:
    """The fixtures against their schema, and the validator against files that must fail."""
    _check(session, "validate.py")
    _check(session, "selftest.py")


@nox.session(python=PYTHONS)
def python(session: nox.Session) -> None:
    """The Python suite, on each interpreter found (arguments go to pytest)."""
    interpreter = install(session, Path(session.virtualenv.location), "package", "test")
    _, rest = OPTIONS.parse_known_args(session.posargs)
    report = _fresh_report(f"python-{session.python}")
    _pytest(session, interpreter, report.stem, *rest, TANDEM_FIXTURE_REPORT=str(report))


@nox.session(python=False)
def typescript(session: nox.Session) -> None:
    """The TypeScript suite, on Node 24 (arguments go to vitest)."""
    install_node(session)
    _, rest = OPTIONS.parse_known_args(session.posargs)
    report = _fresh_report("typescript")
    _vitest(session, report.stem, *rest, TANDEM_FIXTURE_REPORT=str(report))


@nox.session(python=False)
def postgres(session: nox.Session) -> None:
    """Both languages' stores on a PostgreSQL server of their own, where there are its binaries."""
    interpreter = install(session, TOOLS, "package", "test")
    install_node(session)
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"  # pytest starts TypeScript writers too
    try:
        with postgres_server() as url:
            env = {"TANDEM_POSTGRES_URL": url}
            _pytest(session, interpreter, "postgres-python", "-m", "postgres", PATH=path, **env)
            # One file after the other: one of them crashes the server.
            _vitest(session, "postgres-typescript", "postgres", "--no-file-parallelism", **env)
    except NoPostgresError as error:
        if "CI" in os.environ:
            session.error(str(error))
        session.skip(str(error))


@nox.session(python=False, requires=[f"python-{RUNNING}", "typescript"])
def parity(session: nox.Session) -> None:
    """Both languages agree: names, stores, fixtures run, random operations (`-- --sequences N`)."""
    known, _ = OPTIONS.parse_known_args(session.posargs)
    for script in ("symbols.py", "interplay.py", "talkers.py", "terminal.py", "sessions.py"):
        _check(session, script)
    _check(session, "writers.py", "--seconds", "3")
    reports = [*sorted(REPORTS.glob("python-*.json")), REPORTS / "typescript.json"]
    _check(session, "reconcile.py", *reports)
    _check(session, "differential.py", "--sequences", known.sequences)


@nox.session(python=False)
def mutants(session: nox.Session) -> None:
    """One-change mutants, caught by the fixtures alone (`-- --module window`: of one room)."""
    _check(session, "mutants.py", *session.posargs)


@nox.session(python=False)
def kills(session: nox.Session) -> None:
    """Writers killed at random points, 2,000 a language; nothing is lost (`-- --kills N`)."""
    _check(session, "kills.py", *session.posargs)


@nox.session(python=False)
def writers(session: nox.Session) -> None:
    """Four writers of both languages at one store for a minute (`-- --seconds N`)."""
    _check(session, "writers.py", *session.posargs)


# --- with a model -----------------------------------------------------------------------------


@contextlib.contextmanager
def _model(session: nox.Session, wanted: str | None) -> Generator[serve.Served]:
    """Serve a model for the block: the one asked for, else the default or what can stand in."""
    embedded = functools.partial(install, session, TOOLS, "embedded", "weights")
    try:
        with serve.serving(wanted, embedded=embedded, say=session.log) as served:
            yield served
    except serve.CannotServeError as error:
        session.error(str(error))


def _live(session: nox.Session, *suites: str, **env: str) -> None:
    interpreter = install(session, TOOLS, "package", "test")
    install_node(session)
    known, _ = OPTIONS.parse_known_args(session.posargs)
    with _model(session, known.model) as served:
        print(f"{session.name} report: {served}", flush=True)
        files = [f"tests/test_{suite}.py" for suite in suites]
        env |= served.env
        _pytest(session, interpreter, f"{session.name}-python", "-m", "live", *files, **env)
        _vitest(session, f"{session.name}-typescript", *suites, **env)
        session.log(f"both languages pass their {session.name} tests on {served}")


@nox.session(python=False)
def live(session: nox.Session) -> None:
    """Both suites' live tests against one engine (`-- --model NAME`: that model or failure)."""
    _live(session, "live", "long")


@nox.session(python=False)
def long(session: nox.Session) -> None:
    """All 500 turns of the long conversation of the live tests, in each language."""
    _live(session, "long", TANDEM_LIVE_TURNS="500")


@nox.session(python=False)
def conformance(session: nox.Session) -> None:
    """The embedded engine answers as Ollama does (beside a real one where `ollama` is there)."""
    interpreter = install(session, TOOLS, "package", "test", "embedded", "weights")
    install_node(session)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serve.embedded_server(interpreter))
        env = {"TANDEM_EMBEDDED_URL": url}
        if serve.OLLAMA is not None:
            ollama = serve.ollama_server(TOP / ".nox" / "ollama")
            env["TANDEM_OLLAMA_URL"] = stack.enter_context(ollama)
        _pytest(session, interpreter, "conformance-python", "-m", "conformance", **env)
        _vitest(session, "conformance-typescript", "conformance", **env)


@nox.session(python=False)
def chat(session: nox.Session) -> None:
    """A chat with memory in the terminal (`-- --ts`: in TypeScript; the rest goes to it)."""
    interpreter = install(session, TOOLS, "package")
    known, rest = OPTIONS.parse_known_args(session.posargs)
    program: list[str | Path] = [interpreter, "-m", "tandem_memory.cli"]
    if known.ts:
        install_node(session)
        program = [NODE, TYPESCRIPT / "src" / "cli.ts"]
    with contextlib.ExitStack() as stack:
        if known.model:  # the program has, pulls or misses it
            url, model = stack.enter_context(serve.ollama(session.log)), ["--model", known.model]
        else:
            served = stack.enter_context(_model(session, None))
            session.log(str(served))
            url, model = served.url, ["--model", served.model]
            if served.engine == serve.EMBEDDED:
                model = ["--models", CHECKS / "standin.toml", "--model", "local/chat/standin"]
        # nox ends its child at the first Ctrl-C; here the child decides what that stops.
        before = signal.signal(signal.SIGINT, leave_to_child)
        try:
            env = {"OLLAMA_HOST": url}
            session.run(*program, "chat", *model, *rest, env=env, external=True)
        finally:
            signal.signal(signal.SIGINT, before)


@nox.session(python=False)
def bench(session: nox.Session) -> None:
    """Benchmark tables, in ratios (`-- window`, `cache`, …: one of them; the rest goes to it)."""
    interpreter = install(session, BENCH, "package", "bench")
    install_node(session)
    install_node(session, TYPESCRIPT / "benchmarks")
    _node(session, "typescript/bin/tsc", "--project", "benchmarks")
    tables = [word for word in session.posargs if word in TABLES] or TABLES
    rest = [word for word in session.posargs if word not in TABLES]
    for table in tables:
        with _model(session, None) if table == "cache" else contextlib.nullcontext() as served:
            env = {"PATH": f"{python_of(TOOLS).parent}{os.pathsep}{os.environ['PATH']}"}
            if served:
                session.log(str(served))
                env |= served.env
            program = PYTHON / "benchmarks" / f"{table}.py"
            session.run(interpreter, program, *rest, env=env, external=True)
            twin = TYPESCRIPT / "benchmarks" / f"{table}.ts"
            if twin.exists():
                session.run(NODE, twin, *rest, env=env, external=True)
