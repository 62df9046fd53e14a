"""The runs list: a filter that lives in the URL, and the query it means."""

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, QuerySet, TextField
from django.db.models.expressions import OrderBy

from benchsite.teams.models import Team
from runs.models import Matrix, Run, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase, Status, Verdict
from runs.pages.filters import AddressFilter
from runs.pages.run_search import mentions

PER_PAGE = 50
MAX_ROWS_IN_CSV = 50_000
MAX_CHOICES = 100  # of one menu
MAX_TAGGED = 1_000  # runs, the newest, whose tags are offered
# What a list never needs: the whole submitted spec and the conductor's evidence.
HEAVY = ("spec", "evidence")
ACTIVE = "active"
EXCLUDED = "excluded"

SORTS: dict[str, tuple[str, ...]] = {
    "newest": ("-created_at", "position"),
    "oldest": ("created_at", "position"),
    "name": ("name", "-created_at"),
    "fastest": ("-throughput_ops_s", "-created_at"),
    "slowest": ("throughput_ops_s", "-created_at"),
}


@dataclass(frozen=True, slots=True)
class RunFilter(AddressFilter):
    """Which runs are asked for."""

    q: str = ""
    status: str = ""
    verdict: str = ""
    system: str = ""
    mode: str = ""
    workload: str = ""
    phase: str = Phase.MEASURE.value
    purpose: str = ""
    source: str = ""
    matrix: str = ""
    sweep: str = ""
    tag: str = ""
    sort: str = "newest"

    COLUMNS = {
        "system": "system",
        "mode": "mode",
        "workload": "workload_name",
        "purpose": "purpose",
        "source": "source",
        "matrix": "matrix_id",
        "sweep": "sweep_id",
    }
    CHOICES = {
        "status": {*Status.values, ACTIVE},
        "verdict": {*Verdict.values, "none", EXCLUDED},
        "purpose": Purpose.values,
        "source": Run.Source.values,
        "sort": SORTS,
    }
    IDS = ("matrix", "sweep")

    def apply(self, team: Team) -> QuerySet[Run]:
        """The team's runs that this filter lets through, in its order."""
        runs = self.narrowed(Run.objects.filter(team=team))
        if self.tag:
            runs = runs.filter(tags__contains=[self.tag])
        if self.status == ACTIVE:
            runs = runs.exclude(status__in=Status.terminal())
        elif self.status:
            runs = runs.filter(status=self.status)
        if self.verdict == EXCLUDED:
            runs = runs.exclude(excluded_reason="")
        elif self.verdict:
            runs = runs.filter(verdict="" if self.verdict == "none" else self.verdict)
        for word in self.words:
            runs = runs.filter(mentions(team, word))
        return runs.order_by(*[_nulls_last(name) for name in SORTS[self.sort]], "pk")


def _nulls_last(name: str) -> str | OrderBy:
    if name.lstrip("-") != "throughput_ops_s":
        return name
    column = F("throughput_ops_s")
    return column.desc(nulls_last=True) if name.startswith("-") else column.asc(nulls_last=True)


def choices(team: Team) -> dict[str, list[Any]]:
    """What the filter's menus offer: only what the team's runs hold.

    Three queries, whatever the number of runs: every run is of a sweep, and of those there are few.
    """
    held = list(Sweep.objects.filter(team=team).order_by().values_list("system", "mode", "workload_name").distinct())
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-created_at")
    tagged = Run.objects.filter(team=team).exclude(tags=[]).order_by("-created_at").values("pk")[:MAX_TAGGED]
    each = Func("tags", function="unnest", output_field=TextField())
    tags = Run.objects.filter(pk__in=tagged).order_by().annotate(tag=each).values_list("tag", flat=True).distinct()
    return {
        "systems": sorted({system for system, _, _ in held}),
        "modes": sorted({mode for _, mode, _ in held}),
        "workloads": sorted({workload for _, _, workload in held if workload}),
        "tags": sorted(tags[:MAX_CHOICES]),  # of the runs that were tagged last
        "matrices": [(str(key), name) for key, name in matrices.values_list("pk", "name")[:MAX_CHOICES]],
    }
