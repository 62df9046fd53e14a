"""A load generator's access to its site: its credential, the file that holds it, and its own user of Redis.

Standard library only: the settings read it before Django is there.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, TypedDict
from urllib.parse import quote, urlsplit

# The variables in place of the file that hold a secret: a credential, and perhaps a password of Redis.
SECRET_VARIABLES: Final = ("BENCHSITE_GENERATOR_TOKEN", "REDIS_URL")


class AccessRefused(Exception):
    """Redis refuses the user of a load generator; the message has the server's words."""


class Access(TypedDict):
    """The content of the file: the site's address, the credential and the address of Redis."""

    site_url: str
    credential: str
    redis_url: str


def read_access(path: Path) -> Access:
    """The file's content; empty texts without a file. Raises ValueError for a file that others can read."""
    try:
        with path.open() as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise ValueError(f"{path} holds a credential and is open to other accounts: chmod 600 {path}")
            access: Access = json.load(file)
            return access
    except FileNotFoundError:
        return {"site_url": "", "credential": "", "redis_url": ""}


def write_access(path: Path, access: Access) -> None:
    """Write the file with mode 0600, in place of an earlier one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(access, file)
    draft.replace(path)


def own_file(folder: Path, generator: str) -> Path:
    """Where a load generator on the site's host, or one that is configured by variables, has its file."""
    return folder / "generators" / f"{generator}.json"


def forget_secrets(environment: MutableMapping[str, str]) -> None:
    """Remove the secrets of a load generator once they are read: nothing that it starts may inherit them."""
    for name in SECRET_VARIABLES:
        environment.pop(name, None)


def take_file(folder: Path, machine: str) -> Path | None:
    """The first file of the load generators `machine`-1, -2, ... in `folder` that no living process has taken.

    The lock outlives an exec and ends with the last process that has it. All load generators of a host share `folder`.
    """
    for path in sorted(folder.glob(f"{machine}-*.json")):
        lock = os.open(path, os.O_RDONLY)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(lock, True)
            return path
        os.close(lock)
    return None


def get_name(credential: str) -> str:
    """The load generator of a credential, `bsg_NAME_SECRET`."""
    _, _, name_and_secret = credential.partition("_")
    name, _, _ = name_and_secret.rpartition("_")
    return name


def replaced_credential(path: Path, credential: str) -> str:
    """The credential that a later enrolment of the same load generator wrote to the file; empty where there is none."""
    with contextlib.suppress(OSError, ValueError):
        stored = read_access(path)["credential"]
        if stored != credential and get_name(stored) == get_name(credential):
            return stored
    return ""


def redis_user(generator: str, secret_sha256: str) -> str:
    """The name of the Redis user that belongs to one credential."""
    return f"generator-{generator}-{secret_sha256[:12]}"


def own_redis_url(url: str, credential: str) -> str:
    """The address of Redis with the credential's user and password, unless it names a user already."""
    parts = urlsplit(url)
    if parts.username:
        return url
    _, _, secret = credential.rpartition("_")
    user = redis_user(get_name(credential), hashlib.sha256(secret.encode()).hexdigest())
    _, _, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{quote(user)}:{quote(secret)}@{server}").geturl()


def without_user(url: str) -> str:
    """The address of Redis without user and password."""
    parts = urlsplit(url)
    _, _, server = parts.netloc.rpartition("@")
    return parts._replace(netloc=server).geturl()


def unacked_keys(generator: str) -> Mapping[str, Any]:
    """Options of Celery's transport: unacknowledged messages of this load generator have keys of their own."""
    keys = {"unacked_key": "unacked", "unacked_index_key": "unacked_index", "unacked_mutex_key": "unacked_mutex"}
    return {option: f"load.{generator}.{key}" for option, key in keys.items()}
