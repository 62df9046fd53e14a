"""The database that every test database is a copy of: migrating takes some ten seconds, copying a tenth of one.

It stays in the session's own PostgreSQL under `var/test`, named by what the migrations say, so it is made once for each
state of them.
"""

import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from django.apps import apps
from django.conf import settings

PREFIX = "migrated_"
UNFINISHED = "migrating"


def name_of_migrated() -> str:
    """Its name, which changes with any migration of any app: ours, Django's or a library's."""
    says = hashlib.sha256(version("django").encode())
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path, "migrations").glob("*.py")):
            says.update(f"{app.label} {path.name}\n".encode() + path.read_bytes())
    return PREFIX + says.hexdigest()[:24]


def make_migrated(url: str) -> str:
    """Makes it in the server at this URL, in the place of those of other migrations; returns its name."""
    name = name_of_migrated()
    with psycopg.connect(_other(url, "postgres"), autocommit=True) as server:
        rows = server.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{PREFIX}%"]).fetchall()
        found = [row for (row,) in rows]
        if name not in found:
            for stale in [UNFINISHED, *found]:
                server.execute(f"DROP DATABASE IF EXISTS {stale} WITH (FORCE)".encode())
            server.execute(f"CREATE DATABASE {UNFINISHED}".encode())
            _migrate(_other(url, UNFINISHED))
            # Its name comes last: what was left half made is never copied.
            server.execute(f"ALTER DATABASE {UNFINISHED} RENAME TO {name}".encode())
    return name


def _other(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _migrate(url: str) -> None:
    argv = [sys.executable, "-W", "ignore", str(settings.BASE_DIR / "manage.py"), "migrate", "--verbosity", "0"]
    subprocess.run(argv, env={**os.environ, "DATABASE_URL": url}, cwd=settings.BASE_DIR, check=True)
