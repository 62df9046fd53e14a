"""Finds and ends what earlier lives of a component left running. No Django.

Every guardian keeps a record of its child in a folder. A record whose owner is gone is a leftover: normally its
guardian is ending it at this moment, and this module only waits; where the guardian was killed too, it does the ending.
"""

import contextlib
import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from workers.processes import guardian

GONE_CHECK_S = 0.05
GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Record:
    """What a guardian wrote about its child."""

    path: Path
    label: str
    token: str
    pid: int
    pgid: int
    started: str | None
    guardian_pid: int
    guardian_started: str | None
    owner_pid: int
    owner_started: str | None

    @property
    def guardian_lives(self) -> bool:
        return _is_same(self.guardian_pid, self.guardian_started)


def read_records(folder: Path) -> list[Record]:
    """Every record of the folder; a file that is none is left alone."""
    records = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
            content: dict[str, Any] = json.loads(path.read_text())
            records.append(Record(path=path, **content))
    return records


def end_earlier_lives(folder: Path) -> list[Record]:
    """Ends the groups of records whose owner is gone; returns those that still ran.

    A process is touched only where its pid, its start time and the token in its environment all match the record, or,
    where the child itself has ended, where it is in the record's group or session and carries the token. Anything else
    with that number is somebody else's by now.
    """
    leftovers = [record for record in read_records(folder) if not _is_same(record.owner_pid, record.owner_started)]
    # Guardians that live are ending their groups themselves, within the grace and a little more.
    end = time.monotonic() + GRACE_S + 2
    while any(record.guardian_lives for record in leftovers) and time.monotonic() < end:
        time.sleep(GONE_CHECK_S)

    ended = []
    for record in leftovers:
        processes = _find_processes(record)
        if processes:
            ended.append(record)
            _end(processes)
        record.path.unlink(missing_ok=True)

    return ended


def _is_same(pid: int, started: str | None) -> bool:
    return started is not None and guardian.start_time(pid) == started


def _find_processes(record: Record) -> list[psutil.Process]:
    """The child with everything below it, and what remains of its group."""
    processes: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == record.pid and guardian.start_time(process.pid) != record.started:
                continue  # Another process has its number now.
            if process.environ().get("BENCHSITE_TOKEN") == record.token:
                processes[process.pid] = process
                processes |= {child.pid: child for child in process.children(recursive=True)}
    return list(processes.values())


def _end(processes: list[psutil.Process]) -> None:
    """TERM, grace, KILL. psutil signals a process only while it is the one that was found."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(processes, timeout=GRACE_S)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=guardian.KILL_PATIENCE_S)
