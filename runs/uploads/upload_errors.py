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
_SEARCHED_BYTES: Final = 1 << 20  # bytes of a file


@dataclass(frozen=True, slots=True)
class FilePosition:
    """Where in the files it is. Lines and columns count from 1; None: nowhere in particular."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str = ""


class ResultRefused(Exception):
    """These files are not saved. `slug` is the kind of problem."""

    def __init__(self, slug: str, message: str, faults: Sequence[tuple[FilePosition, str]] = ()) -> None:
        self.slug = slug
        self.faults = list(faults)
        super().__init__(message)


def check_files(reads: Reads) -> None:
    """Every file must be readable to its end: a program sends it again. Raises ResultRefused."""
    unknown: list[tuple[FilePosition, str]] = []
    malformed: list[tuple[FilePosition, str]] = []
    for file in reads.files:
        member = reads.members[file.name]
        if file.error and not (file.preface and any(other.runs for other in reads.files)):
            # The line that looks most like a result, in a file where nothing is one.
            content = (member.content or b"")[:_SEARCHED_BYTES]
            closest = closest_lines(Block(content + b"\n", 1)) if content else ()
            position = locate(member, closest[0].line if closest else None)
            is_malformed = file.format is not None or member.error
            (malformed if is_malformed else unknown).append((position, file.error))
        elif member.damage:
            line = next((note["line"] for note in member.notes if note["line"]), None)
            why = next((note["text"] for note in member.notes), "The file is damaged.")
            malformed.append((locate(member, line), f"{why} Send it again."))

    faults = [*malformed, *unknown]
    if faults:
        position, why = faults[0]
        slug = "malformed-result" if malformed else "unsupported-format"
        raise ResultRefused(slug, f"{position.file}: {why}", faults)
    if not any(file.runs for file in reads.files):
        raise ResultRefused("malformed-result", "There is no result in these files.")


def refused_run(reads: Reads, groups: Sequence[RunFiles], error: YcsbError) -> ResultRefused:
    """Runs that were read and cannot be merged."""
    line = error.line_number if isinstance(error, HistogramError) else None
    names = groups[0].names if groups else []
    faults = [(locate(reads.members[name], line), str(error)) for name in names[:1]]
    return ResultRefused("malformed-result", str(error), faults)


def locate(member: RedactedMember, line: int | None) -> FilePosition:
    """A line of a file, by its number. The column is that of its first sign that is no text, else of the first that
    is no blank.
    """
    lines = (member.content or b"")[:_SEARCHED_BYTES].split(b"\n")
    if line is None or not 0 < line <= len(lines):
        return FilePosition(member.name, line)

    text = lines[line - 1].decode(errors="replace").removesuffix("\r")
    indentation = len(text) - len(text.lstrip())
    unprintable = (at for at, sign in enumerate(text) if not sign.isprintable() and sign != "\t")
    column = next(unprintable, indentation) + 1
    beginning = printable(text[:MAX_LINE_LENGTH], "\N{REPLACEMENT CHARACTER}")
    return FilePosition(member.name, line, column, beginning)
