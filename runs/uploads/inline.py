"""A few small files read, merged and judged in memory: no row, no storage, no temporary file, and each file read once.

Programs upload this way. Large files are read by `file_pipeline`. Both ways give the same numbers. Pure.
"""

import io
from collections.abc import Iterable

from runs.uploads.reads import MAX_MEMBERS, Reads, RedactedFile, open_content, own_name, read_member, redact_member
from runs.ycsb.errors import LimitExceeded, UnreadableFile
from runs.ycsb.files import open_members
from runs.ycsb.ingest import reuse_memory

# Of all files together, unpacked. What is more needs more time and memory than a request has.
MAX_EXPANDED = 32 * 1024**2


class TooMuchAtOnce(Exception):
    """These files unpack to more than is read in a request: a worker may read them."""


def read_at_once(files: Iterable[tuple[str, bytes]], *, most_expanded: int = MAX_EXPANDED) -> Reads:
    """Read these files (names and contents), without their secrets.

    `runs.uploads.reads.runs_in` tells the runs in them. A name is a label: nothing is opened by it. Raises
    LimitExceeded for what is packed too tightly, and TooMuchAtOnce. What else is wrong with a file stands in its
    `ReadFile.error`.
    """
    reuse_memory()
    members: list[RedactedFile] = []
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

                read = redact_member(member, own_name(member.name, names), write, raises=(LimitExceeded,))
                if not read.error:
                    read.content = expanded.getvalue()
                members.append(read)
                names.add(read.name)
        except LimitExceeded:
            raise
        except UnreadableFile as error:
            name = own_name(label, names)
            members.append(RedactedFile(name=name, size=len(content), error=str(error)))
            names.add(name)

    by_name = {member.name: member for member in members}
    return Reads(by_name, tuple(read_member(member, open_content) for member in members), whole=True)
