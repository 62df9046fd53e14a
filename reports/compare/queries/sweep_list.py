"""The list of sweeps: a filter that lives in the address, and the rows it means; and the rungs of one sweep."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet

from benchsite.accounts.models import Team
from reports.compare.curves import Curve
from reports.compare.queries.sweep_selection import get_sweeps, one_per_test
from runs.models import Matrix, Run, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase
from runs.results.pages.lists import AddressFilter
from runs.results.pages.run_list import SEARCH_TEXT

SORTS: dict[str, tuple[str, ...]] = {
    "newest": ("-created_at", "name"),
    "oldest": ("created_at", "name"),
    "name": ("name", "-created_at"),
    "name-reversed": ("-name", "created_at"),
    # No column: the view sorts up to MAX_BY_CEILING sweeps by their curves.
    "highest": ("-created_at", "name"),
    "lowest": ("-created_at", "name"),
}
MAX_BY_CEILING = 500
MAX_CHOICES = 100
MIN_COMMIT = 4  # characters


@dataclass(frozen=True, slots=True)
class SweepFilter(AddressFilter):
    """Which sweeps are asked for."""

    q: str = ""
    system: str = ""
    mode: str = ""
    workload: str = ""
    purpose: str = ""
    matrix: str = ""
    phase: str = Phase.MEASURE.value
    tag: str = ""
    commits: str = "newest"
    sort: str = "newest"

    COLUMNS = {
        "system": "system",
        "mode": "mode",
        "workload": "workload_name",
        "purpose": "purpose",
        "matrix": "matrix_id",
    }
    CHOICES = {"purpose": Purpose.values, "commits": ("newest", "all"), "sort": SORTS}
    IDS = ("matrix",)

    def apply(self, team: Team) -> QuerySet[Sweep]:
        """The team's sweeps that this filter lets through, in its order."""
        rows = self.narrowed(get_sweeps(team))
        if self.tag:
            rows = rows.filter(tags__contains=[self.tag])
        if words := self.words:
            rows = rows.alias(search_text=SEARCH_TEXT)
            for word in words:
                rows = rows.filter(_mentions(word, team))
        # Who looks for a commit finds it, though the test was measured at a newer one since.
        if self.commits == "newest" and not any(_is_commit(word, team) for word in self.words):
            rows = one_per_test(rows, team)
        return rows.order_by(*SORTS[self.sort], "pk")


def _runs_at(word: str, team: Team) -> QuerySet[Run]:
    return Run.objects.filter(team=team, commit__istartswith=word).exclude(commit="")


def _is_commit(word: str, team: Team) -> bool:
    return len(word) >= MIN_COMMIT and _runs_at(word, team).exists()


def _mentions(word: str, team: Team) -> Q:
    """Whatever a person remembers of a sweep. Of the matrices' names only the team's own are read."""
    matrices = Matrix.objects.filter(team=team, name__icontains=word)
    return (
        Q(search_text__icontains=word)
        | (~Q(notes="") & Q(notes__icontains=word))
        | Q(tags__contains=[word.lower()])
        | Q(pk__in=_runs_at(word, team).values("sweep"))
        | Q(matrix__in=matrices.values("pk"))
    )


def sweep_choices(team: Team) -> dict[str, list[Any]]:
    """What the filter's menus offer: only what the team's sweeps hold. Three queries, whatever their number."""
    rows = get_sweeps(team).order_by()
    held = list(rows.values_list("system", "mode", "workload_name").distinct())
    tagged = rows.exclude(tags=[]).values_list("tags", flat=True).distinct()[: 5 * MAX_CHOICES]
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-submitted_at")
    return {
        "systems": sorted({system for system, _, _ in held}),
        "modes": sorted({mode for _, mode, _ in held}),
        "workloads": sorted({workload for _, _, workload in held if workload}),
        "tags": sorted({tag for tags in tagged for tag in tags}),
        "matrices": [(str(pk), name) for pk, name in matrices.values_list("pk", "name")[:MAX_CHOICES]],
    }


def rung_rows(sweep: Sweep, curve: Curve) -> list[dict[str, Any]]:
    """Each rung with its point, where one was measured, and its runs by their repeats. One query."""
    points = {(point.target_ops_s or 0, point.threads): point for point in curve.points}
    rungs: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in sweep.runs.defer("spec", "evidence").order_by("repeat", "created_at"):
        rungs[(run.target_ops_s or 0, run.threads)].append(run)
    return [
        {"threads": threads, "target_ops_s": target or None, "point": points.get((target, threads)), "runs": runs}
        for (target, threads), runs in sorted(rungs.items(), key=lambda item: item[0])
    ]


def last_evidence(sweep: Sweep) -> Mapping[str, Any] | None:
    """What the newest ended run of a sweep found out about its server: version and disk probe; one query."""
    newest = sweep.runs.filter(evidence__has_key="server_version").order_by("-finished_at")
    return newest.values("pk", server_version=F("evidence__server_version"), disk=F("evidence__disk")).first()
