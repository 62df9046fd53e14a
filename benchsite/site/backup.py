"""Artifacts copied out of the storage and back, and a fingerprint that tells whether a restored site is the same.

The database is saved by PostgreSQL's own pg_dump, first; then the artifacts. They lie under the hash of their content
and are only added, so every row of the dump finds its content in a copy made after it.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from django.core.files.base import File
from django.db import connection
from django.db.models.base import ModelBase

from reports.models import Baseline, BaselineRun, Report, ReportLink, ReportPicture, ReportRevision
from runs.models import Artifact, Finding, Measurement, MeasurementSet, Run, Series, UploadedFile
from runs.results import artifacts

Tick = Callable[[str], object]
# What a restored site must have as it was, to the byte.
TABLES: Final[tuple[ModelBase, ...]] = (
    *(Run, MeasurementSet, Measurement, Series, Finding, Artifact, UploadedFile),
    *(Report, ReportLink, ReportRevision, ReportPicture, Baseline, BaselineRun),
)


def digests() -> Iterator[str]:
    """The hash of every content that some row has, each once."""
    rows = Artifact.objects.values_list("sha256").union(UploadedFile.objects.exclude(sha256="").values_list("sha256"))
    for (digest,) in rows.order_by("sha256").iterator():
        yield digest


def _follow(tick: Tick) -> Iterator[str]:
    """Every content, with the number of those before it as what a step is at."""
    total = sum(1 for _ in digests())
    for number, digest in enumerate(digests()):
        tick(f"{number:,} of {total:,}")
        yield digest


def copy_to(folder: Path, tick: Tick) -> tuple[int, int]:
    """Copies what the folder lacks; answers how many contents were copied, and how many the storage has lost."""
    copied = lost = 0
    folder.mkdir(parents=True, exist_ok=True)
    for digest in _follow(tick):
        place = folder / get_path(digest)
        if place.exists():
            continue

        place.parent.mkdir(exist_ok=True)
        draft = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with artifacts.storage().open(get_path(digest)) as stored, draft.open("wb") as file:
                shutil.copyfileobj(stored, file, artifacts.CHUNK)
        except FileNotFoundError:
            lost += 1
            continue

        draft.rename(place)
        copied += 1

    return copied, lost


class DatabaseNotRestored(Exception):
    """The copy has contents and the database names none."""


def copy_from(folder: Path, tick: Tick) -> tuple[int, int]:
    """Puts into the storage what it lacks; answers how many contents were put, and how many the folder lacks too.

    Raises DatabaseNotRestored before it writes anything.
    """
    put = lost = 0
    if any(folder.glob("??/*")) and not any(digests()):
        raise DatabaseNotRestored

    artifacts.mark_storage()
    for digest in _follow(tick):
        if artifacts.storage().exists(get_path(digest)):
            continue
        try:
            with (folder / get_path(digest)).open("rb") as file:
                artifacts.storage().save(get_path(digest), File(file))
        except FileNotFoundError:
            lost += 1
            continue
        put += 1

    return put, lost


def wrong_content(tick: Tick) -> Iterator[tuple[str, str]]:
    """Every content that is missing or is not what was stored, with the reason. Reads everything."""
    for digest in _follow(tick):
        try:
            for _ in artifacts.chunks(digest):
                pass
        except OSError as error:
            yield digest, str(error)


def fingerprints() -> Iterator[tuple[str, str]]:
    """Table and SHA-256 of its rows in the order of their keys; the rows pass through, none is held."""
    for model in TABLES:
        meta = model._meta  # type: ignore[attr-defined]
        total = hashlib.sha256()
        with (
            connection.cursor() as cursor,
            cursor.copy(f'COPY (SELECT * FROM "{meta.db_table}" ORDER BY "{meta.pk.column}") TO STDOUT') as rows,
        ):
            for row in rows:
                total.update(row)
        yield meta.db_table, total.hexdigest()


def get_path(digest: str) -> str:
    """Where a content lies, in the storage and in a copy of it."""
    return artifacts._get_path(digest)
