"""Limits the CPU time of a server's processes for a while, by a group of the cgroup controller cpu (version 1).

A group is a folder that the kernel removes only while no process is in it, so `remove_unused_groups` deletes what a
killed process left and can touch nothing in use. No Django.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import psutil

GROUP_PREFIX: Final = "benchsite-fault-"
PERIOD_US: Final = 20_000
NO_QUOTA: Final = -1
MAX_ROUNDS: Final = 20


class QuotaError(Exception):
    """CPU time cannot be limited here; the message says why and what to do."""


def own_group() -> Path:
    """The group of this process, below which groups are made. Raises QuotaError where there is none to write in."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        raise QuotaError("CPU time is limited on Linux only.") from None

    roots = [Path(mount[1]) for mount in mounts if mount[2] == "cgroup" and "cpu" in mount[3].split(",")]
    names = [name for _, controllers, name in groups if "cpu" in controllers.split(",")]
    for root in roots:
        for name in names:
            # Within a container the path may be that of the host, and the root is the container's own group.
            for group in (root / name.lstrip("/"), root):
                if (group / "cpu.cfs_quota_us").exists():
                    return group

    raise QuotaError(
        "CPU time is limited by the cgroup controller cpu of version 1, and this machine has none. Choose another kind "
        "of fault."
    )


def check_quota() -> None:
    """Makes a group and removes it. Raises QuotaError."""
    _make_group(own_group()).rmdir()


@contextlib.contextmanager
def cpu_quota(processes: Callable[[], Iterable[psutil.Process]], percent: float) -> Iterator[None]:
    """Within, the processes together get at most `percent` of one core. Those that they start meanwhile count too.

    Raises QuotaError.
    """
    parent = own_group()
    group = _make_group(parent)
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(PERIOD_US * percent / 100)))
        _move(processes, group)
        yield
    finally:
        (group / "cpu.cfs_quota_us").write_text(str(NO_QUOTA))
        _move(lambda: _members(group), parent)
        with contextlib.suppress(OSError):  # Without a quota it limits nothing; `remove_unused_groups` removes it.
            group.rmdir()


def remove_unused_groups() -> None:
    """Removes the groups that killed processes left, once nothing is in them."""
    with contextlib.suppress(QuotaError):
        for group in own_group().glob(f"{GROUP_PREFIX}*"):
            with contextlib.suppress(OSError):  # It is in use.
                group.rmdir()


def _make_group(parent: Path) -> Path:
    group = parent / f"{GROUP_PREFIX}{secrets.token_hex(6)}"
    try:
        group.mkdir()
    except OSError as error:
        raise QuotaError(
            f"No group can be made in {parent} ({error.strerror}): run the conductor as root, with the cgroup file "
            "system writable."
        ) from error
    return group


def _move(processes: Callable[[], Iterable[psutil.Process]], group: Path) -> None:
    """Processes fork until they are moved, so they are read until all are in the group."""
    for _ in range(MAX_ROUNDS):
        members = {process.pid for process in _members(group)}
        outside = [process for process in processes() if process.pid not in members]
        if not outside:
            return
        for process in outside:
            with contextlib.suppress(OSError):  # It has ended.
                (group / "cgroup.procs").write_text(str(process.pid))


def _members(group: Path) -> list[psutil.Process]:
    members = []
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(psutil.NoSuchProcess):
            members.append(psutil.Process(int(pid)))
    return members
