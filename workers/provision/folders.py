"""Folders and files of servers under test, owned by the account that runs them. No Django."""

import os
import re
import secrets
import shutil
from pathlib import Path

from benchsite.core.paths import Account, reachable
from workers.provision.servers import ServerDidNotStart


def deployment_folder(targets: Path, deployment: str) -> Path:
    """The folder of one deployment below `targets`, whose name cannot lead anywhere else."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", deployment):
        raise ValueError(f"{deployment!r} cannot name a folder.")
    return targets / deployment


def make_folder(folder: Path, account: Account | None) -> None:
    """Makes `folder` (0700, the account's). Folders above it that exist already are never changed.

    Raises ServerDidNotStart where the account could not walk down to it.
    """
    missing = [parent for parent in folder.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        if account is not None:
            parent.chmod(0o755)  # What root makes under a strict umask is closed to the account.

    folder.mkdir(mode=0o700, exist_ok=True)
    if account is None:
        return

    os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    if not reachable(folder, account):
        raise ServerDidNotStart(
            f"The account {account.name}, which runs servers when root starts Benchsite, cannot reach {folder}. "
            "Set BENCHSITE_TARGETS to a folder whose parents let others pass, for instance one below /var/tmp."
        )


def write_private(path: Path, text: str, account: Account | None) -> None:
    """Replaces `path` by a file that only the account can read (0600).

    The folder belongs to the account, so a link it might have put there is never followed.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if account is not None:
            os.fchown(file.fileno(), account.uid, account.gid)
    draft.replace(path)


def read_private(path: Path) -> str:
    """The text of a file written by `write_private`, or nothing where it is not there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read()


def remove_folder(folder: Path) -> None:
    """Deletes the folder with everything in it; harmless where it is not there."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
