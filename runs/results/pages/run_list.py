"""The runs list: a filter that lives in the URL, and the query it means."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django import forms
from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, F, Func, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.expressions import OrderBy
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Concat, JSONObject, NullIf
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import Team
from runs.catalog import load_catalog
from runs.models import Finding, Matrix, Measurement, Purpose, Run, Status, Sweep, Verdict
from runs.queue.reruns import is_failure_open, is_rejection_open
from runs.results.pages.lists import BOTH, KeyMenu, ListFilter, Menu, Order, phase_menu, search_field

# So many keys are looked up one by one; of more, every second run is meant anyhow.
MAX_KEYS = 500
THREADS = re.compile(r"([0-9]{1,9})t")
TARGET = re.compile(r"@([0-9]{1,9})")
# One text instead of five to search in.
SEARCH_TEXT = Concat(
    "name", Value(" "), "database_name", Value(" "), "version", Value(" "), "cluster_name", Value(" "), "workload_name"
)
REPEAT = re.compile(r"r([0-9]{1,4})")


def mentions(team: Team, word: str) -> Q:
    """Name, notes, tag, reason, matrix, commit, database and its version, cluster: whatever a person remembers.

    The end of a run's name is read as what it says: "16t", "@5000" and "r2" are threads, target and repeat.
    Two queries.
    """
    systems = [slug for slug, system in load_catalog().systems.items() if word.casefold() in system.name.casefold()]
    sweeps = Sweep.objects.filter(team=team).exclude(system__in=systems).alias(search_text=SEARCH_TEXT)
    condition = (
        Q(system__in=systems)
        | _among("sweep", sweeps.filter(search_text__icontains=word))
        | _among("matrix", Matrix.objects.filter(team=team, name__icontains=word))
        | Q(tags__contains=[word.lower()])
        # Few runs have any of these: each has an index over those that do.
        | ~Q(notes="") & Q(notes__icontains=word)
        | ~Q(reason_detail="") & Q(reason_detail__icontains=word)
        | ~Q(commit="") & (Q(commit__startswith=word) | Q(commit__startswith=word.lower()))
    )
    for pattern, column in ((THREADS, "threads"), (TARGET, "target_ops_s"), (REPEAT, "repeat")):
        match = pattern.fullmatch(word)
        if match:
            condition |= Q((column, int(match[1])))

    return condition


def _among(column: str, rows: QuerySet[Any]) -> Q:
    """By their keys where these are few, so that PostgreSQL can use the index of the column."""
    keys = list(rows.order_by().values_list("pk", flat=True)[: MAX_KEYS + 1])
    return Q((f"{column}__in", rows.values("pk") if len(keys) > MAX_KEYS else keys))


PER_PAGE = 50
MAX_ROWS_IN_CSV = 50_000
MAX_OPERATIONS_IN_CSV = 40
LATENCIES = ("mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us")
MAX_CHOICES = 100  # of one menu
MAX_TAGGED = 1_000  # runs, the newest, whose tags are offered
# What pages of a list do not need: the whole submitted spec and the evidence, of which files have the version.
HEAVY = ("spec", "evidence")
# As the server said it, else as it was stated.
SERVER_VERSION = Coalesce(
    NullIf(KeyTextTransform("server_version", "evidence"), Value("", TextField())),
    F("sweep__version"),
    output_field=TextField(),
)
CURRENT = Measurement.objects.filter(measurement_set__is_current=True)
REJECTING = Finding.objects.filter(measurement_set__is_current=True, severity=Finding.Severity.REJECT)
ACTIVE = "active"
EXCLUDED = "excluded"
# Failed or rejected, and nobody has run it again, accepted it or left it out.
FAILED_OPEN = "failed-open"
REJECTED_OPEN = "reject-open"
# What others measured: nobody here can run it again.
UPLOADED_DEMO = Q(source=Run.Source.UPLOADED, purpose=Purpose.DEMO)
REJECTED = (Verdict.REJECT, REJECTED_OPEN)
PERIODS = (("1", "last day"), ("14", "last 14 days"), ("90", "last 90 days"))

THROUGHPUT = F("throughput_ops_s")
SORTS: dict[str, tuple[str | OrderBy, ...]] = {
    "newest": ("-created_at", "position"),
    "oldest": ("created_at", "position"),
    "name": ("name", "-created_at"),
    "name-reversed": ("-name", "created_at"),
    "fastest": (THROUGHPUT.desc(nulls_last=True), "-created_at"),
    "slowest": (THROUGHPUT.asc(nulls_last=True), "-created_at"),
    "most-threads": ("-threads", "-created_at"),
    "fewest-threads": ("threads", "-created_at"),
}


class RunFilter(ListFilter):
    noun, plural = "run", "runs"
    q = search_field("name, note, tag …")
    status = Menu("Status", choices=[(ACTIVE, "not finished"), *Status.choices, (FAILED_OPEN, "failed, still open")])
    verdict = Menu(
        "Verdict",
        choices=[
            *Verdict.choices[1:],
            (REJECTED_OPEN, "reject, still open"),
            ("none", "not judged"),
            (EXCLUDED, "excluded"),
        ],
    )
    system = Menu("System", "system")
    mode = Menu("Mode", "mode")
    workload = Menu("Workload", "workload_name")
    phase = phase_menu()
    purpose = Menu("Purpose", "purpose", Purpose.choices)
    source = Menu("Source", "source", Run.Source.choices)
    ended = Menu("Ended", choices=PERIODS)
    matrix = KeyMenu("Matrix", "matrix_id")
    sweep = KeyMenu("Sweep", "sweep_id", widget=forms.HiddenInput)
    tag = Menu("Tag")
    sort = Order(SORTS)

    def apply(self, team: Team) -> QuerySet[Run]:
        """The team's runs that this filter lets through, in its order."""
        runs = self.narrow(Run.objects.filter(team=team))
        status, verdict, tag = self.values["status"], self.values["verdict"], self.values["tag"]
        if tag:
            runs = runs.filter(tags__contains=[tag])
        if days := self.values["ended"]:
            runs = runs.filter(finished_at__gte=timezone.now() - timedelta(days=int(days)))
        if status == ACTIVE:
            runs = runs.exclude(status__in=Status.terminal())
        elif status == FAILED_OPEN:
            runs = runs.filter(is_failure_open())
        elif status:
            runs = runs.filter(status=status)

        if verdict == EXCLUDED:
            runs = runs.exclude(excluded_reason="")
        elif verdict == REJECTED_OPEN:
            runs = runs.filter(is_rejection_open()).exclude(UPLOADED_DEMO)
        elif verdict:
            runs = runs.filter(verdict="" if verdict == "none" else verdict)

        for word in self.words:
            runs = runs.filter(mentions(team, word))

        return self.order(runs, "pk")


class RunsLink(NamedTuple):
    """A link to the list of some runs, with the number of its rows."""

    address: str
    runs: int


def link_runs(team: Team, *filters: Mapping[str, str]) -> list[RunsLink]:
    """For each filter the list of its runs, of both phases unless it names one; the list counts as its link does.

    One query.
    """
    chosen = [RunFilter({"phase": BOTH, **values}) for values in filters]
    numbered = [
        each.apply(team).order_by().values(number=Value(number)).annotate(runs=Count("pk"))
        for number, each in enumerate(chosen)
    ]
    first, *others = numbered
    runs = dict(first.union(*others, all=True).values_list("number", "runs"))
    return [RunsLink(f"{reverse('runs')}?{each.query}", runs.get(number, 0)) for number, each in enumerate(chosen)]


def with_rejections(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Each run with `rejections`, the checks that reject it: id, title, what was measured, and the limit."""
    rejecting = REJECTING.filter(measurement_set__run=OuterRef("pk")).order_by("check_id")
    described = JSONObject(check_id="check_id", title="title", measured="measured", limit="threshold")
    return runs.annotate(rejections=ArraySubquery(rejecting.values(described=described)))


def with_latencies(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Each run with `latencies`, one for each operation and kind of latency."""
    measurements = CURRENT.filter(measurement_set__run=OuterRef("pk"))
    described = JSONObject(operation="operation", kind="latency_kind", **{name: name for name in LATENCIES})
    return runs.annotate(latencies=ArraySubquery(measurements.values(described=described)))


def list_operations(runs: QuerySet[Run]) -> list[tuple[str, str]]:
    """The operations and kinds of latency that any of the runs has."""
    measurements = CURRENT.filter(measurement_set__run__in=runs.values("pk"))
    pairs = measurements.order_by("operation", "-latency_kind").values_list("operation", "latency_kind")
    return list(pairs.distinct()[:MAX_OPERATIONS_IN_CSV])


def count_rejections(runs: QuerySet[Run]) -> Sequence[Any]:
    """How many of the runs each check rejects, with its `remedies`, the most frequent first."""
    rejecting = REJECTING.filter(measurement_set__run__in=runs.order_by().values("pk"))
    remedies = ArrayAgg("remedy", distinct=True, filter=~Q(remedy=""), default=[])
    checks = rejecting.values("check_id", "title").annotate(runs=Count("pk"), remedies=remedies)
    return list(checks.order_by("-runs", "check_id"))


def count_sources(runs: QuerySet[Run]) -> tuple[int, int]:
    """How many Benchsite measured, and can measure again, and how many were uploaded."""
    is_upload = Q(source=Run.Source.UPLOADED)
    counts = runs.order_by().aggregate(own=Count("pk", filter=~is_upload), uploads=Count("pk", filter=is_upload))
    return counts["own"], counts["uploads"]


def offer_choices(form: RunFilter, team: Team) -> None:
    """Give the menus what the team's runs hold.

    Three queries, whatever the number of runs: every run is of a sweep, and of those there are few.
    """
    tagged = Run.objects.filter(team=team).exclude(tags=[]).order_by("-created_at").values("pk")[:MAX_TAGGED]
    each = Func("tags", function="unnest", output_field=TextField())
    tags = Run.objects.filter(pk__in=tagged).order_by().annotate(tag=each).values_list("tag", flat=True).distinct()
    offer_sweeps_choices(form, team, Sweep.objects.filter(team=team))
    form.offer(tag=sorted(tags[:MAX_CHOICES]))  # of the runs that were tagged last


def offer_sweeps_choices(form: ListFilter, team: Team, sweeps: QuerySet[Sweep]) -> None:
    """Give the menus what the sweeps hold, and the team's matrices. Two queries."""
    form.offer_values(sweeps, "system", "mode", "workload")
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-created_at")
    form.offer(matrix=[(str(key), name) for key, name in matrices.values_list("pk", "name")[:MAX_CHOICES]])
