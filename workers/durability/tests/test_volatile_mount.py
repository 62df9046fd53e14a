"""Programs on a mounted volatile disk: the answers of POSIX, and what survives a power cut."""

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs.catalog.measured_losses import Disk
from workers.durability.storage import StorageError, require_volatile_storage, start_storage
from workers.processes.guarded_process import Guarded, start_guarded
from workers.tests.trees import all_gone, until

try:
    require_volatile_storage()
except StorageError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.slow

# Each writes below the working folder and then says so by the file `done` beside it.
PROGRAMS = {
    "nothing": "os.write(fd, b'lost')",
    "fsync": "os.write(fd, b'kept'); os.fsync(fd); os.write(fd, b'lost')",
    "fdatasync": "os.write(fd, b'kept'); os.fdatasync(fd); os.write(fd, b'lost')",
    "O_SYNC": "os.write(os.open('file', os.O_WRONLY | os.O_SYNC), b'kept'); os.pwrite(fd, b'lost', 4)",
    "O_DSYNC": "os.write(os.open('file', os.O_WRONLY | os.O_DSYNC), b'kept'); os.pwrite(fd, b'lost', 4)",
    "O_DIRECT": "f = os.open('file', os.O_WRONLY | os.O_DIRECT); b = mmap.mmap(-1, 4096); os.writev(f, [b])",
    "msync": "os.ftruncate(fd, 4); os.fsync(fd); m = mmap.mmap(fd, 4); m[:] = b'kept'; m.flush(); m[:2] = b'XX'",
    "mmap": "os.write(fd, b'kept'); os.fsync(fd); m = mmap.mmap(fd, 4); m[:] = b'lost'",
    "sync_file_range": (
        "os.write(fd, b'kept'); os.fsync(fd); os.pwrite(fd, b'lost', 0); "
        "assert ctypes.CDLL(None, use_errno=True).sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(4), 7) == 0"
    ),
    "rename": (
        "os.write(fd, b'kept'); os.fsync(fd); new = os.open('new', os.O_CREAT | os.O_WRONLY); os.write(new, b'lost'); "
        "os.fsync(new); os.rename('new', 'file')"
    ),
    "folder": (
        "new = os.open('new', os.O_CREAT | os.O_WRONLY); os.write(new, b'kept'); os.fsync(new); "
        "os.rename('new', 'file'); os.fsync(os.open('.', os.O_RDONLY))"
    ),
}
LOST = {"nothing", "O_DIRECT"}
SCRIPT = """
import ctypes, mmap, os, sys, time
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.fsync(os.open(".", os.O_RDONLY))
{program}
open(sys.argv[1], "w").close()
time.sleep(300)
"""


class MountedDisk:
    """A volatile disk below a folder of the test."""

    def __init__(self, base: Path) -> None:
        self.base, self.tree, self.mountpoint = base, base / "disk" / "tree", base / "mount"
        self.tree.mkdir(parents=True)
        self.mountpoint.mkdir()
        self.running: list[Guarded] = []

    def start(self, **options) -> Guarded:
        storage = start_storage(
            self.base / "disk", self.mountpoint, registry=self.base / "registry", options=Disk(**options)
        )
        self.running.append(storage)
        return storage

    def run(self, storage: Guarded, script: str) -> Guarded:
        """Starts a program on the disk and returns when it has made the file `done`."""
        log, done = self.base / "log", self.base / "done"
        program = start_guarded(
            [sys.executable, "-c", script, str(done)],
            registry=self.base / "registry", label="program", cwd=self.mountpoint, mounts_of=storage.pid, stderr=log,
        )  # fmt: skip
        self.running.append(program)
        until(lambda: done.exists() or not program.alive(), "the program did not end its writes")
        assert done.exists(), log.read_text()
        return program


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[MountedDisk]:
    mounted = MountedDisk(tmp_path)
    yield mounted
    for guarded in reversed(mounted.running):
        guarded.kill()


@pytest.mark.parametrize("name", PROGRAMS)
def test_cut_keeps_only_what_was_synced(mounted, name):
    storage = mounted.start()
    mounted.run(storage, SCRIPT.format(program=PROGRAMS[name]))
    storage.kill()
    assert (mounted.tree / "file").read_bytes() == (b"" if name in LOST else b"kept")


@pytest.mark.parametrize("name", ["fsync", "fdatasync", "O_SYNC", "folder"])
def test_lying_disk_keeps_nothing(mounted, name):
    storage = mounted.start(lying=True)
    mounted.run(storage, SCRIPT.format(program=PROGRAMS[name]))
    storage.kill()
    assert list(mounted.tree.iterdir()) == []


def test_slow_fsync_delays_its_caller_alone(mounted):
    storage = mounted.start(fsync_ms=400)
    program = """
import os, sys, threading, time
fd, other = (os.open(name, os.O_CREAT | os.O_RDWR) for name in ("file", "other"))
os.write(fd, b"kept")
began = time.monotonic()
sync = threading.Thread(target=os.fsync, args=(fd,))
sync.start()
writes = 0
while sync.is_alive():
    writes += os.pwrite(other, b"x", 0)
assert time.monotonic() - began >= 0.4 and writes > 10, writes
open(sys.argv[1], "w").close()
time.sleep(300)
"""
    mounted.run(storage, program)
    storage.kill()
    assert (mounted.tree / "file").read_bytes() == b"kept"


def test_mount_ends_with_its_processes(mounted):
    """The kernel removes the mount with its namespace; the mountpoint was never covered for others."""
    storage = mounted.start()
    program = mounted.run(storage, SCRIPT.format(program="pass"))
    assert list(mounted.mountpoint.iterdir()) == []
    os.kill(storage.guardian_pid, 9)
    assert all_gone([storage.pid])
    program.kill()
    assert str(mounted.mountpoint) not in Path("/proc/self/mountinfo").read_text()
    shutil.rmtree(mounted.base / "disk")


CHECKER = """
import json, os, random, sys

def act(base, random):
    names = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d", "d/e"]
    name, other = (os.path.join(base, random.choice(names)) for _ in range(2))
    kind, offset, size = random.randrange(13), random.randrange(40000), random.randrange(1, 20000)
    try:
        match kind:
            case 0 | 1 | 2 | 3:
                with open(name, "r+b" if kind else "w+b", buffering=0) as file:
                    file.seek(offset)
                    return file.write(bytes([kind + 65]) * size)
            case 4: return os.truncate(name, offset)
            case 5: return os.mkdir(name)
            case 6: return os.rmdir(name)
            case 7: return os.unlink(name)
            case 8: return os.rename(name, other)
            case 9: return os.link(name, other)
            case 10:
                fd = os.open(name, os.O_RDONLY)
                os.fsync(fd)
                return os.close(fd)
            case 11: return sorted(os.listdir(name))
            case 12:
                info = os.stat(name)
                return info.st_mode, *([] if os.path.isdir(name) else [info.st_nlink, info.st_size])
    except OSError as error:
        return type(error).__name__, error.errno

def snapshot(base):
    files = {}
    for folder, folders, names in os.walk(base):
        for name in names:
            files[os.path.relpath(os.path.join(folder, name), base)] = open(os.path.join(folder, name), "rb").read()
        for name in folders:
            files[os.path.relpath(os.path.join(folder, name), base)] = None
    return files

plain, seed = PLAIN, SEED
mine, theirs = random.Random(seed), random.Random(seed)
for step in range(1500):
    here, there = act(".", mine), act(plain, theirs)
    assert here == there, (step, here, there)
assert snapshot(".") == snapshot(plain)
for folder, folders, names in os.walk(".", topdown=False):
    for name in [*names, "."]:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
open(sys.argv[1], "w").close()
"""


@pytest.mark.parametrize("strict", [False, True])
def test_answers_as_another_file_system(mounted, strict):
    """1,500 random calls on the disk and on a plain folder: equal results, and all of it survives after syncs."""
    plain, seed = mounted.base / "plain", random.randrange(10**6)
    plain.mkdir()
    storage = mounted.start(strict=strict)
    mounted.run(storage, CHECKER.replace("PLAIN", repr(str(plain))).replace("SEED", str(seed)))
    storage.kill()
    contents = [
        {str(path.relative_to(base)): path.read_bytes() if path.is_file() else None for path in base.rglob("*")}
        for base in (plain, mounted.tree)
    ]
    assert contents[0] == contents[1], seed
