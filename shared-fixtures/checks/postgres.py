"""A PostgreSQL server of one's own, from the binaries that this machine has.

    python3 shared-fixtures/checks/postgres.py                    serves until Ctrl-C
    python3 shared-fixtures/checks/postgres.py pytest -m postgres runs this with TANDEM_POSTGRES_URL

It listens on a free loopback port and keeps everything in a temporary folder, its socket too; both
are gone afterwards. The standard library is enough, so the task runner can import it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import pwd

from serve import free_port

LOG = Path(__file__).resolve().parents[2] / ".nox" / "postgres.log"

# Debian keeps the server's programs off the PATH, a folder a version.
PLACES = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"]

# A test's data need not outlive the machine's power, only the death of any process.
SETTINGS = {"fsync": "off", "listen_addresses": "127.0.0.1", "max_connections": "50"}


class NoPostgresError(Exception):
    """No PostgreSQL server can be started here; the text says why and what to do."""


@contextlib.contextmanager
def postgres_server() -> Generator[str]:
    """Run a new, empty server for the block; yields the URL of its superuser.

    Raises:
        NoPostgresError: There are no binaries, or the server does not start.
    """
    binaries = _binaries()
    user = _server_user()
    folder = Path(tempfile.mkdtemp(prefix="tandem-postgres-"))
    # Being asked to end must not leave the server behind, so it unwinds like Ctrl-C.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        password = secrets.token_hex()
        (folder / "password").write_text(password, encoding="utf-8")
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, user["user"], user["group"])
        LOG.parent.mkdir(exist_ok=True)
        with LOG.open("ab") as log:
            how = {**user, "cwd": folder, "stdout": log, "stderr": log}
            _initdb(binaries, folder, how)
            port = free_port()
            with _running(binaries, folder, port, how):
                yield f"postgresql://tandem:{password}@127.0.0.1:{port}/postgres"
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path:
    """The folder of the newest server's programs."""
    found = [path for place in PLACES for path in glob.glob(place)]  # noqa: PTH207 - from the root
    found.sort(key=lambda path: [int(number) for number in re.findall(r"\d+", path)])
    program = shutil.which("initdb", path=os.pathsep.join(reversed(found))) or shutil.which(
        "initdb"
    )
    if program is None or sys.platform == "win32":
        raise NoPostgresError(
            "no PostgreSQL server is installed (Debian, Ubuntu: apt install postgresql)"
        )
    return Path(program).resolve().parent


def _server_user() -> dict[str, Any]:
    """As whom to start the server's programs: root is refused by them, so root is another one."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = next(users[name] for name in ("postgres", "nobody") if name in users)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _initdb(binaries: Path, folder: Path, how: dict[str, Any]) -> None:
    command = [binaries / "initdb", "--username=tandem", f"--pwfile={folder / 'password'}"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
    if subprocess.call([*command, f"--pgdata={folder / 'data'}"], **how):
        raise NoPostgresError(f"initdb fails: {_last_words()}")


@contextlib.contextmanager
def _running(binaries: Path, folder: Path, port: int, how: dict[str, Any]) -> Generator[None]:
    settings = {**SETTINGS, "port": port, "unix_socket_directories": folder}
    command = [binaries / "postgres", "-D", folder / "data"]
    command += [f"--{name}={value}" for name, value in settings.items()]
    ready = [binaries / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={port}"]
    # A session of its own: Ctrl-C in the terminal is for us, who then end the server.
    with subprocess.Popen(command, start_new_session=True, **how) as server:
        try:
            deadline = time.monotonic() + 60
            while subprocess.call(ready):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise NoPostgresError(f"PostgreSQL does not start: {_last_words()}")
                time.sleep(0.1)
            yield
        finally:
            server.send_signal(signal.SIGINT)  # its fast shutdown: clients are sent away
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:  # as when a crash is just being recovered from
                server.send_signal(signal.SIGQUIT)


def _last_words() -> str:
    said = LOG.read_text("utf-8", "replace").splitlines() or ["no word"]
    return f"{said[-1]} (all in {LOG})"


def main(arguments: Sequence[str]) -> int:
    """Serve for the command in `arguments`, or until Ctrl-C; returns the exit status."""
    try:
        with postgres_server() as url:
            if arguments:
                return subprocess.call(arguments, env={**os.environ, "TANDEM_POSTGRES_URL": url})
            print(url, flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
            return 0
    except NoPostgresError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
