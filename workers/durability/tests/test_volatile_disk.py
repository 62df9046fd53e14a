"""What a volatile disk keeps of files and names at a power cut, without a mount."""

import os
from pathlib import Path

import pytest

from workers.durability.volatile_disk import CHUNK_BYTES, File, VolatileDisk

OWNER = os.geteuid(), os.getegid()


class Machine:
    """A disk that can be cut and switched on again."""

    def __init__(self, base: Path, **options) -> None:
        (base / "tree").mkdir(parents=True)
        self.base, self.options = base, options
        self.disk = VolatileDisk(base, **options)

    def create(self, name: str, content: bytes = b"", *, synced: bool = False) -> File:
        file = self.disk.create(self.disk.root, name, 0o600, *OWNER)
        self.disk.write(file, 0, content)
        if synced:
            self.disk.sync(file)
            self.disk.sync_folder(self.disk.root)
        return file

    def cut(self) -> dict[str, bytes]:
        """Names and contents after the cut; the machine is on again."""
        self.disk = VolatileDisk(self.base, **self.options)
        tree = self.base / "tree"
        return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def strict(tmp_path: Path) -> Machine:
    return Machine(tmp_path, strict=True)


def test_synced_content_survives(machine):
    file = machine.create("log", b"synced")
    machine.disk.sync(file, data_only=True)
    machine.disk.write(file, 6, b" and lost")
    assert machine.disk.read(file, 0, 100) == b"synced and lost"
    assert machine.cut() == {"log": b"synced"}


def test_new_file_without_sync_is_gone(machine):
    machine.create("log", b"lost")
    assert machine.cut() == {}


def test_overwrites_before_the_sync_survive_alone(machine):
    file = machine.create("log", b"a" * 3 * CHUNK_BYTES, synced=True)
    machine.disk.write(file, CHUNK_BYTES, b"b")
    machine.disk.sync(file)
    machine.disk.write(file, 0, b"c")
    content = machine.cut()["log"]
    assert content[0:1] + content[CHUNK_BYTES : CHUNK_BYTES + 2] == b"aba"


def test_gap_before_new_data_reads_as_zeros(machine):
    file = machine.create("log", b"abc", synced=True)
    machine.disk.write(file, 5 * CHUNK_BYTES, b"end")
    machine.disk.sync(file)
    assert machine.cut()["log"] == b"abc" + bytes(5 * CHUNK_BYTES - 3) + b"end"


def test_truncated_and_rewritten_file_has_no_old_bytes(machine):
    file = machine.create("log", b"old" * CHUNK_BYTES, synced=True)
    machine.disk.truncate(file, 0)
    machine.disk.write(file, 4, b"new")
    machine.disk.sync(file)
    assert machine.cut() == {"log": bytes(4) + b"new"}


def test_journal_keeps_truncation_without_the_new_data(machine):
    """The classic empty file after a power cut: O_TRUNC and write without fsync, and another file's fsync."""
    file = machine.create("settings", b"old", synced=True)
    machine.disk.truncate(file, 0)
    machine.disk.write(file, 0, b"new")
    machine.create("other", synced=True)
    assert machine.cut() == {"settings": b"", "other": b""}


def test_journal_keeps_rename_without_the_data(machine):
    machine.create("draft", b"new")
    root = machine.disk.root
    machine.disk.rename(root, "draft", root, "settings")
    machine.disk.commit()
    assert machine.cut() == {"settings": b""}


def test_rename_without_commit_is_undone(machine):
    machine.create("settings", b"old", synced=True)
    machine.create("draft", b"new", synced=True)
    root = machine.disk.root
    machine.disk.rename(root, "draft", root, "settings")
    assert machine.disk.read(root.children["settings"], 0, 9) == b"new"
    assert machine.cut() == {"settings": b"old", "draft": b"new"}


def test_overwriting_fdatasync_commits_no_names(machine):
    """fdatasync writes metadata only where the file's own changed."""
    log = machine.create("log", b"0000", synced=True)
    machine.create("new")
    machine.disk.write(log, 0, b"1111")
    machine.disk.sync(log, data_only=True)
    assert machine.cut() == {"log": b"1111"}

    log = machine.disk.root.children["log"]
    machine.create("new")
    machine.disk.write(log, 4, b"2222")
    machine.disk.sync(log, data_only=True)
    assert machine.cut() == {"log": b"11112222", "new": b""}


def test_strict_disk_keeps_names_by_folder_sync_only(strict):
    file = strict.create("log", b"synced")
    strict.disk.sync(file)
    assert strict.cut() == {}

    file = strict.create("log", b"synced")
    strict.disk.sync(file)
    strict.disk.sync_folder(strict.disk.root)
    assert strict.cut() == {"log": b"synced"}


def test_strict_disk_undoes_removal_and_moves(strict):
    disk = strict.disk
    strict.create("kept", b"1", synced=True)
    strict.create("moved", b"2", synced=True)
    folder = disk.make_folder(disk.root, "folder", 0o700, *OWNER)
    disk.unlink(disk.root, "kept")
    disk.rename(disk.root, "moved", folder, "moved")
    disk.sync_folder(folder)
    # The target has the new name, and the folder that lost the old one was not synced.
    assert strict.cut() == {"kept": b"1", "moved": b"2", "folder/moved": b"2"}


@pytest.mark.parametrize("is_strict", [False, True])
def test_moved_folder_survives_with_its_content(tmp_path, is_strict):
    machine = Machine(tmp_path, strict=is_strict)
    disk = machine.disk
    folder = disk.make_folder(disk.root, "a", 0o700, *OWNER)
    inner = disk.make_folder(folder, "b", 0o700, *OWNER)
    file = disk.create(inner, "file", 0o600, *OWNER)
    disk.write(file, 0, b"x")
    disk.sync(file)
    disk.sync_folder(inner)
    disk.rename(folder, "b", disk.root, "c")
    disk.remove_folder(disk.root, "a")
    for each in (disk.root, inner):
        disk.sync_folder(each)
    assert machine.cut() == {"c/file": b"x"}
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["c"]


def test_writeback_keeps_some_unsynced_chunks(tmp_path):
    machine = Machine(tmp_path, writeback=0.5)
    file = machine.create("log", bytes(200 * CHUNK_BYTES), synced=True)
    for chunk in range(200):
        machine.disk.write(file, chunk * CHUNK_BYTES, b"x" * CHUNK_BYTES)
    kept = machine.cut()["log"][::CHUNK_BYTES].count(b"x")
    assert 50 < kept < 150


@pytest.mark.parametrize("is_strict", [False, True])
def test_folder_whose_name_was_reused_keeps_its_content(tmp_path, is_strict):
    machine = Machine(tmp_path, strict=is_strict)
    disk = machine.disk
    folder, other = (disk.make_folder(disk.root, name, 0o700, *OWNER) for name in "ab")
    disk.create(folder, "file", 0o600, *OWNER)
    disk.sync_folder(folder)
    disk.sync_folder(disk.root)
    disk.rename(disk.root, "a", disk.root, "c")
    disk.rename(disk.root, "b", disk.root, "a")
    disk.create(other, "new", 0o600, *OWNER)
    disk.sync_folder(other)
    disk.sync_folder(disk.root)
    assert machine.cut() == {"c/file": b"", "a/new": b""}


def test_unlinked_open_file_stays_readable(machine):
    file = machine.create("log", b"content", synced=True)
    machine.disk.open(file)
    machine.disk.unlink(machine.disk.root, "log")
    assert machine.disk.read(file, 0, 10) == b"content"
    machine.disk.commit()
    machine.disk.release(file)
    assert not list((machine.base / "inodes").iterdir()) and not list((machine.base / "live").iterdir())
    assert machine.cut() == {}


def test_hard_links_share_content_after_a_cut(machine):
    file = machine.create("a", b"1", synced=True)
    machine.disk.link(file, machine.disk.root, "b")
    machine.disk.commit()
    assert machine.cut() == {"a": b"1", "b": b"1"}
    file = machine.disk.root.children["a"]
    assert file is machine.disk.root.children["b"] and file.links == 2
