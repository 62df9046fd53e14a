"""Starts the process that serves a volatile disk. No Django."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import grouped
from runs.catalog.measured_losses import Disk
from workers.durability.fuse_server import FSYNC_FILE
from workers.processes.guarded_process import Guarded, start_guarded
from workers.processes.guardian import CLONE_NEWNS

ROOT: Final = Path(__file__).resolve().parents[2]
MOUNT_TIMEOUT_S: Final = 20.0
STOP_TIMEOUT_S: Final = 60.0  # to write down what was not synced
LOG: Final = "storage.log"
# Exits with 1 where joining its own mount namespace changes the root.
JOIN_OWN_MOUNTS: Final = f"""
import ctypes, os, sys
root = os.stat("/")
failed = ctypes.CDLL(None).setns(os.open("/proc/self/ns/mnt", os.O_RDONLY), {CLONE_NEWNS})
sys.exit(failed != 0 or not os.path.samestat(root, os.stat("/")))
"""


class StorageError(Exception):
    """A volatile disk cannot be used here; the message says why and what to do."""


def require_volatile_storage() -> None:
    """Raises StorageError where this machine or this account cannot mount a volatile disk."""
    if not sys.platform.startswith("linux"):
        raise StorageError("Durability is measured on Linux only.")
    if os.geteuid() != 0:
        raise StorageError("Durability is measured as root: a file system is mounted below the servers' data folders.")

    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise StorageError(
            f"/dev/fuse cannot be opened ({error.strerror}): load the kernel module fuse (modprobe fuse), and start a "
            "container with --device /dev/fuse --cap-add SYS_ADMIN."
        ) from error

    if _is_in_chroot():
        raise StorageError("Durability is measured outside of a chroot, which ends where a process joins other mounts.")


def _is_in_chroot() -> bool:
    """Whether a process that joins the mount namespace it is in finds another root there."""
    argv = [sys.executable, "-I", "-S", "-c", JOIN_OWN_MOUNTS]
    return subprocess.run(argv, env=child_environment(), check=False).returncode != 0


def start_storage(
    disk: Path,
    mountpoint: Path,
    *,
    registry: Path,
    options: Disk | None = None,
) -> Guarded:
    """Starts the process of a volatile disk and returns when its file system is mounted on `mountpoint`.

    `disk` holds the folder `tree` with what survived so far. Programs see the mount in the process's mount namespace
    (`start_guarded` with `mounts_of`). Kill the process to cut the power; stop it to keep all writes. Raises
    StorageError and StartError.
    """
    require_volatile_storage()
    options = options or Disk()
    argv: list[str | Path] = [sys.executable, "-m", "workers.durability.fuse_server", disk, mountpoint]
    argv += ["--writeback", str(options.writeback)]
    argv += [*(["--strict"] if options.strict else []), *(["--lying"] if options.lying else [])]
    log = disk / LOG
    set_fsync_ms(disk, options.fsync_ms)
    storage = start_guarded(
        argv, registry=registry, label="volatile disk", cwd=ROOT, stdout=log, stderr=log, grace_s=STOP_TIMEOUT_S
    )
    outside = mountpoint.stat().st_dev
    end = time.monotonic() + MOUNT_TIMEOUT_S
    while storage.alive() and time.monotonic() < end:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{storage.pid}/root{mountpoint.resolve()}").stat().st_dev != outside:
                return storage
        storage.wait_for_exit(0.01)

    storage.kill()
    reason = log.read_text().strip() or f"it was not mounted within {grouped(MOUNT_TIMEOUT_S)} s"
    raise StorageError(f"The volatile disk on {mountpoint} could not be started: {reason}")


def set_fsync_ms(disk: Path, fsync_ms: float) -> None:
    """How long each fsync of a volatile disk takes from now on."""
    draft = disk / f"{FSYNC_FILE}.draft"
    draft.write_text(str(fsync_ms))
    draft.replace(disk / FSYNC_FILE)
