"""Where a text lies: in files below a folder, in tables of the site's database."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psycopg

from benchsite.tests.databases import database_url


def files_with(secrets: Iterable[str], folder: Path) -> set[Path]:
    """The files below the folder that hold one of the secrets."""
    paths = set()
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with suppress(OSError):
                if path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets):
                    paths.add(path)
    return paths


def tables_with(secrets: Iterable[str]) -> list[str]:
    with psycopg.connect(database_url()) as database:
        tables = database.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return [
            table
            for (table,) in tables.fetchall()
            for secret in secrets
            if database.execute(
                f'SELECT 1 FROM "{table}" row WHERE strpos(row::text, %s) > 0 LIMIT 1', [secret]
            ).fetchone()
        ]
