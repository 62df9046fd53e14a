"""A few small files read, merged and judged in memory: no row, no storage, no temporary file, and each file read once.

Programs upload this way. Large files are read by `file_pipeline`. Both ways give the same numbers.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass

from runs.models import UploadedFile
from runs.uploads.file_pipeline import MAX_MEMBERS, Reads, read_members, redacted
from runs.uploads.upload_lifecycle import own_name
from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import Limits, open_members
from runs.ycsb.ingest import reuse_memory

# Of all files together, unpacked. What is more needs more time and memory than a request has.
MAX_EXPANDED = 32 * 1024**2


class TooMuchAtOnce(Exception):
    """These files unpack to more than is read in a request: a worker may read them."""


@dataclass(frozen=True, slots=True)
class NamedContent:
    """One file as somebody brought it. Its name is a label: nothing is ever opened by it."""

    name: str
    content: bytes


def read_at_once(
    files: Sequence[NamedContent], *, most_expanded: int = MAX_EXPANDED, ratio: int = Limits().ratio
) -> Reads:
    """What these files say, without their secrets; `runs.uploads.file_pipeline.runs_in` tells the runs in them.

    Raises LimitExceeded for what is packed too tightly, and TooMuchAtOnce. What else is wrong with a file stands in its
    `ReadFile.error`.
    """
    reuse_memory()
    members: list[UploadedFile] = []
    names: set[str] = set()
    for file in files:
        try:
            for member in open_members(file.name, io.BytesIO(file.content), Limits(ratio=ratio)):
                if len(members) >= MAX_MEMBERS:
                    raise LimitExceeded(f"There are more than {MAX_MEMBERS} files in this upload: send fewer.")
                content = io.BytesIO()
                room = most_expanded - sum(other.size for other in members)

                def write(piece: bytes, content: io.BytesIO = content, room: int = room) -> None:
                    if content.write(piece) and content.tell() > room:
                        raise TooMuchAtOnce

                read = redacted(member, own_name(member.name, names), write, raises=(LimitExceeded,))
                read.content = None if read.error else content.getvalue()
                members.append(read)
                names.add(read.name)
        except LimitExceeded:
            raise
        except UnreadableFile as error:
            name = own_name(file.name, names)
            members.append(UploadedFile(name=name, size=len(file.content), error=str(error)))
            names.add(name)
    return read_members(members, whole=True)
