"""The folder in which one client runs: what it writes stays there until the site has stored it.

A record in the folder says whose it is and, once the process has ended, how it ended. The process that works on a
folder holds its lock, so that a folder whose process was killed is free at once.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from runs.results.measures.host import KIND
from runs.ycsb.arrivals import FILE_NAME as ARRIVALS_FILE
from runs.ycsb.properties import parse_properties
from runs.ycsb.redact import find_secrets, redact
from workers.probe.host_sampler import FILE_NAME

RECORD: Final = "client.json"
PROPERTIES: Final = "ycsb.properties"
# Kind of the artifact and name of the file; the histogram logs are the folder `hdr`.
STORED_FILES: Final = (
    ("summary", "summary.txt"),
    ("stdout", "stdout.txt"),
    ("stderr", "stderr.txt"),
    ("properties", PROPERTIES),
    (KIND, FILE_NAME),
    ("arrivals", ARRIVALS_FILE),
)
PRINTED_FILES: Final = ("stdout.txt", "stderr.txt")
# The folders that this process holds without running their clients.
_opened: set[Path] = set()


@dataclass(frozen=True, slots=True)
class ClientResult:
    """How one client ended: `reason` is a `runs.queue.reasons.Reason`, empty for a client that ran to its own end."""

    reason: str = ""
    reason_detail: str = ""
    exit_code: int | None = None
    cpu_percent: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class WorkFolder:
    """One client's folder, locked by this process."""

    path: Path
    claim: uuid.UUID
    generator: str
    result: ClientResult | None  # None: the process has not ended, or was killed with its load generator
    _lock: int  # a descriptor of the folder

    @property
    def client_run_id(self) -> uuid.UUID:
        return uuid.UUID(self.path.name)

    @property
    def properties(self) -> Path:
        """The property file, which holds the server's password until the process has ended."""
        return self.path / PROPERTIES

    def write_record(self) -> None:
        draft = self.path / f"{RECORD}.draft"
        result = self.result and asdict(self.result)
        draft.write_text(json.dumps({"claim": str(self.claim), "generator": self.generator, "result": result}))
        draft.replace(self.path / RECORD)

    def record_result(self, result: ClientResult) -> None:
        """The process has ended: its passwords go, also from what it printed; its result is written down.

        On a full disk the result is kept in memory alone, for as long as this process lives.
        """
        self.result = result
        self._redact_files()
        with contextlib.suppress(OSError):
            self.write_record()

    def _redact_files(self) -> None:
        try:
            text = self.properties.read_text(encoding="latin-1")
            secrets = find_secrets({name: value for _, name, value in parse_properties(text)})
            draft = self.properties.with_suffix(".draft")
            draft.write_text(redact(text, secrets), encoding="latin-1")
            draft.replace(self.properties)
            for name in PRINTED_FILES:
                _mask(self.path / name, secrets)
        except OSError:
            self.properties.unlink(missing_ok=True)

    def files(self) -> list[tuple[str, Path]]:
        """The files that the process wrote, each with the kind of its artifact."""
        written = [(kind, self.path / name) for kind, name in STORED_FILES if (self.path / name).exists()]
        return written + [("hdr", path) for path in sorted((self.path / "hdr").glob("*.hdr"))]

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def unlock(self) -> None:
        """Explicitly: a child that was forked meanwhile shares the descriptor."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        os.close(self._lock)


def _mask(path: Path, secrets: Collection[str]) -> None:
    """Overwrites them, so that a full disk is no obstacle. Raises OSError."""
    if not secrets or not path.exists():
        return
    text = content = path.read_bytes()
    for secret in (secret.encode() for secret in secrets):
        text = text.replace(secret, b"*" * len(secret))
    if text != content:
        with path.open("r+b") as file:
            file.write(text)


@contextlib.contextmanager
def created_work_folder(base: Path, client_run_id: uuid.UUID, claim: uuid.UUID, generator: str) -> Iterator[WorkFolder]:
    """A new folder below `base`, readable for this account alone. Raises OSError, also if it exists."""
    draft = base / f".{client_run_id}"
    draft.mkdir(parents=True, mode=0o700)
    folder = WorkFolder(draft, claim, generator, None, _locked(draft))
    try:
        folder.write_record()
        folder.path = _publish_folder(draft, base / str(client_run_id))
        (folder.path / "hdr").mkdir()
        yield folder
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    finally:
        folder.unlock()


def _publish_folder(draft: Path, path: Path) -> Path:
    try:
        return draft.rename(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise FileExistsError(
            errno.EEXIST, f"The client's work folder holds output of an earlier client: move {path} away"
        ) from error


@contextlib.contextmanager
def opened_work_folder(path: Path) -> Iterator[WorkFolder | None]:
    """A folder that an earlier process left; None where a process works on it, or it is no work folder."""
    try:
        lock = _locked(path)
    except OSError:
        yield None
        return

    folder = None
    _opened.add(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads((path / RECORD).read_text())
        result = None
        if record["result"]:
            result = ClientResult(**record["result"])
        folder = WorkFolder(path, uuid.UUID(record["claim"]), record["generator"], result, lock)

    try:
        yield folder
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)
        _opened.discard(path)


def busy_folders(base: Path, generator: str) -> int:
    """How many folders of this load generator's clients a process runs a client in; those that this process delivers
    are not among them.
    """
    number = 0
    for path in set(base.glob("[!.]*")) - _opened:
        try:
            os.close(_locked(path))
        except BlockingIOError:
            with contextlib.suppress(OSError, ValueError, KeyError):
                number += json.loads((path / RECORD).read_text())["generator"] == generator
        except OSError:
            continue
    return number


def _locked(path: Path) -> int:
    """A descriptor of the folder that holds its lock. Raises OSError where another process holds it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
