"""Files in a container's folder, put there and read through the engine. No Django.

The engine may be on another file system than this process (which may itself be in a container), so nothing is mounted
from here: a tar goes through the engine's socket, with owners and modes in it. What a file holds is thereby not among
what `docker inspect` tells, as environment variables and command lines are.
"""

import io
import re
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from benchsite.core.paths import Account
from workers.provision.servers import ServerDidNotStart

NUMBERS = re.compile("0*[1-9][0-9]{0,8}:[0-9]{1,9}")  # of an account other than root's


def account_in(container: Any, name: str, image: str) -> Account:
    """The image's own account of that name, whose numbers differ between the variants of an image.

    An engine takes anything but digits for root, and of several lines with the name one that it chooses.
    """
    lines = [line.split(":") for line in read_file(container, "/etc/passwd").split("\n")]
    numbers = [":".join(fields[2:4]) for fields in lines if fields[0].strip() == name]
    if numbers and all(map(NUMBERS.fullmatch, numbers)):
        uid, gid = map(int, numbers[0].split(":"))
        return Account(name, uid, gid)
    raise ServerDidNotStart(
        f"The image {image} has no account {name}, under which a server of its kind runs, other than root."
    )


def read_file(container: Any, path: str) -> str:
    """The text of a file in the container, running or not; empty where it is not there."""
    try:
        pieces, _ = container.get_archive(path)
    except NotFound:
        return ""
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                return file.read().decode("utf-8", "replace")
    return ""


def put_files(
    container: Any, folder: Path, owner: Account, files: Mapping[str, str], folders: tuple[str, ...] = ()
) -> None:
    """Puts files (0600) and folders (0700) of the owner's below `folder`, replacing files of the same names."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in folders:
            member = _build_member(name, owner, 0o700)
            member.type = tarfile.DIRTYPE
            archive.addfile(member)
        for name, text in files.items():
            encoded = text.encode()
            member = _build_member(name, owner, 0o600)
            member.size = len(encoded)
            archive.addfile(member, io.BytesIO(encoded))

    container.put_archive(str(folder), content.getvalue())


def _build_member(name: str, owner: Account, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.uid = owner.uid
    member.gid = owner.gid
    member.mode = mode
    member.mtime = int(time.time())
    return member
