"""The list of sweeps: a filter that lives in the address, and the rows it means; and the rungs of one sweep."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Any

from django.db.models import F, Q, QuerySet

from benchsite.accounts.models import Team
from reports.compare.curves import Curve
from reports.compare.queries.sweep_selection import get_sweeps, one_per_test
from runs.models import Matrix, Purpose, Run, Sweep
from runs.results.pages.lists import KeyMenu, ListFilter, Menu, Order, phase_menu, search_field
from runs.results.pages.run_list import MAX_CHOICES, SEARCH_TEXT, offer_sweeps_choices

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
MIN_COMMIT = 4  # characters


class SweepFilter(ListFilter):
    noun, plural = "sweep", "sweeps"
    q = search_field("name, note, tag …")
    system = Menu("System", "system")
    mode = Menu("Mode", "mode")
    workload = Menu("Workload", "workload_name")
    purpose = Menu("Purpose", "purpose", Purpose.choices)
    matrix = KeyMenu("Matrix", "matrix_id")
    phase = phase_menu()
    tag = Menu("Tag")
    commits = Menu("Commits", choices=[("newest", "the newest of each test"), ("all", "all")], initial="newest")
    sort = Order(SORTS)

    def apply(self, team: Team) -> QuerySet[Sweep]:
        """The team's sweeps that this filter lets through, in its order."""
        rows = self.narrow(get_sweeps(team))
        if self.values["tag"]:
            rows = rows.filter(tags__contains=[self.values["tag"]])
        if words := self.words:
            rows = rows.alias(search_text=SEARCH_TEXT)
            for word in words:
                rows = rows.filter(_mentions(word, team))
        # Who looks for a commit finds it, though the test was measured at a newer one since.
        if self.values["commits"] == "newest" and not any(_is_commit(word, team) for word in self.words):
            rows = one_per_test(rows, team)
        return self.order(rows, "pk")


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


def offer_choices(form: SweepFilter, team: Team) -> None:
    """Give the menus what the team's sweeps hold. Three queries, whatever their number."""
    rows = get_sweeps(team).order_by()
    tagged = rows.exclude(tags=[]).values_list("tags", flat=True).distinct()[: 5 * MAX_CHOICES]
    offer_sweeps_choices(form, team, rows)
    form.offer(tag=sorted(set(chain.from_iterable(tagged))))


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
    """The evidence of a sweep's newest ended run about its server: version and disk probe; one query."""
    newest = sweep.runs.filter(evidence__has_key="server_version").order_by("-finished_at")
    return newest.values("pk", server_version=F("evidence__server_version"), disk=F("evidence__disk")).first()
