"""Why a program's files cannot be saved: the file, the line, the column, and the beginning of that line. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import printable
from runs.uploads.reads import Reads, RedactedMember
from runs.ycsb.block import Block
from runs.ycsb.errors import HistogramError, YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.readers.refusal import closest_lines

MAX_LINE_LENGTH: Final = 80  # characters of it that are told
_LOOKED_AT: Final = 1 << 20  # bytes of a file


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the files it is. Lines and columns count from 1; None: nowhere in particular."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str = ""


class ResultRefused(Exception):
    """These files are not saved. `slug` is the kind of problem."""

    def __init__(self, slug: str, message: str, faults: Sequence[tuple[Place, str]] = ()) -> None:
        self.slug = slug
        self.faults = list(faults)
        super().__init__(message)


def check_files(reads: Reads) -> None:
    """Every file must be readable to its end: a program sends it again. Raises ResultRefused."""
    unknown: list[tuple[Place, str]] = []
    malformed: list[tuple[Place, str]] = []
    for file in reads.files:
        member = reads.members[file.name]
        if file.error and not (file.preface and any(other.runs for other in reads.files)):
            # The line that looks most like a result, in a file where nothing is one.
            content = (member.content or b"")[:_LOOKED_AT]
            lines = closest_lines(Block(content + b"\n", 1)) if content else ()
            place = _place(member.name, lines[0].line or 1, lines[0].text) if lines else Place(member.name)
            fault = (place, file.error)
            (malformed if file.format is not None or member.error else unknown).append(fault)
        elif member.damage:
            line = next((note["line"] for note in member.notes if note["line"]), None)
            why = next((note["text"] for note in member.notes), "The file is damaged.")
            malformed.append((place_in(member, line), f"{why} Send it again."))

    if malformed:
        place, why = malformed[0]
        raise ResultRefused("malformed-result", f"{place.file}: {why}", [*malformed, *unknown])
    if unknown:
        place, why = unknown[0]
        raise ResultRefused("unsupported-format", f"{place.file}: {why}", unknown)
    if not any(file.runs for file in reads.files):
        raise ResultRefused("malformed-result", "There is no result in these files.")


def refused_run(reads: Reads, groups: Sequence[RunFiles], error: YcsbError) -> ResultRefused:
    """Runs that were read and cannot be merged."""
    names = []
    if groups:
        names = groups[0].names
    line = None
    if isinstance(error, HistogramError):
        line = error.line_number
    faults = []
    if names:
        faults = [(place_in(reads.members[names[0]], line), str(error))]
    return ResultRefused("malformed-result", str(error), faults)


def place_in(member: RedactedMember, line: int | None) -> Place:
    """A line of a file, by its number."""
    lines = (member.content or b"")[:_LOOKED_AT].split(b"\n")
    if line is None or not 0 < line <= len(lines):
        return Place(member.name, line)
    return _place(member.name, line, lines[line - 1].decode(errors="replace"))


def _place(file: str, line: int, text: str) -> Place:
    """The column is that of the first sign that is no text, else of the first that is no blank."""
    odd = (at for at, sign in enumerate(text) if not sign.isprintable() and sign != "\t")
    indentation = len(text) - len(text.lstrip())
    return Place(file, line, next(odd, indentation) + 1, printable(text[:MAX_LINE_LENGTH], "\N{REPLACEMENT CHARACTER}"))
