"""From any file to what was read of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import BinaryIO, Final, assert_never

from runs.ycsb.block import Block, Note
from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import Member, open_members
from runs.ycsb.files.limits import MIB
from runs.ycsb.readers.detect import detect
from runs.ycsb.readers.go_ycsb import GoYcsbReader
from runs.ycsb.readers.hdrlog import HdrReader
from runs.ycsb.readers.json_exporters import ExporterReader
from runs.ycsb.readers.loadgenerator import LoadGeneratorReader
from runs.ycsb.readers.properties import PropertiesReader
from runs.ycsb.readers.raw import RawReader
from runs.ycsb.readers.refusal import closest_lines, kind_of_binary, refusal
from runs.ycsb.readers.results import Format, Reader, ReadFile, ReadRun
from runs.ycsb.readers.totals import TotalsReader
from runs.ycsb.readers.wrapped_lines import is_printed, is_wrapped, unwrapped, unwrapped_printed
from runs.ycsb.readers.yaml_lines import YamlLines, is_yaml

_MAX_UNRECOGNISED: Final = 4 * MIB  # of a file in which nothing was recognised yet


def read_file(
    name: str,
    stream: BinaryIO,
    *,
    progress: Callable[[int], None] | None = None,
    summed: bool = False,
) -> tuple[ReadFile, ...]:
    """One entry for the file, or for each member of an archive. Content never raises: `ReadFile.error` says why.

    `progress` is told how many bytes of the file were read. `summed`: of an interval log only the sum over all of it is
    kept.
    """
    files: list[ReadFile] = []
    try:
        for member in open_members(name, stream, progress=progress):
            files.append(_read(member, summed=summed))
    except LimitExceeded as error:
        return (ReadFile(name, error=str(error)),)
    except UnreadableFile as error:
        files.append(ReadFile(name, error=str(error)))
    return tuple(files) or (ReadFile(name, error="The archive has no files in it."),)


def _read(member: Member, *, summed: bool) -> ReadFile:
    binary = kind_of_binary(member.head)
    if binary is not None:
        return ReadFile(member.name, error=binary, size=len(member.head))

    front = _Front(member.name, summed=summed)
    try:
        for block in member.blocks():
            front.feed(block)
        read = front.done()
    except LimitExceeded:
        raise
    except UnreadableFile as error:
        return ReadFile(member.name, error=str(error), size=member.size)

    runs = [run for run in read if run.has_results]
    if not runs:
        reason, quotation, quoted = refusal(front.lines, front.closest, front.format)
        return ReadFile(
            name=member.name,
            format=front.format,
            error=f"{reason} {quotation} {' | '.join(quoted)}" if quoted else reason,
            reason=reason,
            quoted=quoted,
            warnings=tuple(member.notes),
            preface=read[0] if read else None,
            size=member.size,
        )

    if member.damage is not None:
        # Where a file breaks off, only its last run lacks something.
        first_doubtful = 0 if member.damage.is_doubtful else len(runs) - 1
        runs[first_doubtful:] = [replace(run, complete=False) for run in runs[first_doubtful:]]
    return ReadFile(
        name=member.name,
        format=runs[0].format,
        version=next((run.version for run in runs if run.version), None),
        warnings=tuple(member.notes),
        runs=tuple(runs),
        size=member.size,
    )


class _Front:
    """Holds the beginning of a file until its format is seen, then hands it all to that format's reader."""

    def __init__(self, name: str, *, summed: bool = False) -> None:
        self._name = name
        self._summed = summed
        self._blocks: list[Block] = []  # until the format is seen
        self._size = 0  # of them
        self._reader: Reader | None = None
        self._unwrap: Callable[[Block], Block] | None = None  # where its lines stand in strings
        self._yaml = YamlLines()
        self.format: Format | None = None
        self.lines = 0

    def feed(self, block: Block) -> None:
        if self._reader is None and self._unwrap is None:
            self._unwrap = self._find_unwrapping(block.data)
        if self._unwrap is not None:
            block = self._unwrap(block)
        self._read(block)

    def _find_unwrapping(self, data: bytes) -> Callable[[Block], Block] | None:
        if is_printed(data):
            return unwrapped_printed
        if is_yaml(data):
            return self._yaml.feed
        if is_wrapped(data):
            return unwrapped
        return None

    def _read(self, block: Block) -> None:
        if self._reader is not None:
            self._reader.feed(block)
            return

        self.lines = block.first_line + block.data.count(b"\n") - 1
        self._blocks.append(block)
        self._size += len(block.data)
        self.format = detect(block.data, is_beginning=block.first_line == 1)
        if self.format in ("ycsb-cpp", "ycsb-c") and b"[OVERALL], " in block.data:
            self.format = "ycsb-text"  # a fork that prints both
        if self.format is not None:
            self._reader = make_reader(self.format, self._name, summed=self._summed)
            for earlier in self._blocks:
                self._reader.feed(earlier)
            self._blocks = []

        # Of endless chatter the first lines and the last ones are enough.
        while self._size > _MAX_UNRECOGNISED and len(self._blocks) > 2:
            self._size -= len(self._blocks.pop(1).data)

    def done(self) -> tuple[ReadRun, ...]:
        rest = self._yaml.rest()
        if rest:
            self._read(Block(rest, self.lines + 1, True))
        if self._reader is not None:
            return self._reader.done()
        return ()

    @property
    def closest(self) -> Sequence[Note]:
        """Without a run: the lines that looked most like a result."""
        if self._reader is not None:
            return self._reader.closest
        if self._blocks:
            return closest_lines(self._blocks[0])
        return ()


def make_reader(name: Format, file_name: str, *, summed: bool) -> Reader:
    """A fresh reader for the format."""
    match name:
        case "ycsb-text" | "thumbtack" | "ycsb-json":
            # What a client says before its summary is text, whichever exporter writes that.
            return ExporterReader()
        case "ycsb-raw":
            return RawReader()
        case "hdr-log":
            return HdrReader(file_name, summed=summed)
        case "go-ycsb" | "go-ycsb-table" | "go-ycsb-json" | "go-ycsb-csv":
            return GoYcsbReader()
        case "load-generator":
            return LoadGeneratorReader()
        case "ycsb-cpp" | "ycsb-c":
            return TotalsReader(name)
        case "properties":
            return PropertiesReader()
        case _:
            assert_never(name)
