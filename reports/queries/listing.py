"""The list of sweeps: a filter that lives in the address, and the rows it means."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models import Value as V
from django.db.models.functions import Concat
from django.http import QueryDict

from benchsite.teams.models import Team
from reports.queries.choosing import sweeps_of
from runs.models import Matrix, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase

SORTS: dict[str, tuple[str, ...]] = {
    "newest": ("-created_at", "name"),
    "oldest": ("created_at", "name"),
    "name": ("name", "-created_at"),
}
MOST_WORDS = 8
MOST_CHOICES = 100


@dataclass(frozen=True, slots=True)
class SweepFilter:
    """Which sweeps are asked for. Every field is one parameter of the address; empty means no restriction."""

    q: str = ""
    system: str = ""
    mode: str = ""
    workload: str = ""
    purpose: str = ""
    matrix: str = ""
    phase: str = Phase.MEASURE.value
    tag: str = ""
    sort: str = "newest"

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, str]) -> Self:
        """What the address says; a value that cannot be meant is no restriction instead of an empty page."""
        given = {f.name: text for f in fields(cls) if (text := _clean(query.get(f.name) or ""))}
        asked = cls(**given)
        return replace(
            asked,
            purpose=asked.purpose if asked.purpose in Purpose.values else "",
            matrix=_uuid(asked.matrix),
            phase=asked.phase if asked.phase in {*Phase.values, "any"} else Phase.MEASURE.value,
            sort=asked.sort if asked.sort in SORTS else "newest",
        )

    def query(self) -> str:
        """The query string: only what differs from the defaults, in one order."""
        plain = type(self)()
        return urlencode(
            [(f.name, value) for f in fields(self) if (value := getattr(self, f.name)) != getattr(plain, f.name)]
        )

    @property
    def active(self) -> bool:
        """Whether anything but the order is restricted."""
        return replace(self, sort="newest") != type(self)()

    def apply(self, team: Team) -> QuerySet[Sweep]:
        """The team's sweeps that this filter lets through, in its order."""
        rows = sweeps_of(team)
        for column, value in (
            ("system", self.system),
            ("mode", self.mode),
            ("workload_name", self.workload),
            ("purpose", self.purpose),
            ("matrix_id", self.matrix),
        ):
            if value:
                rows = rows.filter(Q((column, value)))
        if self.phase != "any":
            rows = rows.filter(phase=self.phase)
        if self.tag:
            rows = rows.filter(tags__contains=[self.tag])
        if words := self.q.split()[:MOST_WORDS]:
            rows = rows.alias(said=SAID)
            for word in words:
                rows = rows.filter(_mentions(word, team))
        return rows.order_by(*SORTS[self.sort], "pk")


# What most people remember of a sweep, as one text: it is put together and searched once, whatever the word.
SAID = Concat("name", V(" "), "database_name", V(" "), "version", V(" "), "cluster_name", V(" "), "workload_name")


def _mentions(word: str, team: Team) -> Q:
    """Whatever a person remembers of a sweep. Of the matrices' names only the team's own are read."""
    matrices = Matrix.objects.filter(team=team, name__icontains=word)
    return (
        Q(said__icontains=word)
        | (~Q(notes="") & Q(notes__icontains=word))
        | Q(tags__contains=[word.lower()])
        | Q(matrix__in=matrices.values("pk"))
    )


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()[:200]


def _uuid(text: str) -> str:
    try:
        return str(UUID(text)) if text else ""
    except ValueError:
        return ""


def sweep_choices(team: Team) -> dict[str, list[Any]]:
    """What the filter's menus offer: only what the team's sweeps hold. Three queries, whatever their number."""
    rows = sweeps_of(team).order_by()
    held = list(rows.values_list("system", "mode", "workload_name").distinct())
    tagged = rows.exclude(tags=[]).values_list("tags", flat=True).distinct()[: 5 * MOST_CHOICES]
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-submitted_at")
    return {
        "systems": sorted({system for system, _, _ in held}),
        "modes": sorted({mode for _, mode, _ in held}),
        "workloads": sorted({workload for _, _, workload in held if workload}),
        "tags": sorted({tag for tags in tagged for tag in tags}),
        "matrices": [(str(pk), name) for pk, name in matrices.values_list("pk", "name")[:MOST_CHOICES]],
    }
