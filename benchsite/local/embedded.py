"""The private PostgreSQL and Redis of a one-machine site: started under guardians, reached by UNIX sockets only.

Nothing listens on TCP, so neither can be taken for a server under test. Permissions of folders that this module has not
made itself are never changed. No Django: the test session starts its servers before the settings are read.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import psycopg

from benchsite.core.formatting import grouped
from benchsite.core.logs import log_tail
from benchsite.core.paths import Account, Places, make_folders, make_log_folder, reachable
from workers.generator.executables import ExecutableNotFound, PostgreSQLBinaries, choose_postgresql, choose_redis
from workers.processes.guarded_process import Guarded, StartError, start_guarded
from workers.processes.process_registry import end_earlier_lives

READY_PATIENCE_S = 60.0
READY_CHECK_TIMEOUT_S = 5.0
READY_CHECK_S = 0.05
BACKENDS_PATIENCE_S = 10.0
DATABASE = "benchsite"
OUTSIDE = Path("/var/tmp")  # where `benchsite.core.paths` puts what root cannot hand over inside `var/`
# What the servers of a test session do without: they hold nothing that a crash may not take.
POSTGRESQL_CARELESS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=4GB")


class EmbeddedError(Exception):
    """A private server cannot be started; the message says why and what to do."""


class AlreadyRunning(EmbeddedError):
    """Another process runs the servers of this `var/`."""


class EmbeddedServers:
    """The private servers of one `var/`. Usable as a context; `stop` may be called at any time, and twice."""

    def __init__(
        self, places: Places, *, logs: Path, postgresql: bool = True, redis: bool = True, careless: bool = False
    ) -> None:
        self.places = places
        self.logs = logs
        self.wants_postgresql, self.wants_redis = postgresql, redis
        self.careless = careless  # Nothing is flushed to disk: for tests.
        self.registry = places.base / "embedded"
        self.shelf = places.base / "programs"
        self.postgresql: Guarded | None = None
        self.redis: Guarded | None = None
        self._lock: int | None = None

    def start(self) -> None:
        """Starts what is wanted and returns when it answers. Raises EmbeddedError; then nothing is left running."""
        try:
            self.reserve()
            end_earlier_lives(self.registry)
            if self.wants_redis:
                self._start_redis()
            if self.wants_postgresql:
                self._start_postgresql()
        except (StartError, ExecutableNotFound, OSError) as problem:
            self.stop()
            raise EmbeddedError(str(problem)) from problem
        except BaseException:
            self.stop()
            raise

    def reserve(self) -> None:
        """Prepares the folders and takes the lock, without starting anything yet. Raises AlreadyRunning."""
        if self._lock is None:
            places = self.places
            make_folders(places.base)
            if places.base.parent == OUTSIDE:
                check_own(places.base)
            if places.account is not None and not reachable(places.base, places.account):
                raise EmbeddedError(
                    f"The account {places.account.name}, as which root runs the servers, cannot reach {places.base}: "
                    "let it pass (chmod o+x on the folders above), or set BENCHSITE_VAR to a folder that it reaches."
                )

            make_log_folder(self.logs)
            make_folders(self.registry)
            for folder in (places.sockets, places.redis):
                own_folder(folder, places.account)

            # One life at a time per `var/`. The lock goes with this process, however it ends.
            path = self.places.base / "embedded.lock"
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(lock, 32, 0).decode().strip()
                os.close(lock)
                raise AlreadyRunning(
                    f"The servers in {self.places.base} are already run by process {holder or 'unknown'}: "
                    "stop that one first (make down), or give this one another folder with BENCHSITE_VAR."
                ) from None

            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            self._lock = lock

    def stop(self) -> None:
        """Stops both in order and gives the lock back."""
        for server in (self.postgresql, self.redis):
            if server is not None:
                server.stop()
        self.postgresql = self.redis = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def check(self) -> None:
        """Raises EmbeddedError, with the end of its log, when a server has died."""
        for server, name in ((self.postgresql, "PostgreSQL"), (self.redis, "Redis")):
            if server is not None and not server.alive():
                log = self.logs / f"{server.label}.log"
                raise EmbeddedError(f"The site's own {name} has died. The end of {log}:\n{log_tail(log)}")

    def __enter__(self) -> "EmbeddedServers":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- Redis

    def _start_redis(self) -> None:
        places = self.places
        program = choose_redis(places.account, shelf=self.shelf)
        options = {
            "port": "0",
            "unixsocket": str(places.redis_socket),
            "unixsocketperm": "700",
            "dir": str(places.redis),
            "save": "" if self.careless else "300 1",
            "appendonly": "no",
            "daemonize": "no",
            # Setting the title wipes the environment, by which earlier lives are recognised.
            "set-proc-title": "no",
        }
        argv = [str(program.path)]
        for name, value in options.items():
            argv += (f"--{name}", value)

        log = self.logs / "redis.log"
        places.redis_socket.unlink(missing_ok=True)
        self.redis = self._start("redis", argv, log, signal.SIGTERM)
        wait_until_ready(self.redis, "Redis", log, self._redis_answers)

    def _redis_answers(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(READY_CHECK_TIMEOUT_S)
            client.connect(str(self.places.redis_socket))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        return False

    # --- PostgreSQL

    def _start_postgresql(self) -> None:
        data = self.places.postgresql
        binaries = self._binaries()
        log = self.logs / "postgresql.log"
        if not (data / "PG_VERSION").exists():
            self._initialise(binaries)
        clear_stale_locks(data, self.places.sockets)
        options = [
            "listen_addresses=",
            f"unix_socket_directories={self.places.sockets}",
            "unix_socket_permissions=0700",
            "max_connections=100",
            "logging_collector=off",
            "log_line_prefix=%m [%p] ",
            *(POSTGRESQL_CARELESS if self.careless else ()),
        ]
        argv = [str(binaries.postgres), "-D", str(data)]
        for option in options:
            argv += ("-c", option)

        # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave.
        self.postgresql = self._start("postgresql", argv, log, signal.SIGINT)
        wait_until_ready(self.postgresql, "PostgreSQL", log, self._ensure_database)

    def _binaries(self) -> PostgreSQLBinaries:
        """Those that fit the data folder, or for a new one the first there are."""
        version_file = self.places.postgresql / "PG_VERSION"
        if not version_file.exists():
            return choose_postgresql(self.places.account, shelf=self.shelf)
        major = int(version_file.read_text().strip())
        try:
            return choose_postgresql(self.places.account, major=major, shelf=self.shelf)
        except ExecutableNotFound as problem:
            raise EmbeddedError(
                f"The data folder {self.places.postgresql} was written by PostgreSQL {major}. {problem} "
                f"Install PostgreSQL {major}, or move the folder away to begin with an empty database."
            ) from problem

    def _initialise(self, binaries: PostgreSQLBinaries) -> None:
        """Makes the data folder beside its place and moves it there, so that a half-made one is never taken for one."""
        data = self.places.postgresql
        if data.exists() and any(data.iterdir()):
            raise EmbeddedError(f"{data} is neither empty nor a data folder of PostgreSQL: move it away.")

        draft = data.with_name(f"{data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        own_folder(draft, self.places.account)
        log = self.logs / "initdb.log"
        argv = [
            str(binaries.initdb),
            *("-D", str(draft), "--username=benchsite", "--encoding=UTF8", "--locale=C", "--no-instructions"),
            # Only the socket folder's owner gets as far as the socket.
            *("--auth-local=trust", "--auth-host=reject"),
            *(["--no-sync"] if self.careless else []),
        ]
        making = self._start("initdb", argv, log, signal.SIGTERM)
        if making.wait(READY_PATIENCE_S) != 0:
            making.kill()
            raise EmbeddedError(f"PostgreSQL's initdb failed. The end of {log}:\n{log_tail(log)}")

        if data.exists():
            data.rmdir()
        draft.rename(data)

    def _ensure_database(self) -> bool:
        """Whether PostgreSQL answers; makes the site's database where it is not there yet."""
        try:
            with psycopg.connect(
                host=str(self.places.sockets), user="benchsite", dbname="postgres", autocommit=True, connect_timeout=5
            ) as connection:
                if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
                return True
        except psycopg.OperationalError:
            return False

    def _start(self, label: str, argv: Sequence[str], log: Path, stop_signal: int) -> Guarded:
        log.unlink(missing_ok=True)
        return start_guarded(
            argv,
            registry=self.registry,
            label=label,
            cwd=self.places.sockets,
            account=self.places.account,
            stdout=log,
            stderr=log,
            stop_signal=stop_signal,
            grace_s=10,
        )


def wait_until_ready(server: Guarded, name: str, log: Path, answers: Callable[[], bool]) -> None:
    """Returns when the server answers. Raises EmbeddedError with the log's end when it ends or stays silent."""
    end = time.monotonic() + READY_PATIENCE_S
    while not answers():
        if not server.alive():
            raise EmbeddedError(f"{name} ended as it started. The end of {log}:\n{log_tail(log)}")
        if time.monotonic() > end:
            raise EmbeddedError(
                f"{name} did not answer in {grouped(READY_PATIENCE_S)} s. The end of {log}:\n{log_tail(log)}"
            )
        time.sleep(READY_CHECK_S)


def own_folder(folder: Path, account: Account | None) -> None:
    """A folder of mode 0700 that belongs to the servers' account. An existing one is checked and not changed.

    Raises EmbeddedError where it is somebody else's, open to others, or no folder (a link, say): whoever could put
    something in could take the server's place.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        check_own(folder, os.geteuid() if account is None else account.uid, forbidden=0o077)
    else:
        if account is not None:
            os.chown(folder, account.uid, account.gid)


def check_own(folder: Path, uid: int | None = None, *, forbidden: int = 0o022) -> None:
    """Raises EmbeddedError unless this is a folder of `uid` (None: this user's) without any of the `forbidden` bits."""
    if uid is None:
        uid = os.geteuid()
    facts = folder.lstat()
    mode = stat.S_IMODE(facts.st_mode)
    if not stat.S_ISDIR(facts.st_mode):
        wrong = "is not a folder"
    elif facts.st_uid != uid:
        wrong = f"belongs to user {facts.st_uid}, not to {uid}"
    elif mode & forbidden:
        wrong = f"is open to others (mode {mode:04o})"
    else:
        return

    raise EmbeddedError(f"{folder} {wrong}: remove it, and it will be made anew.")


def clear_stale_locks(data: Path, sockets: Path) -> None:
    """Removes the lock files of a server that was killed, which could keep the next one from starting.

    PostgreSQL itself believes such a file when any process of its account has that number by now. Raises EmbeddedError
    where a server really runs on the folder; backends of a killed one are given a moment to notice.
    """
    stale = [path for path in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*")) if path.exists()]
    if not stale:
        return
    end = time.monotonic() + BACKENDS_PATIENCE_S
    while users := _processes_in(data):
        if time.monotonic() > end:
            raise EmbeddedError(f"Process {users[0].pid} ({users[0].name()}) still works in {data}: stop it first.")
        time.sleep(READY_CHECK_S)
    for path in stale:
        path.unlink(missing_ok=True)


def _processes_in(data: Path) -> list[psutil.Process]:
    """PostgreSQL's processes all have the data folder as their working folder."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == data.resolve():
                processes.append(process)
    return processes
