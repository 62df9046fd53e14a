"""A disk that keeps at a power cut only what was synced, as folders and files on another file system. No Django.

Below the folder of the disk, `tree` is what survives. `inodes` holds the synced content of every file under a number;
names in `tree` are hard links to it. `unnamed` holds folders that have no surviving name. `live` holds the content as
programs see it, from a file's first write on. The power is cut by killing the process: `live`, and names and sizes that
are only in its memory, are lost.

Writes, also those of O_DIRECT and of shared memory maps, are kept by fsync, fdatasync, O_SYNC and O_DSYNC.
sync_file_range keeps nothing: it writes neither the metadata nor the cache of the device. A new name, a rename or a
removal is kept

- on a *journalled* disk with the next commit of the journal, as on ext4 and xfs: after a sync of any file whose
  metadata changed, after fsync of any folder, and every 5 s;
- on a *strict* disk only with fsync of its folder, which is all that POSIX promises.

The data of a file that was renamed but never synced is lost on both. `writeback` is the share of unsynced writes that
reach the disk by themselves, chosen at random: 0 by default (Linux writes back after about 30 s). A sector is never
half written.
"""

# Every request of a server under test comes here: plain paths cost less than pathlib's.
# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH108, PTH115, PTH211

import contextlib
import errno
import os
import random
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

CHUNK_BYTES: Final = 16 * 1024
COMMIT_INTERVAL_S: Final = 5.0  # ext4's default
RENAME_NOREPLACE: Final = 1


@dataclass(slots=True, eq=False)
class Node:
    """What every file, folder and symbolic link has. `number` identifies it for the life of the disk's process."""

    number: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int = field(default_factory=time.time_ns)
    links: int = 0  # names that programs see


NodeT = TypeVar("NodeT", bound=Node)


@dataclass(slots=True, eq=False)
class Folder(Node):
    """`children` are its names as programs see them, `durable_children` those that survive a power cut."""

    parent: "Folder | None" = None  # None: the root, or removed
    children: dict[str, Node] = field(default_factory=dict)
    durable_children: dict[str, Node] = field(default_factory=dict)
    durable_location: "tuple[Folder, str] | None" = None


@dataclass(slots=True, eq=False)
class Symlink(Node):
    target: str = ""


@dataclass(slots=True, eq=False)
class File(Node):
    """Its content is that of its file in `inodes`, except for the chunks that are `dirty`, which are only in `live`."""

    size: int = 0
    durable_size: int = 0
    shrunk_to: int | None = None  # the smallest size since the last sync
    durable_links: int = 0
    dirty: set[int] = field(default_factory=set)
    is_live: bool = False
    opens: int = 0
    descriptors: dict[str, int] = field(default_factory=dict)  # by the folder of the disk


class VolatileDisk:
    """One life of a disk, from power on to power cut. Errors are OSError with the number for the calling program."""

    def __init__(self, base: Path, *, strict: bool = False, writeback: float = 0.0) -> None:
        self.base = base
        self.strict = strict
        self.writeback = writeback
        self.nodes: dict[int, Node] = {}
        self._last_number = 0
        self._changed: dict[Folder, None] = {}
        self._shrunk: dict[File, None] = {}
        self._next_commit = time.monotonic() + COMMIT_INTERVAL_S
        for name in ("inodes", "unnamed", "live"):
            shutil.rmtree(base / name, ignore_errors=True)
            (base / name).mkdir()

        info = (base / "tree").stat()
        self.root = self._add(Folder(self._number(), info.st_mode, info.st_uid, info.st_gid, links=2))
        self._read_tree(self.root, self._path("tree"), {})

    # --- names

    def lookup(self, folder: Folder, name: str) -> Node:
        try:
            return folder.children[name]
        except KeyError:
            raise OSError(errno.ENOENT, name) from None

    def create(self, folder: Folder, name: str, mode: int, uid: int, gid: int) -> File:
        file = File(self._number(), stat.S_IFREG | stat.S_IMODE(mode), uid, gid)
        self._enter(folder, name, file)
        descriptor = os.open(self._inode(file), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC)
        os.close(descriptor)
        self._copy_attributes(file, self._inode(file))
        return file

    def make_folder(self, folder: Folder, name: str, mode: int, uid: int, gid: int) -> Folder:
        new = Folder(self._number(), stat.S_IFDIR | stat.S_IMODE(mode), uid, gid, parent=folder, links=1)
        self._enter(folder, name, new)
        os.mkdir(self._durable_path(new))
        self._copy_attributes(new, self._durable_path(new))
        return new

    def make_symlink(self, folder: Folder, name: str, target: str, uid: int, gid: int) -> Symlink:
        link = Symlink(self._number(), stat.S_IFLNK | 0o777, uid, gid, target=target)
        self._enter(folder, name, link)
        return link

    def link(self, file: Node, folder: Folder, name: str) -> None:
        if not isinstance(file, File):
            raise OSError(errno.EPERM, name)
        self._enter(folder, name, file)

    def unlink(self, folder: Folder, name: str) -> None:
        node = self.lookup(folder, name)
        if isinstance(node, Folder):
            raise OSError(errno.EISDIR, name)
        self._leave(folder, name)

    def remove_folder(self, folder: Folder, name: str) -> None:
        self._require_empty_folder(self.lookup(folder, name))
        self._leave(folder, name)

    def rename(self, folder: Folder, name: str, to: Folder, new_name: str, flags: int = 0) -> None:
        node = self.lookup(folder, name)
        target = to.children.get(new_name)
        if flags & ~RENAME_NOREPLACE:
            raise OSError(errno.EINVAL, new_name)
        if target is node:
            return

        if target is not None:
            if flags & RENAME_NOREPLACE:
                raise OSError(errno.EEXIST, new_name)
            if isinstance(node, Folder):
                self._require_empty_folder(target)
            elif isinstance(target, Folder):
                raise OSError(errno.EISDIR, new_name)
            self._leave(to, new_name)

        del folder.children[name]
        to.children[new_name] = node
        if isinstance(node, Folder):
            node.parent = to
        self._note_change(folder)
        self._note_change(to)

    # --- content

    def open(self, file: File) -> None:
        file.opens += 1

    def release(self, file: File) -> None:
        file.opens -= 1
        if not file.opens:
            for descriptor in file.descriptors.values():
                os.close(descriptor)
            file.descriptors.clear()
            self._discard_unused(file)

    def read(self, file: File, offset: int, size: int) -> bytes:
        with self._descriptor(file, "live" if file.is_live else "inodes") as descriptor:
            return os.pread(descriptor, max(0, min(size, file.size - offset)), offset)

    def write(self, file: File, offset: int, data: bytes | memoryview) -> None:
        end = offset + len(data)
        with self._live_descriptor(file) as descriptor:
            while data:
                written = os.pwrite(descriptor, data, end - len(data))
                data = data[written:]

        # Bytes between the old end and the new data read as zeros on both sides.
        chunks = range(offset // CHUNK_BYTES, -(-end // CHUNK_BYTES))
        file.dirty.update(chunks)
        file.size = max(file.size, end)
        file.mtime_ns = time.time_ns()
        if self.writeback:
            self._shrink(file)
            self._write_back(file, {chunk for chunk in chunks if random.random() < self.writeback})

    def truncate(self, file: File, size: int) -> None:
        with self._live_descriptor(file) as descriptor:
            os.ftruncate(descriptor, size)
        if size < file.size:
            file.shrunk_to = min(size, file.size if file.shrunk_to is None else file.shrunk_to)
            file.dirty = {chunk for chunk in file.dirty if chunk * CHUNK_BYTES < size}
            self._shrunk[file] = None
        file.size = size
        file.mtime_ns = time.time_ns()

    def set_attributes(
        self, node: Node, mode: int | None = None, uid: int | None = None, gid: int | None = None
    ) -> None:
        """At once and for good: permissions decide nothing about the loss of writes."""
        if mode is not None:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        node.uid = node.uid if uid is None else uid
        node.gid = node.gid if gid is None else gid
        if isinstance(node, File):
            self._copy_attributes(node, self._inode(node))
        elif isinstance(node, Folder):
            self._copy_attributes(node, self._durable_path(node))

    # --- syncs

    def sync(self, file: File, *, data_only: bool = False) -> None:
        """fsync, or fdatasync with `data_only`: returns when the content survives a power cut."""
        metadata_changed = not file.durable_links or file.size != file.durable_size or file.shrunk_to is not None
        if not self.strict and (metadata_changed or not data_only):
            self.commit()
        self._shrink(file)
        self._write_back(file, set(file.dirty))
        if file.durable_size != file.size:
            os.truncate(self._inode(file), file.size)
            file.durable_size = file.size

    def sync_folder(self, folder: Folder) -> None:
        """fsync of a folder: returns when its names survive a power cut."""
        if self.strict:
            self._keep_names({folder: None})
        else:
            self.commit()

    def commit(self) -> None:
        """The journal's commit: all names and truncations so far survive a power cut."""
        self._next_commit = time.monotonic() + COMMIT_INTERVAL_S
        changed, self._changed = self._changed, {}
        self._keep_names(changed)
        for file in list(self._shrunk):
            self._shrink(file)

    def keep_all(self) -> None:
        """A clean unmount: everything so far survives."""
        self.commit()
        for node in list(self.nodes.values()):
            if isinstance(node, File):
                self.sync(node)

    def commit_if_due(self) -> None:
        """To be called often: the commit of a journalled disk every 5 s."""
        if not self.strict and time.monotonic() >= self._next_commit:
            self.commit()

    # --- what survives

    def _keep_names(self, folders: dict[Folder, None]) -> None:
        """Makes the surviving names of these folders those that programs see.

        Additions come first: a kill between two steps leaves a renamed file under both names and never under none.
        """
        for folder in folders:
            if self._keep_folder(folder):
                for name, node in folder.children.items():
                    if folder.durable_children.get(name) is not node:
                        self._keep_name(folder, name, node)
        for folder in folders:
            for name in folder.durable_children.keys() - folder.children.keys():
                self._remove_durable(folder, name)

    def _keep_folder(self, folder: Folder) -> bool:
        """Whether the folder itself survives, with those above it; False: it was removed."""
        if folder is self.root or folder.durable_location is not None:
            return True
        if folder.parent is None or not self._keep_folder(folder.parent):
            return False
        name = next(name for name, node in folder.parent.children.items() if node is folder)
        self._keep_name(folder.parent, name, folder)
        return True

    def _keep_name(self, folder: Folder, name: str, node: Node) -> None:
        before = folder.durable_children.get(name)
        if isinstance(before, Folder) or (before is not None and isinstance(node, Folder)):
            self._remove_durable(folder, name)
            before = None

        path = f"{self._durable_path(folder)}/{name}"
        draft = self._path("draft")
        if isinstance(node, Folder):
            os.rename(self._durable_path(node), path)
            if node.durable_location is not None:
                old_folder, old_name = node.durable_location
                del old_folder.durable_children[old_name]
            node.durable_location = folder, name
        else:
            if isinstance(node, File):
                os.link(self._inode(node), draft)
                node.durable_links += 1
            elif isinstance(node, Symlink):
                os.symlink(node.target, draft)
                os.chown(draft, node.uid, node.gid, follow_symlinks=False)
            os.rename(draft, path)

        folder.durable_children[name] = node
        if before is not None:
            self._note_removed(before)

    def _remove_durable(self, folder: Folder, name: str) -> None:
        node = folder.durable_children.pop(name)
        path = f"{self._durable_path(folder)}/{name}"
        if isinstance(node, Folder):
            node.durable_location = None
            os.rename(path, self._durable_path(node))
            self._discard_unnamed(node)
        else:
            os.unlink(path)
            self._note_removed(node)

    def _discard_unnamed(self, folder: Folder) -> None:
        """Deletes a removed folder without a surviving name, and the surviving names in it."""
        if folder.parent is None and folder.durable_location is None:
            for name in list(folder.durable_children):
                self._remove_durable(folder, name)
            os.rmdir(self._durable_path(folder))

    def _note_removed(self, node: Node) -> None:
        if isinstance(node, File):
            node.durable_links -= 1
            self._discard_unused(node)

    def _write_back(self, file: File, chunks: set[int]) -> None:
        if chunks:
            with self._descriptor(file, "live") as live, self._descriptor(file, "inodes") as durable:
                for start, end in _runs(chunks, file.size):
                    _copy_range(live, durable, start, end)
                file.durable_size = os.fstat(durable).st_size
            file.dirty -= chunks

    def _shrink(self, file: File) -> None:
        self._shrunk.pop(file, None)
        if file.shrunk_to is not None and file.shrunk_to < file.durable_size:
            os.truncate(self._inode(file), file.shrunk_to)
            file.durable_size = file.shrunk_to
        file.shrunk_to = None

    # --- parts

    def _read_tree(self, folder: Folder, path: str, files: dict[int, File]) -> None:
        """Reads what survived the earlier life; `files` are those that were read, by inode, because of hard links."""
        with os.scandir(path) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                owner = info.st_mode, info.st_uid, info.st_gid, info.st_mtime_ns
                node: Node
                if entry.is_dir(follow_symlinks=False):
                    node = Folder(self._number(), *owner, links=1, parent=folder, durable_location=(folder, entry.name))
                    self._read_tree(node, entry.path, files)
                elif entry.is_symlink():
                    node = Symlink(self._number(), *owner, target=os.readlink(entry.path))
                elif info.st_ino in files:
                    node = files[info.st_ino]
                else:
                    size = info.st_size
                    node = files[info.st_ino] = File(self._number(), *owner, size=size, durable_size=size)
                    os.link(entry.path, self._inode(node))

                if isinstance(node, File):
                    node.durable_links += 1
                folder.children[entry.name] = folder.durable_children[entry.name] = self._add(node)
                node.links += 1

    def _enter(self, folder: Folder, name: str, node: Node) -> None:
        if name in folder.children:
            raise OSError(errno.EEXIST, name)
        folder.children[name] = self._add(node)
        node.links += 1
        self._note_change(folder)

    def _leave(self, folder: Folder, name: str) -> None:
        node = folder.children.pop(name)
        node.links -= 1
        self._note_change(folder)
        if isinstance(node, Folder):
            node.parent = None
            self.nodes.pop(node.number, None)
            self._discard_unnamed(node)
        elif isinstance(node, File):
            self._discard_unused(node)

    def _require_empty_folder(self, node: Node) -> None:
        if not isinstance(node, Folder):
            raise OSError(errno.ENOTDIR, "not a folder")
        if node.children:
            raise OSError(errno.ENOTEMPTY, "not empty")

    def _note_change(self, folder: Folder) -> None:
        folder.mtime_ns = time.time_ns()
        self._changed[folder] = None

    def _discard_unused(self, file: File) -> None:
        """Deletes the content that neither a name nor a program nor a surviving name refers to."""
        if file.links or file.opens:
            return
        self._shrunk.pop(file, None)
        self.nodes.pop(file.number, None)
        if file.is_live:
            os.unlink(self._path(f"live/{file.number}"))
            file.is_live = False
        if not file.durable_links:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._inode(file))

    @contextlib.contextmanager
    def _descriptor(self, file: File, folder: str) -> Iterator[int]:
        """A descriptor of the file's content in `live` or `inodes`, kept as long as a program has the file open."""
        descriptor = file.descriptors.get(folder)
        if descriptor is None:
            descriptor = os.open(self._path(f"{folder}/{file.number}"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if file.opens:
                file.descriptors[folder] = descriptor
        try:
            yield descriptor
        finally:
            if not file.opens:
                os.close(descriptor)

    @contextlib.contextmanager
    def _live_descriptor(self, file: File) -> Iterator[int]:
        """As `_descriptor`, with the content copied at the first use."""
        with self._descriptor(file, "live") as live:
            if not file.is_live:
                with self._descriptor(file, "inodes") as durable:
                    _copy_range(durable, live, 0, file.size)
                file.is_live = True
            yield live

    def _add(self, node: NodeT) -> NodeT:
        self.nodes[node.number] = node
        return node

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _path(self, name: str) -> str:
        return f"{self.base}/{name}"

    def _inode(self, file: File) -> str:
        return self._path(f"inodes/{file.number}")

    def _durable_path(self, folder: Folder) -> str:
        if folder is self.root:
            return self._path("tree")
        if folder.durable_location is None:
            return self._path(f"unnamed/{folder.number}")
        parent, name = folder.durable_location
        return f"{self._durable_path(parent)}/{name}"

    def _copy_attributes(self, node: Node, path: str) -> None:
        os.chown(path, node.uid, node.gid)
        os.chmod(path, stat.S_IMODE(node.mode))


def _runs(chunks: set[int], size: int) -> Iterator[tuple[int, int]]:
    """Neighbouring chunks as ranges of bytes, up to the size of the file."""
    ordered = sorted(chunks)
    start = 0
    for position, chunk in enumerate(ordered):
        if position + 1 == len(ordered) or ordered[position + 1] != chunk + 1:
            yield ordered[start] * CHUNK_BYTES, min((chunk + 1) * CHUNK_BYTES, size)
            start = position + 1


def _copy_range(source: int, target: int, start: int, end: int) -> None:
    """Copies the bytes [start, end) between descriptors; ends early where the source ends."""
    while start < end:
        copied = os.copy_file_range(source, target, end - start, start, start)
        if not copied:
            return
        start += copied
