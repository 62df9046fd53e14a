"""What a word means in the search of runs, so that a million of them need not be read for it.

Most of what people remember of a run - system, database, version, cluster, workload, matrix - is the same for all runs
of a sweep, and of sweeps there are few. What is a run's own is found by an index each.
"""

import re
from typing import Any

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat

from benchsite.teams.models import Team
from runs.catalog import load_catalog
from runs.models import Matrix, Sweep

# So many keys are looked up one by one; of more, every second run is meant anyhow.
MAX_KEYS = 500
THREADS = re.compile(r"([0-9]{1,9})t")
TARGET = re.compile(r"@([0-9]{1,9})")
# One text instead of five to search in.
SAID = Concat(
    "name", Value(" "), "database_name", Value(" "), "version", Value(" "), "cluster_name", Value(" "), "workload_name"
)
REPEAT = re.compile(r"r([0-9]{1,4})")


def mentions(team: Team, word: str) -> Q:
    """Name, notes, tag, reason, matrix, commit, database and its version, cluster: whatever a person remembers.

    The end of a run's name is read as what it says: "16t", "@5000" and "r2" are threads, target and repeat.
    Two queries.
    """
    found = (
        _among("sweep", _sweeps(team, word))
        | _among("matrix", Matrix.objects.filter(team=team, name__icontains=word))
        | Q(tags__contains=[word.lower()])
        # Few runs have any of these: each has an index over those that do.
        | ~Q(notes="") & Q(notes__icontains=word)
        | ~Q(reason_detail="") & Q(reason_detail__icontains=word)
        | ~Q(commit="") & (Q(commit__startswith=word) | Q(commit__startswith=word.lower()))
    )
    for pattern, column in ((THREADS, "threads"), (TARGET, "target_ops_s"), (REPEAT, "repeat")):
        if number := pattern.fullmatch(word):
            found |= Q((column, int(number[1])))
    return found


def _sweeps(team: Team, word: str) -> QuerySet[Sweep]:
    systems = [slug for slug, system in load_catalog().systems.items() if word.casefold() in system.name.casefold()]
    rows = Sweep.objects.filter(team=team).alias(said=SAID)
    return rows.filter(Q(said__icontains=word) | Q(system__in=systems))


def _among(column: str, rows: QuerySet[Any]) -> Q:
    """By their keys where these are few, so that PostgreSQL can use the index of the column."""
    keys = list(rows.order_by().values_list("pk", flat=True)[: MAX_KEYS + 1])
    return Q((f"{column}__in", rows.values("pk") if len(keys) > MAX_KEYS else keys))
