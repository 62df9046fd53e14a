"""Uploaded runs of the very output that another upload brought before, or since."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, FilteredRelation, OuterRef, Q, QuerySet

from runs.models import Artifact, Run

Output = tuple[Any, ...]


def find_duplicates(runs: Sequence[Run]) -> dict[Run, list[Run]]:
    """For each uploaded run those that other uploads made of the same output, the oldest first; two queries.

    The files of the clients are equal, and so is the throughput over whole runs, since a file can hold several runs.
    """
    uploaded = {run.pk: run for run in runs if run.source == Run.Source.UPLOADED}
    outputs = (
        {run.pk: _get_output(run) for run in _with_outputs(Run.objects.filter(pk__in=uploaded))} if uploaded else {}
    )
    digests = set(chain.from_iterable(files for *_, files in outputs.values()))
    if not digests:
        return {}
    of_same_files = Artifact.objects.filter(sha256__in=digests, client_run__isnull=False).values("run")
    candidates = Run.objects.filter(pk__in=of_same_files, team=runs[0].team_id, source=Run.Source.UPLOADED)
    others = [(_get_output(run), run) for run in _with_outputs(candidates)]
    duplicates = {}
    for key, output in outputs.items():
        run = uploaded[key]
        same = [other for other_output, other in others if other_output == output and other.upload_id != run.upload_id]
        if same:
            duplicates[run] = same
    return duplicates


def find_earlier(runs: Sequence[Run]) -> dict[Run, Run]:
    """The first run of the same output, of each that is a duplicate of an earlier one; two queries."""
    return {
        run: first
        for run, (first, *_) in find_duplicates(runs).items()
        if (first.created_at, first.pk) < (run.created_at, run.pk)
    }


def _with_outputs(runs: QuerySet[Run]) -> QuerySet[Run]:
    digests = Artifact.objects.filter(run=OuterRef("pk"), client_run__isnull=False).order_by("sha256").values("sha256")
    current = FilteredRelation("measurement_sets", condition=Q(measurement_sets__is_current=True))
    rows = runs.annotate(
        current=current, printed_ops_s=F("current__throughput_sum_ops_s"), files=ArraySubquery(digests)
    )
    return rows.only("name", "phase", "upload", "created_at", "team").order_by("created_at", "pk")


def _get_output(run: Any) -> Output:
    return run.phase, run.printed_ops_s, run.files
