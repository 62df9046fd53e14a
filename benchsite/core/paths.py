"""Where a one-machine site keeps its private servers, and under which account it runs them.

Everything follows from the folder `var/` alone, so that the web server, the workers and every command agree without
asking each other. Standard library only: the settings read it before Django is there.
"""

import contextlib
import hashlib
import os
import pwd
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

# A UNIX socket's path may have 107 bytes, and PostgreSQL adds a file name of up to 21 to the folder's.
MAX_SOCKET_FOLDER = 80
# Both ends of a TCP connection to PostgreSQL give it up within a minute when the other end is gone without a word. The
# second value is sent to the server, which then frees the locks that such a connection held.
TCP_LIVENESS: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
    "connect_timeout": 10,
}
TCP_LIVENESS_OF_SERVER = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4 -c tcp_user_timeout=30000"
)
# PostgreSQL refuses to run as root. Root therefore hands its servers to the first of these accounts that exists.
UNPRIVILEGED_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An account that servers are run as when the site was started by root."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and addresses of the embedded servers of one `var/`."""

    base: Path  # What the servers' account can reach: `var/`, or a folder of its own below the temporary folder.
    sockets: Path  # 0700, holds the UNIX sockets of the site's own PostgreSQL and Redis.
    postgresql: Path  # data folder of the site's own PostgreSQL
    redis: Path  # data folder of the site's own Redis
    targets: Path  # data folders of the servers under test
    account: Account | None  # None: the servers run as the user who started the site.

    @property
    def redis_socket(self) -> Path:
        return self.sockets / "redis.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://benchsite@/benchsite?host={self.sockets}"

    @property
    def redis_url(self) -> str:
        return f"unix://{self.redis_socket}?db=0"


def unprivileged_account() -> Account | None:
    """The account for servers when this process is root; None for anybody else, who runs them as himself."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED_ACCOUNTS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name, entry.pw_uid, entry.pw_gid)
    return None


def reachable(folder: Path, account: Account) -> bool:
    """Whether `account` can walk down to `folder`: every existing folder above it lets others pass."""
    for parent in (folder, *folder.parents):
        if not parent.exists():
            continue
        facts = parent.stat()
        if facts.st_uid == account.uid:
            needed = stat.S_IXUSR
        elif facts.st_gid == account.gid:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not facts.st_mode & needed:
            return False
    return True


def places(var: Path) -> Places:
    """The places of the site whose folder is `var`.

    Where root runs the site from a folder that the servers' account cannot reach (/root, say), their data lies in a
    folder of its own below /var/tmp: permissions of folders above `var/` are never changed.
    """
    account = unprivileged_account()
    mark = hashlib.sha256(str(var).encode()).hexdigest()[:12]
    base = var if account is None or reachable(var, account) else Path("/var/tmp") / f"benchsite-{mark}"
    sockets = base / "sockets"
    if len(os.fsencode(sockets)) > MAX_SOCKET_FOLDER:
        sockets = Path(tempfile.gettempdir()) / f"benchsite-{os.geteuid()}-{mark}"
    return Places(base, sockets, base / "postgresql", base / "redis", base / "targets", account)


def make_folders(folder: Path) -> None:
    """Makes the folder and those above it that are missing, passable for the servers' account whatever the umask is.

    Existing ones are left as they are.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


def make_log_folder(folder: Path) -> None:
    """Makes it, for this account alone: logs name addresses and people. The servers are given theirs opened."""
    make_folders(folder)
    with contextlib.suppress(PermissionError):  # Somebody else's: theirs to close.
        folder.chmod(0o700)


def stored_secret(path: Path) -> str:
    """A random text, made once and kept in this file with mode 0600."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text()
    make_folders(path.parent)
    # Written beside and linked into place, so that two processes starting together end up with one key.
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50))
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
    return path.read_text()


def django_database(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for a postgresql:// URL; a socket folder may stand in ?host=.

    A TCP connection gets keepalives on both ends; parameters in the URL replace them. Raises ValueError for any other
    scheme: Benchsite keeps its rows in PostgreSQL only.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ValueError(f"DATABASE_URL must begin with postgresql://, not {parts.scheme or 'nothing'}://")

    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or parts.hostname or ""
    if host and not host.startswith("/"):
        options = {**TCP_LIVENESS, **options}
        options["options"] = f"{TCP_LIVENESS_OF_SERVER} {options.get('options', '')}".rstrip()

    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or options.pop("port", "")),
        "OPTIONS": options,
        "CONN_HEALTH_CHECKS": True,
    }


def broker_url(redis_url: str) -> str:
    """The URL of Redis for Celery's transport, which writes the address of a socket in its own way."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    user = parts.netloc  # "user:password@" or nothing
    return f"redis+socket://{user}{parts.path}?virtual_host={dict(parse_qsl(parts.query)).get('db', '0')}"
