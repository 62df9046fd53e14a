"""A file opened: itself, or what is packed in it."""

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from runs.ycsb.block import Block, Note
from runs.ycsb.errors import DamagedFile, UnreadableFile
from runs.ycsb.files.archives import is_tar, is_zip, tar_members, zip_members
from runs.ycsb.files.blocks import BlockCutter
from runs.ycsb.files.limits import Limits
from runs.ycsb.files.sources import Counted, Meter, Metered, Refused, Rewound, Source, read_full
from runs.ycsb.files.unpacking import Unpacked, packing_of

_HEAD: Final = 4096


class Member:
    """One file with nothing packed in it any more. Members are read one after the other, each only once."""

    def __init__(self, name: str, head: bytes, source: Source, longest_line: int) -> None:
        self.name = name
        self.head = head  # its first bytes as they are stored
        self._cutter = BlockCutter(head, source, longest_line)

    def blocks(self) -> Iterator[Block]:
        """Its text. Raises UnreadableFile where there is none to be had."""
        return iter(self._cutter)

    @property
    def size(self) -> int:
        """Bytes read so far, unpacked but not decoded."""
        return self._cutter.size

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd about it so far."""
        return tuple(self._cutter.notes)

    @property
    def damage(self) -> DamagedFile | None:
        """Why its end is missing."""
        return self._cutter.damage


def open_members(
    name: str,
    stream: BinaryIO,
    limits: Limits | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Member]:
    """The file itself, unpacked, or one member after the other of an archive.

    `progress` is told how many bytes of the file were read. Raises UnreadableFile where the members, or the rest of
    them, cannot be had.
    """
    meter = Meter(limits or Limits())
    return _open(name, Counted(stream, meter, progress), meter)


def _open(name: str, source: Source, meter: Meter, layer: int = 0) -> Iterator[Member]:
    limits = meter.limits
    try:
        head = read_full(source, _HEAD)
    except UnreadableFile as error:
        yield Member(name, b"", Refused(error), limits.longest_line)
        return
    packing, is_archive = packing_of(head), is_zip(head) or is_tar(head)
    whole = Rewound(head, source)
    if packing is None and not is_archive:
        yield Member(name, head, whole, limits.longest_line)
    elif layer == limits.layers:
        refusal = UnreadableFile(f"It is packed more than {limits.layers} times over. Unpack it first.")
        yield Member(name, b"", Refused(refusal), limits.longest_line)
    elif packing is not None:
        yield from _open(name, Unpacked(packing, whole, meter), meter, layer + 1)
    elif is_tar(head):
        for path, part in tar_members(whole):
            meter.enter()
            yield from _open(f"{name}/{path}", part, meter, layer + 1)
    else:
        for path, part in zip_members(source if _can_seek(source) else whole):
            meter.enter()
            yield from _open(f"{name}/{path}", Metered(part, meter), meter, layer + 1)


def _can_seek(source: Source) -> bool:
    return isinstance(source, Counted) and source.seekable()
