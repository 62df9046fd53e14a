"""A few small files read, merged and judged in memory: no row, no storage, no temporary file, and each file read once.

What programs upload goes this way, and outputs of runs that were carried out by hand. Large files go the way of
`reading` and `working`. Both ways give the same numbers.
"""

import hashlib
import io
import uuid
from collections.abc import Container, Sequence
from dataclasses import dataclass

from runs.recording.merging import MergedUpload, merge_upload
from runs.recording.uploaded import judge
from runs.spec import RunSpec
from runs.uploading.life import ReadMember
from runs.uploading.reading import ALL_DOUBTFUL, END_MISSING, MOST_MEMBERS, Reads, own_name, read_members
from runs.uploading.redacting import without_secrets
from runs.validity import CheckResult
from runs.ycsb.clients import RunFiles
from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import Limits, Member, open_members
from runs.ycsb.ingest import reuse_memory

# Of all files together, unpacked. What is more needs more time and memory than a request has.
MOST_EXPANDED = 32 * 1024**2


class TooMuchAtOnce(Exception):
    """These files unpack to more than is read in a request: a worker may read them."""


@dataclass(frozen=True, slots=True)
class Brought:
    """One file as somebody brought it. Its name is a label: nothing is ever opened by it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Judged:
    """One run, merged and judged; nothing of it is stored."""

    files: RunFiles
    found: MergedUpload
    findings: tuple[CheckResult, ...]


def read_at_once(files: Sequence[Brought], *, most_expanded: int = MOST_EXPANDED, ratio: int = Limits().ratio) -> Reads:
    """What these files say, without their secrets; `runs.uploading.reading.runs_in` tells the runs in them.

    Raises LimitExceeded for what is packed too tightly, and TooMuchAtOnce. What else is wrong with a file stands in its
    `ReadFile.error`.
    """
    reuse_memory()
    members: list[ReadMember] = []
    names: set[str] = set()
    for file in files:
        try:
            for member in open_members(file.name, io.BytesIO(file.content), Limits(ratio=ratio)):
                if len(members) >= MOST_MEMBERS:
                    raise LimitExceeded(f"There are more than {MOST_MEMBERS} files in this upload: send fewer.")
                members.append(_redacted(member, names, most_expanded - sum(one.size for one in members)))
                names.add(members[-1].name)
        except LimitExceeded:
            raise
        except UnreadableFile as error:
            name = own_name(file.name, names)
            members.append(ReadMember(name, len(file.content), "", "", 0, str(error)))
            names.add(name)
    return read_members(members, whole=True)


def judged(team_id: uuid.UUID, spec: RunSpec, files: RunFiles, reads: Reads) -> Judged:
    """One of the runs in these files as its spec says it was planned or stated. Raises YcsbError."""
    found = merge_upload(files, reads, spec)
    return Judged(files, found, tuple(judge(team_id, spec, found.merged, found.series)))


def _redacted(member: Member, taken: Container[str], room: int) -> ReadMember:
    """One file without its secrets."""
    name, pieces, size, hidden = own_name(member.name, taken), [], 0, 0
    try:
        for block in member.blocks():
            piece, lines = without_secrets(block.data)
            if block.unterminated:
                # Ended with a line feed it would be read as a whole line, and its last value may be cut.
                piece = piece.removesuffix(b"\n")
            pieces.append(piece)
            size, hidden = size + len(piece), hidden + lines
            if size > room:
                raise TooMuchAtOnce
    except LimitExceeded:
        raise
    except UnreadableFile as error:
        return ReadMember(name, member.size, "", "", 0, str(error))
    content, damage = b"".join(pieces), ""
    if member.damage is not None:
        damage = ALL_DOUBTFUL if member.damage.is_doubtful else END_MISSING
    notes = tuple({"text": note.text, "line": note.line} for note in member.notes)
    digest = hashlib.sha256(content).hexdigest()
    return ReadMember(name, size, "", digest, hidden, notes=notes, damage=damage, content=content)
