"""A few small files read, merged and judged in memory: no row, no storage, no temporary file, and each file read once.

Programs upload this way. Large files are read by `file_pipeline`. Both ways give the same numbers.
"""

import io
from collections.abc import Sequence

from runs.models import UploadedFile
from runs.uploads.file_pipeline import MAX_MEMBERS, Reads, read_members, redacted
from runs.uploads.upload_lifecycle import own_name
from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import open_members
from runs.ycsb.ingest import reuse_memory

# Of all files together, unpacked. What is more needs more time and memory than a request has.
MAX_EXPANDED = 32 * 1024**2


class TooMuchAtOnce(Exception):
    """These files unpack to more than is read in a request: a worker may read them."""


def read_at_once(files: Sequence[tuple[str, bytes]], *, most_expanded: int = MAX_EXPANDED) -> Reads:
    """Read these files (names and contents), without their secrets.

    `runs.uploads.file_pipeline.runs_in` tells the runs in them. A name is a label: nothing is opened by it. Raises
    LimitExceeded for what is packed too tightly, and TooMuchAtOnce. What else is wrong with a file stands in its
    `ReadFile.error`.
    """
    reuse_memory()
    members: list[UploadedFile] = []
    names: set[str] = set()
    for label, content in files:
        try:
            for member in open_members(label, io.BytesIO(content)):
                if len(members) >= MAX_MEMBERS:
                    raise LimitExceeded(f"There are more than {MAX_MEMBERS} files in this upload: send fewer.")
                expanded = io.BytesIO()
                room = most_expanded - sum(other.size for other in members)

                def write(piece: bytes, expanded: io.BytesIO = expanded, room: int = room) -> None:
                    if expanded.write(piece) and expanded.tell() > room:
                        raise TooMuchAtOnce

                read = redacted(member, own_name(member.name, names), write, raises=(LimitExceeded,))
                read.content = None
                if not read.error:
                    read.content = expanded.getvalue()
                members.append(read)
                names.add(read.name)
        except LimitExceeded:
            raise
        except UnreadableFile as error:
            name = own_name(label, names)
            members.append(UploadedFile(name=name, size=len(content), error=str(error)))
            names.add(name)
    return read_members(members, whole=True)
