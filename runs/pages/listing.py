"""The runs list: a filter that lives in the URL, and the query it means."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import F, Func, QuerySet, TextField
from django.db.models.expressions import OrderBy
from django.http import QueryDict

from benchsite.teams.models import Team
from runs.models import Matrix, Run, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase, Status, Verdict
from runs.pages.searching import mentions

PER_PAGE = 50
MOST_ROWS_IN_CSV = 50_000
MOST_CHOICES = 100  # of one menu
MOST_TAGGED = 1_000  # runs, the newest, whose tags are offered
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
class RunFilter:
    """Which runs are asked for. Every field is one parameter of the URL; empty means no restriction.

    `phase` is "measure" unless the URL says otherwise, because loads are a means; "any" shows both.
    """

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

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, str]) -> Self:
        """Reads the URL; a value that cannot be meant falls back to no restriction instead of an empty page."""
        given = {f.name: _clean(query.get(f.name) or "") for f in fields(cls) if query.get(f.name)}
        asked = cls(**given)
        return replace(
            asked,
            status=asked.status if asked.status in {*Status.values, ACTIVE} else "",
            verdict=asked.verdict if asked.verdict in {*Verdict.values, "none", EXCLUDED} else "",
            phase=asked.phase if asked.phase in {*Phase.values, "any"} else Phase.MEASURE.value,
            purpose=asked.purpose if asked.purpose in Purpose.values else "",
            source=asked.source if asked.source in Run.Source.values else "",
            matrix=_uuid(asked.matrix),
            sweep=_uuid(asked.sweep),
            sort=asked.sort if asked.sort in SORTS else "newest",
        )

    def query(self, **changes: str) -> str:
        """The query string, only with what differs from the defaults and in one order, so that equal lists have
        equal addresses."""
        changed = replace(self, **changes)
        plain = type(self)()
        return urlencode(
            [(f.name, v) for f in fields(self) if (v := getattr(changed, f.name)) != getattr(plain, f.name)]
        )

    @property
    def active(self) -> dict[str, str]:
        """What is restricted, for chips that take one restriction away; sorting is no restriction."""
        plain = type(self)()
        names = [f.name for f in fields(self) if f.name != "sort"]
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(plain, name)}

    def apply(self, team: Team) -> QuerySet[Run]:
        """The team's runs that this filter lets through, in its order."""
        runs = Run.objects.filter(team=team)
        for column, value in (
            ("system", self.system), ("mode", self.mode), ("workload_name", self.workload), ("purpose", self.purpose),
            ("source", self.source), ("matrix_id", self.matrix), ("sweep_id", self.sweep),
        ):  # fmt: skip
            if value:
                runs = runs.filter(**{column: value})
        if self.tag:
            runs = runs.filter(tags__contains=[self.tag])
        if self.phase != "any":
            runs = runs.filter(phase=self.phase)
        runs = _with_status(runs, self.status)
        runs = _with_verdict(runs, self.verdict)
        for word in self.q.split()[:8]:
            runs = runs.filter(mentions(team, word))
        return runs.order_by(*[_nulls_last(name) for name in SORTS[self.sort]], "pk")


def _with_status(runs: QuerySet[Run], status: str) -> QuerySet[Run]:
    if status == ACTIVE:
        return runs.exclude(status__in=Status.terminal())
    return runs.filter(status=status) if status else runs


def _with_verdict(runs: QuerySet[Run], verdict: str) -> QuerySet[Run]:
    if verdict == EXCLUDED:
        return runs.exclude(excluded_reason="")
    return runs.filter(verdict="" if verdict == "none" else verdict) if verdict else runs


def _nulls_last(name: str) -> str | OrderBy:
    if name.lstrip("-") != "throughput_ops_s":
        return name
    column = F("throughput_ops_s")
    return column.desc(nulls_last=True) if name.startswith("-") else column.asc(nulls_last=True)


def _clean(value: str) -> str:
    # PostgreSQL refuses NUL in text; a pasted one is nothing that could be found.
    return value.replace("\x00", "").strip()[:200]


def _uuid(value: str) -> str:
    try:
        return str(UUID(value)) if value else ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filter's menus offer: only what the team's runs hold."""

    systems: tuple[str, ...]
    modes: tuple[str, ...]
    workloads: tuple[str, ...]
    tags: tuple[str, ...]  # of the runs that were tagged last
    matrices: tuple[tuple[str, str], ...]


def choices(team: Team) -> Choices:
    """Three queries, whatever the number of runs: every run is of a sweep, and of those there are few."""
    held = list(Sweep.objects.filter(team=team).order_by().values_list("system", "mode", "workload_name").distinct())
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-created_at")
    return Choices(
        systems=tuple(sorted({system for system, _, _ in held})),
        modes=tuple(sorted({mode for _, mode, _ in held})),
        workloads=tuple(sorted({workload for _, _, workload in held if workload})),
        tags=_tags(team),
        matrices=tuple((str(key), name) for key, name in matrices.values_list("pk", "name")[:MOST_CHOICES]),
    )


def _tags(team: Team) -> tuple[str, ...]:
    tagged = Run.objects.filter(team=team).exclude(tags=[]).order_by("-created_at").values("pk")[:MOST_TAGGED]
    each = Func("tags", function="unnest", output_field=TextField())
    tags = Run.objects.filter(pk__in=tagged).order_by().annotate(tag=each).values_list("tag", flat=True).distinct()
    return tuple(sorted(tags[:MOST_CHOICES]))
