"""In which version the rows of a figure are: a digest that changes with every row that it is drawn from.

As in `computed_cache`, by what PostgreSQL says of each version of a row; nothing is worked out for it.
"""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Final

from django.db import connection

from reports.queries.computed_cache import OF_ROWS, sweep_digests

# What a figure of one run is drawn from beside its row, by the column that names the run.
_OF_RUN: Final = ("runs_measurementset", "runs_series", "runs_artifact", "runs_runevent", "runs_clientrun")


def sweeps_version(sweeps: Sequence[uuid.UUID], *, with_series: bool = False) -> str:
    """Of these sweeps' curves; `with_series` of the stored series of their runs too. One query, or two."""
    held = sorted((str(key), digest) for key, digest in sweep_digests(sweeps).items())
    return _sha([held, _series(sweeps) if with_series else ()])


def run_version(run: uuid.UUID) -> str:
    """Of everything that a figure of one run is drawn from; one query."""
    tables = ("runs_run", *_OF_RUN)
    texts = (
        f"(SELECT concat_ws(' ', count(*), {OF_ROWS.format(table=table)})"
        f" FROM {table} WHERE {'id' if table == 'runs_run' else 'run_id'} = %s)"
        for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(texts)}", [run] * len(tables))
        return _sha(cursor.fetchone())


def _series(sweeps: Sequence[uuid.UUID]) -> object:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), {OF_ROWS.format(table='runs_series')}::text FROM runs_series"
            " JOIN runs_run ON runs_run.id = runs_series.run_id WHERE runs_run.sweep_id = ANY(%s)",
            [list(sweeps)],
        )
        return cursor.fetchone()


def _sha(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
