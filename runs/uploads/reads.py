"""The files of an upload unpacked, without their secrets, and read; and the runs in them. Pure."""

import hashlib
import io
import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO, Final, Protocol

from benchsite.core.formatting import printable
from runs.uploads.file_redaction import without_secrets
from runs.ycsb.block import Note
from runs.ycsb.errors import UnreadableFile
from runs.ycsb.file_grouping import RunFiles, group, is_named
from runs.ycsb.files import Member
from runs.ycsb.grouping_notes import GroupingNote
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile

# Of one upload, all archives unpacked.
MAX_MEMBERS: Final = 300
MAX_NAME_CHARACTERS: Final = 280
CHUNK: Final = 256 * 1024  # bytes
# What a damaged file did to the runs in it.
ALL_DOUBTFUL, END_MISSING = "doubtful", "cut"
TOGETHER, APART = "together", "apart"  # how files are grouped, where neither their names nor contents decide


class RedactedMember(Protocol):
    """A file without its secrets; `runs.models.UploadedFile` is its row."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    @property
    def redacted_lines(self) -> int: ...
    @property
    def error(self) -> str: ...
    @property
    def notes(self) -> list[dict[str, Any]]: ...
    @property
    def damage(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def content(self) -> bytes | None: ...


@dataclass(slots=True)
class RedactedFile:
    name: str
    size: int
    sha256: str = ""  # of the redacted content; empty: it could not be unpacked
    redacted_lines: int = 0  # how many lines held a secret
    error: str = ""  # why it could not be unpacked
    notes: list[dict[str, Any]] = field(default_factory=list)  # what unpacking noticed: [{"text": ..., "line": ...}]
    damage: str = ""
    path: str = ""  # where it lies; empty: in `content`
    content: bytes | None = None


# Opens what is in a redacted file.
Opener = Callable[[RedactedMember], AbstractContextManager[BinaryIO]]


def open_content(member: RedactedMember) -> AbstractContextManager[BinaryIO]:
    """The content of a file in memory."""
    return nullcontext(io.BytesIO(member.content or b""))


@dataclass(frozen=True, slots=True)
class Reads:
    """The redacted files of an upload, read.

    However long a histogram log is, it stands here as one interval over all of it: that says whose it is and what it
    counts, and leaves memory bounded however many files there are. Of a few small files the logs are `whole`.
    """

    members: Mapping[str, RedactedMember]
    files: tuple[ReadFile, ...]
    whole: bool = False
    opener: Opener = open_content

    def origin(self, log: IntervalLog) -> tuple[ReadFile, IntervalLog]:
        """Where this very log stands, and the name it has there: clients' logs are given common names."""
        for file in self.files:
            for stored_log in file.logs:
                if stored_log.count is log.count:
                    return file, stored_log
        raise LookupError(log.operation)


def own_name(name: str, taken: Container[str]) -> str:
    """The name, shown as it is, or with a number where another file has it; the end of it tells most."""
    plain = printable(name).strip()[-MAX_NAME_CHARACTERS:] or "unnamed"
    numbered = (f"{plain} ({number})" for number in itertools.count(2))
    if plain not in taken:
        return plain
    return next(other for other in numbered if other not in taken)


def redact_member(
    member: Member, name: str, write: Callable[[bytes], object], *, raises: tuple[type[Exception], ...] = ()
) -> RedactedFile:
    """One file without its secrets, block by block into `write`; what is wrong with it stands in its `error`.

    Only errors of the classes `raises` are raised.
    """
    digest, size, hidden = hashlib.sha256(), 0, 0
    try:
        for block in member.blocks():
            content, lines = without_secrets(block.data)
            if block.unterminated:
                # Ended with a line feed it would be read as a whole line, and its last value may be cut.
                content = content.removesuffix(b"\n")
            write(content)
            digest.update(content)
            size, hidden = size + len(content), hidden + lines
    except raises:
        raise
    except UnreadableFile as error:
        return RedactedFile(name=name, size=member.size, error=str(error))

    damage = ""
    if member.damage is not None:
        damage = ALL_DOUBTFUL if member.damage.is_doubtful else END_MISSING
    notes = [{"text": note.text, "line": note.line} for note in member.notes]
    return RedactedFile(
        name=name, size=size, sha256=digest.hexdigest(), redacted_lines=hidden, notes=notes, damage=damage
    )


def read_member(
    member: RedactedMember, opener: Opener, report: Callable[[int], None] | None = None, *, summed: bool = False
) -> ReadFile:
    """The result in a redacted file; `report` is told how many bytes of it are done."""
    if member.error:
        return ReadFile(name=member.name, error=member.error, size=member.size)

    noticed = tuple(Note(note["text"], note["line"]) for note in member.notes)
    with opener(member) as stream:
        (read,) = read_file(member.name, stream, progress=report, summed=summed)

    runs = read.runs
    if member.damage:
        doubtful = runs if member.damage == ALL_DOUBTFUL else runs[-1:]
        runs = tuple(replace(run, complete=False) if run in doubtful else run for run in runs)

    return replace(read, runs=runs, warnings=(*noticed, *read.warnings))


def read_whole(logs: Sequence[IntervalLog], reads: Reads) -> tuple[IntervalLog, ...]:
    """These logs with all their intervals, read from their files again."""
    origins = [reads.origin(log) for log in logs]
    whole: dict[int, IntervalLog] = {}
    for file in {file.name: file for file, _ in origins}.values():
        again = read_member(reads.members[file.name], reads.opener).logs
        whole |= zip(map(id, file.logs), again, strict=True)
    pairs = zip(logs, origins, strict=True)
    return tuple(replace(whole[id(stored)], operation=log.operation) for log, (_, stored) in pairs)


def read_chunks(member: RedactedMember, opener: Opener) -> Iterator[bytes]:
    """The content of a redacted file, piece by piece."""
    with opener(member) as stream:
        while piece := stream.read(CHUNK):
            yield piece


def runs_in(reads: Reads, grouping: str, utc_offsets: Mapping[str, str] | None = None) -> list[RunFiles]:
    """The runs that these files are of."""
    offsets_s = {name: parse_utc_offset(text) for name, text in (utc_offsets or {}).items()}
    if grouping == APART:
        runs = list(chain.from_iterable(group([file], utc_offsets_s=offsets_s) for file in reads.files))
    else:
        runs = list(group(reads.files, together=grouping == TOGETHER, utc_offsets_s=offsets_s))

    clients = list(chain.from_iterable(run.clients for run in runs))
    unused = [name for name in offsets_s if not any(is_named(name, client) for client in clients)]
    notes = [GroupingNote("offset_of_no_client", (), {"name": name}) for name in unused]
    return [replace(run, notes=(*run.notes, *notes)) for run in runs]


def parse_utc_offset(text: str) -> float:
    """Seconds of an offset from UTC as it is stated: +02:00."""
    hours, minutes = text[1:].split(":")
    return (int(hours) * 3600 + int(minutes) * 60) * (-1 if text.startswith("-") else 1)
