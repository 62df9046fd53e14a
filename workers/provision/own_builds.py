"""Servers that a team built itself, where the operator of this machine allows it: copied into the folder of their
deployment, so that all runs of a plan start the same bytes. No Django.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from benchsite.core.formatting import size
from benchsite.core.paths import Account
from runs.builds import (
    AVAILABLE,
    FACTS,
    MAX_STATEMENT_BYTES,
    STATEMENT_FILE,
    get_source,
    read_statement,
)
from runs.catalog import System
from runs.queue.spec import BuildSpec
from workers.generator.executables import ExecutableNotFound, choose_java_server, find_server_java
from workers.provision.artifact_repository import MavenError, fetch_artifact
from workers.provision.folders import remove_folder
from workers.provision.messages import NO_OWN_BUILDS
from workers.provision.servers import ServerDidNotStart

MAX_BYTES: Final = 4 * 1024**3
MAX_FILES: Final = 50_000
PROGRAM_FOLDERS: Final = ("", "bin", "sbin", "src")
LIBRARY_FOLDERS: Final = ("lib", "")
# Programs that may stand for another one.
ALTERNATIVES: Final = {"redis-server": ("redis-server", "valkey-server")}
BUILD: Final = "build"  # its folder below that of the deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBuilds:
    """What the operator of this machine lets teams start; empty: nothing."""

    folders: tuple[Path, ...] = ()  # builds lie below these
    images: tuple[str, ...] = ()  # how references begin
    repository: str = ""  # a Maven repository: its address, or its folder

    def list_facts(self) -> dict[str, str]:
        """Facts of this machine, for previews of plans."""
        facts = {}
        for source, value, variable in (
            ("folder", self.folders, "BENCHSITE_OWN_BUILD_FOLDERS"),
            ("image", self.images, "BENCHSITE_OWN_BUILD_IMAGES"),
            ("artifact", self.repository, "BENCHSITE_OWN_BUILD_REPOSITORY"),
        ):
            facts[FACTS[source]] = AVAILABLE
            if not value:
                facts[FACTS[source]] = NO_OWN_BUILDS.format(variable=variable)
        return facts

    def check_image(self, reference: str) -> None:
        """Raises ServerDidNotStart."""
        if not any(reference.startswith(beginning) for beginning in self.images):
            raise ServerDidNotStart(
                f"The image {reference} is none that this machine's operator allows (BENCHSITE_OWN_BUILD_IMAGES)."
            )


def place_build(
    build: BuildSpec, system: System, allowed: OwnBuilds, folder: Path, servers: Path, account: Account | None
) -> tuple[Path, Path | None, dict[str, str]]:
    """Copies the build into the folder of its deployment, unless it is there. Raises ServerDidNotStart.

    Returns its program, the folder of its jars where it is a Java program, and what its folder states of itself with
    `digest`, the SHA-256 over its files.
    """
    refuse_root(account)
    assert system.process is not None  # Others are not started as processes.
    home = folder / BUILD
    if not home.exists():
        draft = folder / f".{BUILD}"
        remove_folder(draft)
        try:
            _fill(draft, build, system, allowed, servers)
            draft.rename(home)
        except (OSError, MavenError, ExecutableNotFound) as error:
            raise ServerDidNotStart(f"Build “{build['name']}” cannot be had: {error}") from error
        finally:
            remove_folder(draft)

    try:
        statement = _read_statement(home)
        program, lib = _find_program(home, system)
    except (OSError, ValueError, ExecutableNotFound) as error:
        raise ServerDidNotStart(f"Build “{build['name']}”: {error}") from error

    return program, lib, {**statement, "digest": _compute_digest(home)}


def refuse_root(account: Account | None) -> None:
    """Raises ServerDidNotStart where the server would run as root."""
    uid = os.geteuid()
    if account is not None:
        uid = account.uid
    if uid == 0:
        raise ServerDidNotStart("Own builds never run as root, and this machine has no other account for servers.")


def _fill(draft: Path, build: BuildSpec, system: System, allowed: OwnBuilds, servers: Path) -> None:
    if get_source(build) == "folder":
        source = _resolve_folder(Path(build["folder"]), allowed)
        _refuse_large(source)
        shutil.copytree(source, draft, symlinks=True)
    else:
        if not allowed.repository:
            raise ServerDidNotStart(
                "This machine's operator names no Maven repository (BENCHSITE_OWN_BUILD_REPOSITORY)."
            )
        draft.mkdir()
        fetched = fetch_artifact(allowed.repository, build["artifact"], draft, max_bytes=MAX_BYTES)
        if fetched is not None:
            _add_jars(draft, fetched, system, servers)
        _refuse_large(draft)
    _open_to_account(draft)


def _resolve_folder(folder: Path, allowed: OwnBuilds) -> Path:
    resolved = folder.resolve()
    if not any(resolved.is_relative_to(parent.resolve()) for parent in allowed.folders):
        raise ServerDidNotStart(
            f"{folder} lies below no folder that this machine's operator allows (BENCHSITE_OWN_BUILD_FOLDERS)."
        )
    if not resolved.is_dir():
        raise ServerDidNotStart(f"There is no folder {folder} on this machine.")
    return resolved


def _list_files(folder: Path) -> Iterator[Path]:
    """Regular files. Raises ServerDidNotStart for anything that would lead elsewhere."""
    for parent, names, files in os.walk(folder):
        names.sort()
        for name in sorted(files) + [name for name in names if Path(parent, name).is_symlink()]:
            path = Path(parent, name)
            if path.is_symlink():
                if not path.resolve().is_relative_to(folder.resolve()) or path.readlink().is_absolute():
                    raise ServerDidNotStart(f"{path.relative_to(folder)} is a link that leads out of the build.")
            elif not stat.S_ISREG(path.stat().st_mode):
                raise ServerDidNotStart(f"{path.relative_to(folder)} is no file.")
            else:
                yield path


def _refuse_large(folder: Path) -> None:
    total = 0
    for number, path in enumerate(_list_files(folder), 1):
        total += path.stat().st_size
        if number > MAX_FILES or total > MAX_BYTES:
            raise ServerDidNotStart(f"A build has at most {MAX_FILES:,} files of {size(MAX_BYTES)} in all.")


def _open_to_account(folder: Path) -> None:
    """The account reads and starts it, and changes nothing of it; nothing in it runs with other rights."""
    for parent, _, files in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in files:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _read_statement(folder: Path) -> dict[str, str]:
    path = folder / STATEMENT_FILE
    if not path.is_file() or path.is_symlink():
        return {}
    if path.stat().st_size > MAX_STATEMENT_BYTES:
        raise ValueError(f"{STATEMENT_FILE} has more than {size(MAX_STATEMENT_BYTES)}.")
    return read_statement(path.read_bytes())


def _find_program(folder: Path, system: System) -> tuple[Path, Path | None]:
    assert system.process is not None
    # An archive often holds one folder with everything.
    children = [path for path in folder.iterdir() if path.name != STATEMENT_FILE]
    roots = [folder]
    if len(children) == 1 and children[0].is_dir():
        roots.append(children[0])
    if system.process.program == "java":
        for root, name in product(roots, LIBRARY_FOLDERS):
            lib = root / name
            if any(lib.glob("*.jar")):
                return find_server_java(), lib
        raise ServerDidNotStart("There are no jars in it, nor in its folder lib.")

    names = ALTERNATIVES.get(system.process.program, (system.process.program,))
    for root, program_folder, name in product(roots, PROGRAM_FOLDERS, names):
        path = root / program_folder / name
        if path.is_file() and os.access(path, os.X_OK):
            return path, None

    raise ServerDidNotStart(
        f"There is no program {' or '.join(names)} in it, nor in its folders {', '.join(PROGRAM_FOLDERS[1:])}."
    )


def _add_jars(draft: Path, jar: Path, system: System, servers: Path) -> None:
    """The jars of the server as `make servers` fetched them, with this one in the place of its artifact's."""
    assert system.process is not None
    if system.process.program != "java":
        raise ServerDidNotStart(
            f"{system.name} is no Java program: state an artifact with the packaging tar.gz or zip."
        )
    _, lib = choose_java_server(system.slug, servers, None, shelf=draft)
    artifact = jar.name.removesuffix(".jar")
    for path in lib.glob("*.jar"):
        version = path.stem.removeprefix(f"{artifact}-")
        if version == path.stem or not version[:1].isdigit():
            shutil.copy2(path, draft / path.name)


def _compute_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in _list_files(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256")
        digest.update(f"{path.relative_to(folder)}\0{content.hexdigest()}\n".encode())
    return digest.hexdigest()
