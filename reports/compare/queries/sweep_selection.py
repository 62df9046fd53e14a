"""Which sweeps a selection means."""

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When

from benchsite.accounts.models import Team
from reports.compare.curves import PUBLISHABLE, Curve, in_order
from reports.compare.messages import MATRIX_MISSING
from reports.compare.queries.computed_cache import sweep_digests
from reports.compare.queries.curves import curves
from reports.compare.queries.run_pair import COUNTS
from reports.compare.selection import ALL, FACETS, SOURCES, Selection
from runs.models import Matrix, Phase, Purpose, Run, Status, Sweep
from runs.queue.pages.progress import annotate_state

# More sweeps than this make no picture that anybody can read.
MAX_SWEEPS = 60
# The facets that are columns of a sweep.
COLUMNS: Final = {
    "system": "system", "mode": "mode", "class": "durability_class", "workload": "workload_name",
    "cluster": "cluster_name", "version": "version", "purpose": "purpose",
}  # fmt: skip
PRELIMINARY = (Purpose.SMOKE, Purpose.TUNING)
COUNTED_FIRST = Case(When(COUNTS, then=Value(0)), default=Value(1))


def get_sweeps(team: Team) -> QuerySet[Sweep]:
    """Every sweep that a team may see."""
    return Sweep.objects.filter(team=team)


def get_sweeps_by_phase(team: Team, phase: str = "") -> QuerySet[Sweep]:
    """The sweeps that a comparison chooses from: loads only where they are asked for."""
    return get_sweeps(team).filter(phase=phase or Phase.MEASURE)


def one_per_test(rows: QuerySet[Sweep], team: Team) -> QuerySet[Sweep]:
    """Without older uploads of the same test at other commits: those are its history. Of the newest one with a run that
    counts, where there is any.
    """
    of_commits = Run.objects.filter(team=team, matrix=None).exclude(commit="").exclude(config_key="")
    by_age = of_commits.order_by("config_key", "purpose", COUNTED_FIRST, "-created_at", "-pk")
    newest = by_age.distinct("config_key", "purpose")
    has_commit = Exists(of_commits.filter(sweep=OuterRef("pk")))
    return rows.filter(Q(matrix__isnull=False) | ~has_commit | Q(pk__in=newest.values("sweep")))


@dataclass(frozen=True)
class Chosen:
    """The sweeps that a selection means; their curves are worked out when they are asked for."""

    sweeps: tuple[Sweep, ...]
    matrix: Matrix | None  # the one that it is about
    problems: tuple[str, ...]
    runs: tuple[uuid.UUID, ...] = ()  # the only points; none: all of these sweeps

    def digest(self) -> str:
        """Changes with every row that the comparison is made of; one query."""
        digests = sweep_digests([sweep.pk for sweep in self.sweeps])
        named = None
        if self.matrix:
            named = (self.matrix.pk, self.matrix.name)
        return repr((named, self.problems, [(sweep.pk, digests.get(sweep.pk)) for sweep in self.sweeps]))

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """In the order in which they are listed; at most nine queries, whatever the number of sweeps and runs."""
        return tuple(in_order(curves(self.sweeps, self.runs)))


def chosen(team: Team, selection: Selection) -> Chosen:
    """The team's sweeps that the selection means; two queries.

    Foreign and unknown ids are left out, with a sentence.
    """
    problems: list[str] = list(selection.problems)
    matrix = _matrix(team, selection, problems)
    rows = _chosen(team, selection, matrix)
    sweeps = list(rows.order_by("-created_at", "name")[: MAX_SWEEPS + 1])
    if len(sweeps) > MAX_SWEEPS:
        problems.append(f"More than {MAX_SWEEPS} sweeps match; the newest {MAX_SWEEPS} are shown. Choose fewer.")
        sweeps = sweeps[:MAX_SWEEPS]

    missing = len(selection.sweeps) - len(sweeps)
    # A facet or a day may leave out what the address names.
    narrowed = any(map(selection.facet, FACETS)) or selection.since or selection.until
    if selection.sweeps and missing > 0 and not narrowed:
        problems.append(
            f"{missing} of the {len(selection.sweeps)} chosen sweeps {'are' if missing > 1 else 'is'} not among your "
            f"team's; left out."
        )

    return Chosen(tuple(sweeps), matrix, tuple(problems), selection.runs)


def pinned(team: Team, selection: Selection) -> Selection:
    """The selection with the newest matrix by its id, so that it means the same tomorrow.

    For what others see by a link: a matrix that is submitted later is none of theirs.
    """
    if selection.sweeps or selection.matrix == ALL:
        return selection
    choice = chosen(team, selection)
    if choice.matrix is not None:
        return replace(selection, matrix=str(choice.matrix.pk))
    return replace(selection, matrix="", sweeps=tuple(sweep.pk for sweep in choice.sweeps))


def is_lost(team: Team, selection: Selection) -> bool:
    """Whether it names a matrix that the team does not have (any more), in the place of which another would stand."""
    key = selection.matrix_id
    return key is not None and not selection.sweeps and not _submitted(team).filter(pk=key).exists()


def _submitted(team: Team) -> QuerySet[Matrix]:
    return Matrix.objects.filter(team=team, submitted_at__isnull=False)


def _matrix(team: Team, selection: Selection, problems: list[str]) -> Matrix | None:
    """The matrix that the selection is about: the named one, else the latest study, as on the home page; where none is
    finished, the newest matrix with a run that counts, with a result, with sweeps.
    """
    if selection.sweeps or selection.matrix == ALL:
        return None
    matrices = _submitted(team)
    if selection.matrix_id:
        if named := matrices.filter(pk=selection.matrix_id).first():
            return named
        problems.append(MATRIX_MISSING)
    phase = selection.phase or Phase.MEASURE.value
    if study := find_latest_study(team, phase):
        return study
    newest = matrices.order_by("-submitted_at", "-pk")
    sweeps = Sweep.objects.filter(matrix=OuterRef("pk"), phase=phase)
    results = sweeps.filter(runs__throughput_ops_s__isnull=False)
    return _find_first(newest.filter(Exists(rows)) for rows in (_counted_runs(phase), results, sweeps))


def find_latest_study(team: Team, phase: str = Phase.MEASURE) -> Matrix | None:
    """The newest matrix that is finished and has a point that counts: what a visitor is shown first.

    A cancelled one only where no other is finished, those of PRELIMINARY only where no other finished one counts.
    Trials are none of them.
    """
    runs = annotate_state(Run.objects.filter(matrix=OuterRef("pk")))
    going, cancelled = runs.filter(status__in=Status.unfinished()), runs.filter(state="cancelled")
    submitted = _submitted(team).filter(trial_of=None).order_by("-submitted_at", "-pk")
    counted = submitted.filter(~Exists(going), Exists(_counted_runs(phase)))
    whole = counted.filter(~Exists(cancelled))
    return _find_first((whole.exclude(purpose__in=PRELIMINARY), whole, counted))


def _counted_runs(phase: str) -> QuerySet[Run]:
    return Run.objects.filter(COUNTS, matrix=OuterRef("pk"), phase=phase)


def _find_first(choices: Iterable[QuerySet[Matrix]]) -> Matrix | None:
    """The first row of the first choice that has any."""
    return next(filter(None, (rows.first() for rows in choices)), None)


def _chosen(team: Team, selection: Selection, matrix: Matrix | None) -> QuerySet[Sweep]:
    if selection.sweeps:
        rows = get_sweeps(team).filter(pk__in=selection.sweeps)
    else:
        rows = get_sweeps_by_phase(team, selection.phase)
        # A team without any matrix may have uploaded what it compares.
        rows = rows.filter(matrix=matrix) if matrix else rows

    if selection.matrix == ALL and not selection.sweeps and not selection.purposes:
        # Across matrices only what is meant to be compared, unless the address asks for the rest.
        rows = rows.filter(purpose__in=PUBLISHABLE)
    for name, column in COLUMNS.items():
        if values := selection.facet(name):
            rows = rows.filter(**{f"{column}__in": values})
    if selection.labels:
        rows = rows.filter(tags__overlap=list(selection.labels))
    if len(sources := set(selection.sources) & set(SOURCES)) == 1:  # what has no matrix was uploaded
        rows = rows.filter(matrix__isnull=Run.Source.UPLOADED in sources)
    rows = _within_days(rows, selection.since, selection.until)
    if matrix or selection.sweeps:
        return rows

    return one_per_test(rows, team)


def _within_days(rows: QuerySet[Sweep], since: dt.date | None, until: dt.date | None) -> QuerySet[Sweep]:
    """From the first moment of one day to the last of the other, in UTC."""
    if since:
        rows = rows.filter(created_at__gte=_midnight(since))
    if until and until < dt.date.max:
        rows = rows.filter(created_at__lt=_midnight(until + dt.timedelta(days=1)))
    return rows


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)
