"""Mounts a volatile disk in a mount namespace of its own and serves it until it is killed, which is the power cut.

    python -m workers.durability.fuse_server DISK MOUNTPOINT [--strict] [--lying] [--writeback 0.5]

DISK is the folder of a `VolatileDisk`. Programs see the file system only in this process's mount namespace
(`/proc/PID/ns/mnt`), so the kernel removes the mount when the last of them ends: nothing is left to unmount. It speaks
the kernel's protocol itself (linux/fuse.h, version 7.31), because a library would have to be installed by hand. Needs
/dev/fuse and root. Standard library only.
"""

import argparse
import contextlib
import ctypes
import errno
import os
import resource
import select
import signal
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from workers.durability.volatile_disk import File, Folder, Node, Symlink, VolatileDisk

CLONE_NEWNS: Final = 0x00020000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18
MAX_WRITE_BYTES: Final = 128 * 1024
BUFFER_BYTES: Final = MAX_WRITE_BYTES + 4096
VALID_S: Final = 3600  # names and attributes change through this mount only
BLOCK_BYTES: Final = 4096
CHECK_INTERVAL_S: Final = 0.5  # for the commits of the journal
FSYNC_FILE: Final = "fsync-ms"  # in the folder of the disk: how long each fsync takes, in ms
FOPEN_KEEP_CACHE: Final = 2
FSYNC_FDATASYNC: Final = 1
FATTR_MODE, FATTR_UID, FATTR_GID, FATTR_SIZE = 1, 2, 4, 8
# linux/fuse.h: opcodes that have no answer.
FORGET, INTERRUPT, BATCH_FORGET = 2, 36, 42
IN_HEADER: Final = struct.Struct("<IIQQIIII")
OUT_HEADER: Final = struct.Struct("<IiQ")
ATTRIBUTES: Final = struct.Struct("<6Q10I")
ENTRY: Final = struct.Struct("<4Q2I")
IN_SETATTR: Final = struct.Struct("<IIQQQ3Q3IIIII")
IN_RANGE: Final = struct.Struct("<QQI")  # of read and write: handle, offset, size
DIRECTORY_ENTRY: Final = struct.Struct("<QQII")
WRITE_HEADER_BYTES: Final = 40

Request = memoryview
Handler = Callable[[int, Request], bytes]


class FuseServer:
    """Answers the kernel's requests about one disk in order, in one thread. Slow syncs wait in their own threads."""

    def __init__(self, disk: VolatileDisk, device: int, *, lying: bool) -> None:
        self.disk = disk
        self.device = device
        self.is_stopping = False
        self.lying = lying
        self.lock = threading.Lock()
        self.sync_handles: dict[int, File] = {}  # opened with O_SYNC or O_DSYNC
        self.last_handle = 0
        self.owner = (0, 0)  # uid and gid of the request's process
        self.handlers: dict[int, Handler] = {
            1: self.lookup, 3: self.get_attributes, 4: self.set_attributes, 5: self.read_symlink, 6: self.make_symlink,
            9: self.make_folder, 10: self.unlink, 11: self.remove_folder, 12: self.rename, 13: self.link, 14: self.open,
            15: self.read, 16: self.write, 17: self.measure, 18: self.release, 20: self.sync, 26: self.initialise,
            27: self.open_folder, 28: self.list_folder, 29: self.release_folder, 30: self.sync_folder, 35: self.create,
            45: self.rename_with_flags,
        }  # fmt: skip

    def serve(self) -> None:
        """Returns when the file system was unmounted, or with all writes kept once `is_stopping` is set."""
        buffer = bytearray(BUFFER_BYTES)
        view = memoryview(buffer)
        while True:
            ready, _, _ = select.select([self.device], [], [], CHECK_INTERVAL_S)
            with self.lock:
                if self.is_stopping:
                    self.disk.keep_all()
                    return
                if not self.lying:
                    self.disk.commit_if_due()

            if not ready:
                continue

            try:
                length = os.readv(self.device, [buffer])
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue  # The request was interrupted before it was read.
                if error.errno == errno.ENODEV:
                    return
                raise

            self.handle(view[:length])

    def handle(self, request: Request) -> None:
        _, opcode, unique, number, uid, gid, _, _ = IN_HEADER.unpack_from(request)
        if opcode in (FORGET, INTERRUPT, BATCH_FORGET):
            return

        handler = self.handlers.get(opcode)
        if handler is None:
            self.answer(unique, error=errno.ENOSYS)
            return
        if handler == self.sync:
            fsync_s = self.fsync_s()
            if fsync_s:
                # The buffer of the request is used again meanwhile.
                parameters = (fsync_s, unique, number, bytes(request[IN_HEADER.size :]))
                threading.Thread(target=self.sync_slowly, args=parameters, daemon=True).start()
                return

        self.owner = uid, gid
        self.carry_out(unique, handler, number, request[IN_HEADER.size :])

    def fsync_s(self) -> float:
        """How long an fsync takes now: `workers.durability.storage.set_fsync_ms` may change it at any time."""
        try:
            with open(self.disk.base / FSYNC_FILE) as file:  # noqa: PTH123
                return float(file.read()) / 1000
        except (FileNotFoundError, ValueError):
            return 0.0

    def sync_slowly(self, fsync_s: float, unique: int, number: int, arguments: bytes) -> None:
        time.sleep(fsync_s)
        self.carry_out(unique, self.sync, number, memoryview(arguments))

    def carry_out(self, unique: int, handler: Handler, number: int, arguments: Request) -> None:
        try:
            with self.lock:
                content = handler(number, arguments)
        except OSError as error:
            self.answer(unique, error=error.errno or errno.EIO)
        else:
            self.answer(unique, content)

    def answer(self, unique: int, content: bytes = b"", *, error: int = 0) -> None:
        header = OUT_HEADER.pack(OUT_HEADER.size + len(content), -error, unique)
        with contextlib.suppress(FileNotFoundError):  # The request was interrupted.
            os.writev(self.device, [header, content])

    # --- names

    def lookup(self, number: int, arguments: Request) -> bytes:
        return self.entry(self.disk.lookup(self.folder(number), _read_first_name(arguments)))

    def make_folder(self, number: int, arguments: Request) -> bytes:
        (mode,) = struct.unpack_from("<I", arguments)
        return self.entry(
            self.disk.make_folder(self.folder(number), _read_first_name(arguments[8:]), mode, *self.owner)
        )

    def make_symlink(self, number: int, arguments: Request) -> bytes:
        name, target = _split_names(arguments)
        return self.entry(self.disk.make_symlink(self.folder(number), name, target, *self.owner))

    def read_symlink(self, number: int, arguments: Request) -> bytes:
        node = self.node(number)
        if not isinstance(node, Symlink):
            raise OSError(errno.EINVAL, "not a link")
        return os.fsencode(node.target)

    def unlink(self, number: int, arguments: Request) -> bytes:
        self.disk.unlink(self.folder(number), _read_first_name(arguments))
        return b""

    def remove_folder(self, number: int, arguments: Request) -> bytes:
        self.disk.remove_folder(self.folder(number), _read_first_name(arguments))
        return b""

    def rename(self, number: int, arguments: Request) -> bytes:
        (to,) = struct.unpack_from("<Q", arguments)
        name, new_name = _split_names(arguments[8:])
        self.disk.rename(self.folder(number), name, self.folder(to), new_name)
        return b""

    def rename_with_flags(self, number: int, arguments: Request) -> bytes:
        to, flags = struct.unpack_from("<QI", arguments)
        name, new_name = _split_names(arguments[16:])
        self.disk.rename(self.folder(number), name, self.folder(to), new_name, flags)
        return b""

    def link(self, number: int, arguments: Request) -> bytes:
        (file,) = struct.unpack_from("<Q", arguments)
        self.disk.link(self.node(file), self.folder(number), _read_first_name(arguments[8:]))
        return self.entry(self.node(file))

    def list_folder(self, number: int, arguments: Request) -> bytes:
        _, offset, size = IN_RANGE.unpack_from(arguments)
        content = b""
        for position, (name, node) in enumerate(self.folder(number).children.items(), 1):
            if position <= offset:
                continue  # The kernel has it already.
            encoded = os.fsencode(name)
            kind = stat.S_IFMT(node.mode) >> 12
            entry = DIRECTORY_ENTRY.pack(node.number, position, len(encoded), kind) + encoded
            entry += bytes(-len(entry) % 8)
            if len(content) + len(entry) > size:
                break
            content += entry

        return content

    # --- attributes

    def get_attributes(self, number: int, arguments: Request) -> bytes:
        return struct.pack("<QII", VALID_S, 0, 0) + _pack_attributes(self.node(number))

    def set_attributes(self, number: int, arguments: Request) -> bytes:
        node = self.node(number)
        valid, _, _, size, *_, mode, _, uid, gid, _ = IN_SETATTR.unpack_from(arguments)
        if valid & (FATTR_MODE | FATTR_UID | FATTR_GID):
            self.disk.set_attributes(
                node,
                mode if valid & FATTR_MODE else None,
                uid if valid & FATTR_UID else None,
                gid if valid & FATTR_GID else None,
            )

        if valid & FATTR_SIZE:
            self.disk.truncate(self.file(number), size)
        return self.get_attributes(number, arguments)

    def measure(self, number: int, arguments: Request) -> bytes:
        space = os.statvfs(self.disk.base)
        blocks = space.f_blocks, space.f_bfree, space.f_bavail, space.f_files, space.f_ffree
        return struct.pack("<5Q10I", *blocks, space.f_bsize, space.f_namemax, space.f_frsize, *[0] * 7)

    # --- content

    def create(self, number: int, arguments: Request) -> bytes:
        flags, mode = struct.unpack_from("<II", arguments)
        file = self.disk.create(self.folder(number), _read_first_name(arguments[16:]), mode, *self.owner)
        return self.entry(file) + self.open_handle(file, flags)

    def open(self, number: int, arguments: Request) -> bytes:
        (flags,) = struct.unpack_from("<I", arguments)
        return self.open_handle(self.file(number), flags)

    def read(self, number: int, arguments: Request) -> bytes:
        _, offset, size = IN_RANGE.unpack_from(arguments)
        return self.disk.read(self.file(number), offset, size)

    def write(self, number: int, arguments: Request) -> bytes:
        handle, offset, size = IN_RANGE.unpack_from(arguments)
        self.disk.write(self.file(number), offset, arguments[WRITE_HEADER_BYTES : WRITE_HEADER_BYTES + size])
        if handle in self.sync_handles and not self.lying:
            self.disk.sync(self.sync_handles[handle], data_only=True)
        return struct.pack("<II", size, 0)

    def release(self, number: int, arguments: Request) -> bytes:
        (handle,) = struct.unpack_from("<Q", arguments)
        self.sync_handles.pop(handle, None)
        self.disk.release(self.file(number))
        return b""

    def sync(self, number: int, arguments: Request) -> bytes:
        _, flags = struct.unpack_from("<QI", arguments)
        if not self.lying:
            self.disk.sync(self.file(number), data_only=bool(flags & FSYNC_FDATASYNC))
        return b""

    def sync_folder(self, number: int, arguments: Request) -> bytes:
        if not self.lying:
            self.disk.sync_folder(self.folder(number))
        return b""

    def open_folder(self, number: int, arguments: Request) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def release_folder(self, number: int, arguments: Request) -> bytes:
        return b""

    # --- parts

    def initialise(self, number: int, arguments: Request) -> bytes:
        """The version and the limits; no optional feature is used."""
        *_, readahead, _ = struct.unpack_from("<IIII", arguments)
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, readahead, 0, 16, 12, MAX_WRITE_BYTES, 1, 0, 0, 0, *[0] * 7)

    def open_handle(self, file: File, flags: int) -> bytes:
        self.disk.open(file)
        self.last_handle += 1
        if flags & os.O_DSYNC:  # a bit of O_SYNC, too
            self.sync_handles[self.last_handle] = file
        return struct.pack("<QII", self.last_handle, FOPEN_KEEP_CACHE, 0)

    def entry(self, node: Node) -> bytes:
        return ENTRY.pack(node.number, 0, VALID_S, VALID_S, 0, 0) + _pack_attributes(node)

    def node(self, number: int) -> Node:
        try:
            return self.disk.nodes[number]
        except KeyError:
            raise OSError(errno.ESTALE, "removed") from None

    def folder(self, number: int) -> Folder:
        node = self.node(number)
        if not isinstance(node, Folder):
            raise OSError(errno.ENOTDIR, "not a folder")
        return node

    def file(self, number: int) -> File:
        node = self.node(number)
        if not isinstance(node, File):
            raise OSError(errno.EISDIR, "not a file")
        return node


def _split_names(arguments: Request) -> list[str]:
    return [os.fsdecode(name) for name in bytes(arguments).split(b"\0")[:-1]]


def _read_first_name(arguments: Request) -> str:
    name, *_ = _split_names(arguments)
    return name


def _pack_attributes(node: Node) -> bytes:
    size = 0
    if isinstance(node, File):
        size = node.size
    elif isinstance(node, Symlink):
        size = len(node.target)
    seconds, rest = divmod(node.mtime_ns, 1_000_000_000)
    return ATTRIBUTES.pack(
        node.number, size, -(-size // 512), *[seconds] * 3, *[rest] * 3, node.mode, node.links, node.uid, node.gid, 0,
        BLOCK_BYTES, 0,
    )  # fmt: skip


def mount(mountpoint: Path) -> int:
    """Mounts a file system in a new mount namespace of this process; answers the descriptor of its requests."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(result: int) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(mountpoint))

    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = (
        f"fd={device},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()},allow_other,default_permissions"
    )
    call(libc.unshare(CLONE_NEWNS))
    call(libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    call(libc.mount(b"benchsite", os.fsencode(mountpoint), b"fuse.benchsite", flags, options.encode()))
    return device


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("disk", type=Path)
    parser.add_argument("mountpoint", type=Path)
    parser.add_argument("--strict", action="store_true", help="names are kept by fsync of their folder only")
    parser.add_argument("--lying", action="store_true", help="fsync succeeds and keeps nothing")
    parser.add_argument("--writeback", type=float, default=0.0, help="share of unsynced writes that are kept, 0 to 1")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.umask(0)
    disk = VolatileDisk(options.disk, strict=options.strict, writeback=options.writeback)
    device = mount(options.mountpoint)
    server = FuseServer(disk, device, lying=options.lying)

    def stop(*_: object) -> None:
        server.is_stopping = True

    signal.signal(signal.SIGTERM, stop)
    server.serve()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"The volatile disk cannot be mounted: {error}")
