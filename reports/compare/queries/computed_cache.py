"""Computed values under a digest of the rows they were made of: curves in PostgreSQL, the rest in Django's cache.

The same digests are ETags. PostgreSQL tells of every version of a row which transaction wrote it (`xmin`) and where
(`ctid`), so a digest over them changes with every change of any column, with every new row and with every row that is
gone. Nothing is invalidated: an outdated key is no longer used, and its entry expires, or is replaced by the next curve
of the sweep. Without Redis all but the curves is computed.
"""

import hashlib
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache as once
from itertools import chain
from typing import Any, Final, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import Model

from benchsite.accounts.models import Team
from reports.compare.packing import pack, unpack
from runs.ycsb import ALGORITHM_VERSION, READER_VERSION

EXPIRES_S: Final = 24 * 3600
MAX_ENTRY_BYTES: Final = 4 * 2**20  # larger values are computed each time
# Whose files decide what is in an entry.
PACKAGES: Final = ("benchsite", "reports", "runs", "templates", "workers/systems")
SUFFIXES: Final = (".py", ".html", ".txt", ".svg", ".md", ".toml", ".csv")

T = TypeVar("T")
logger = logging.getLogger(__name__)

# A sum, so that no row has to be sorted. Measurements are written with their set and never again, a finding that is
# judged again with its run; clients write theirs before their run ends, which changes the run.
OF_ROWS: Final = "coalesce(sum(hashtextextended(concat_ws(' ', {table}.id, {table}.xmin, {table}.ctid), 0)), 0)"
# In another cluster of PostgreSQL, as after a restored dump, the same `xmin` and `ctid` may stand for other values.
_BY_SWEEP: Final = f"""
SELECT s.id,
       {{stored}},
       (SELECT system_identifier FROM pg_control_system()),
       concat_ws(' ', s.xmin, s.ctid),
       concat_ws(' ', m.xmin, m.ctid),
       concat_ws(' ', d.xmin, d.ctid),
       concat_ws(' ', w.xmin, w.ctid),
       r.number, r.digest, r.sets, r.set_digest
  FROM runs_sweep s
  LEFT JOIN runs_matrix m ON m.id = s.matrix_id
  LEFT JOIN runs_database d ON d.id = s.database_id
  LEFT JOIN runs_workload w ON w.id = s.workload_id
  LEFT JOIN reports_storedcurve p ON p.sweep_id = s.id
  LEFT JOIN LATERAL (
       SELECT count(*) AS number, {OF_ROWS.format(table="runs_run")}::text AS digest,
              count(c.id) AS sets, {OF_ROWS.format(table="c")}::text AS set_digest
         FROM runs_run
         LEFT JOIN runs_measurementset c ON c.run_id = runs_run.id AND c.is_current
        WHERE runs_run.sweep_id = s.id
  ) r ON true
 WHERE s.id = ANY(%s)
"""


def sweep_digests(sweeps: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Sweep -> a digest of every row that its curve is made of; one query."""
    return {sweep: digest for sweep, digest, _, _ in stored_values(sweeps, "NULL")}


def stored_values(sweeps: Iterable[uuid.UUID], column: str) -> list[tuple[uuid.UUID, str, str | None, bytes | None]]:
    """For each sweep the digest of its rows, and key and `column` of its StoredCurve, if it has one; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_SWEEP.format(stored=f"p.key, {column}"), [list(sweeps)])
        return [(row[0], _sha(row[3:]), row[1], row[2]) for row in cursor.fetchall()]


def rows_digest(model: type[Model], team: Team) -> str:
    """A digest of all rows that a team has in a small table; one query."""
    quoted = connection.ops.quote_name(model._meta.db_table)
    text = OF_ROWS.format(table=quoted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*), {text}::text FROM {quoted} WHERE team_id = %s", [team.pk])
        return _sha(cursor.fetchone())


# What a figure of one run is drawn from beside its row, by the column that names the run.
_OF_RUN: Final = ("runs_measurementset", "runs_series", "runs_artifact", "runs_runevent", "runs_clientrun")


def sweeps_version(sweeps: Sequence[uuid.UUID]) -> str:
    """A digest of these sweeps' curves; one query."""
    return _sha(sorted((str(key), digest) for key, digest in sweep_digests(sweeps).items()))


def run_version(run: uuid.UUID) -> str:
    """A digest of the rows that a figure of one run is drawn from; one query."""
    tables = ("runs_run", *_OF_RUN)
    texts = (
        f"(SELECT concat_ws(' ', count(*), {OF_ROWS.format(table=table)})"
        f" FROM {table} WHERE {'id' if table == 'runs_run' else 'run_id'} = %s)"
        for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(texts)}", [run] * len(tables))
        return _sha(cursor.fetchone())


def build_key(team_id: uuid.UUID, *parts: object) -> str:
    """The key of one entry of one team, for the code that runs now."""
    return f"reports:{_sha((_code(), str(team_id), *parts))}"


def get_or_compute(key: str, kind: Any, make: Callable[[], T], *, keep: Callable[[T], bool] = lambda value: True) -> T:
    """The entry of that key, of the type `kind`; made where there is none, and kept where `keep` allows it."""
    cached = cached_values({key: key}, kind)
    if key in cached:
        return cached[key]  # type: ignore[no-any-return]
    value = make()
    if keep(value):
        cache_values({key: value})
    return value


def cached_values(keys: Mapping[Any, str], kind: Any) -> dict[Any, Any]:
    """The entries of these keys, of the type `kind`, by what the keys stand for; none if the cache does not answer."""
    try:
        entries = cache.get_many(keys.values())
    except Exception:
        logger.warning("The cache cannot be read; pages are computed without it.")
        return {}

    values = {}
    for name, key in keys.items():
        try:
            if key in entries:
                values[name] = unpack(entries[key], kind)
        except ValueError as error:
            logger.warning("An entry of the cache cannot be read and is computed again (%s).", error)

    return values


def cache_values(entries: Mapping[str, Any]) -> None:
    """Keep these for a day."""
    packed = {key: pack(value) for key, value in entries.items()}
    try:
        cache.set_many({key: data for key, data in packed.items() if len(data) <= MAX_ENTRY_BYTES}, EXPIRES_S)
    except Exception:
        logger.warning("The cache cannot be written.")


@once
def _code() -> str:
    """A digest of the release: the versions of what computes, and the files that decide what a page says.

    By their content, so that all machines of a site use one entry, and a release that is installed again uses its own.
    """
    root = settings.BASE_DIR
    every = chain.from_iterable((root / package).rglob("*") for package in PACKAGES)
    files = sorted(path for path in every if path.suffix in SUFFIXES)
    facts = [(str(path.relative_to(root)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]
    return _sha((READER_VERSION, ALGORITHM_VERSION, facts))


def _sha(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
