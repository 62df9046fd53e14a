"""From any file to what was read of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO, Final

from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import Limits, Member, open_members
from runs.ycsb.files.limits import MIB
from runs.ycsb.readers.detect import detect
from runs.ycsb.readers.results import Block, Format, Reader, ReadFile, ReadRun

_HELD: Final = 4 * MIB  # of a file in which nothing was recognised yet


def read_file(
    name: str,
    stream: BinaryIO,
    *,
    limits: Limits | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[ReadFile, ...]:
    """One entry for the file, or for each member of an archive. Content never raises: `ReadFile.error` says why.

    `progress` is told how many bytes of the file were read.
    """
    files: list[ReadFile] = []
    try:
        for member in open_members(name, stream, limits, progress=progress):
            files.append(_read(member))
    except LimitExceeded as error:
        return (ReadFile(name, error=str(error)),)
    except UnreadableFile as error:
        files.append(ReadFile(name, error=str(error)))
    return tuple(files) or (ReadFile(name, error="The archive is empty."),)


def _read(member: Member) -> ReadFile:
    front = Front(member.name)
    try:
        for block in member.blocks():
            front.feed(block)
    except LimitExceeded:
        raise
    except UnreadableFile as error:
        return ReadFile(member.name, error=str(error), size=member.size)
    runs = front.done()
    if runs and member.damage is not None:
        doubtful = runs if member.damage.is_doubtful else runs[-1:]
        runs = tuple(replace(run, complete=False) if run in doubtful else run for run in runs)
    return ReadFile(
        name=member.name,
        format=front.format,
        version=next((run.version for run in runs if run.version), None),
        error=None if runs else front.reason(),
        warnings=member.notes,
        runs=runs,
        size=member.size,
    )


class Front:
    """Holds the beginning of a file until its format is seen, then hands it all to that format's reader."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._held: list[Block] = []
        self._held_size = 0
        self._reader: Reader | None = None
        self.format: Format | None = None

    def feed(self, block: Block) -> None:
        if self._reader is not None:
            self._reader.feed(block)
            return
        self._held.append(block)
        self._held_size += len(block.data)
        self.format = detect(block.data)
        if self.format is not None:
            self._reader = reader_of(self.format, self._name)
            for held in self._held:
                self._reader.feed(held)
            self._held = []
        while self._held_size > _HELD and len(self._held) > 1:
            self._held_size -= len(self._held.pop(1).data)

    def done(self) -> tuple[ReadRun, ...]:
        return self._reader.done() if self._reader is not None else ()

    def reason(self) -> str:
        """Why there is no run."""
        return "Nothing in the file is an output of YCSB."


def reader_of(name: Format, file_name: str) -> Reader:
    """A fresh reader for the format."""
    from runs.ycsb.readers.exporters import ExporterReader
    from runs.ycsb.readers.text import TextReader

    return ExporterReader() if name == "ycsb-json" else TextReader()
