"""The quick study: PostgreSQL in two durability modes and Redis in its strongest, under workload A, on one machine.

It answers what durability costs PostgreSQL, which of both databases serves more without losing a write, and at which
load latency rises. docs/developers/decisions/quick-study.md says why it is measured this way. It shows shapes, never
numbers to publish: its purpose is `demo`, and every figure of it says so.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from django.utils import timezone

from benchsite.accounts.models import Team, User
from benchsite.core.formatting import throughput
from runs.models import (
    Cluster,
    Database,
    LoadGenerator,
    Matrix,
    Node,
    Phase,
    Provisioner,
    Purpose,
    Run,
    Status,
    Workload,
)
from runs.plans import Draft, preview, stored_plan, submit
from runs.queue.lifecycle import request_cancel_matrix
from runs.queue.run_completion import is_over
from runs.ycsb.properties import CORE_WORKLOADS, WARM_UP
from workers.generator.executables import find_redis

POLL_S = 1.0
BAR_WIDTH = 30
RECORDS = 10_000
RUNGS = (1, 4, 16, 128)  # PostgreSQL bends between 1 and 16 threads, and does clearly less at 128 than at 16
PRESTART_S = 1  # each client uses the database before the agreed instant, unmeasured
WARMUP_S = 1
MEASURE_S = 3
REPEATS = 4
NAME = "Quick study"
CLUSTER = "This machine"
WORKLOAD = "A: update heavy, 10,000 records"


class Progress:
    """Follows matrices until all their runs have ended; what had ended before is counted and not reported."""

    def __init__(self, matrices: Sequence[Matrix], out: TextIO = sys.stdout, *, is_resumed: bool = False) -> None:
        self.matrices, self.out = matrices, out
        self.started = time.monotonic()
        self.planned_s = sum(preview(stored_plan(matrix)).seconds for matrix in matrices)  # of a search: at most
        if is_resumed:
            ended = Run.objects.filter(matrix__in=matrices, status__in=Status.terminal())
        else:
            ended = Run.objects.none()
        before = ended.values_list("pk", "expected_s")
        self.reported = {str(pk) for pk, _ in before}
        self.done_before_s = sum(seconds for _, seconds in before)
        self.last_ended = self.started
        # Of the measured runs that ended since: how long they took, and were planned. Loads are no measure of them.
        self.took_s = self.expected_s = 0.0

    def follow(self, check: Callable[[], None]) -> None:
        """Return when nothing is left to run. `check` raises when a part of the site has died."""
        while self._update():
            check()
            time.sleep(POLL_S)
        if self.out.isatty():
            self.out.write("\n")
        took = minutes(time.monotonic() - self.started)
        self.out.write(f"Took {took}; {minutes(self.planned_s - self.done_before_s)} were planned.\n")

    def _update(self) -> bool:
        """Print what ended since; False: nothing is left to run."""
        has_ended = is_over(self.matrices)  # Asked first, so that the last lines are printed too.
        rows = Run.objects.filter(matrix__in=self.matrices).order_by("matrix__created_at", "position", "pk")
        runs = list(rows.defer("spec"))
        ended = [run for run in runs if run.status in Status.terminal()]
        for run in ended:
            if str(run.pk) not in self.reported:
                self.reported.add(str(run.pk))
                self._note_pace(run)
                self._report(run)
        self._draw(runs, len(ended))
        return not has_ended

    def _report(self, run: Run) -> None:
        """A line of an ended run; a failed one says why and what to do."""
        if run.status == Status.SUCCEEDED:
            text = f"  {run.name:<28} {throughput(run.throughput_ops_s):>12}   {run.verdict}"
        else:
            text = f"  {run.name:<28} {run.status}: {run.get_reason_display()}. {run.reason_detail}"
        if self.out.isatty():
            text = f"\r\033[K{text}"
        self.out.write(f"{text}\n")
        self.out.flush()

    def _note_pace(self, run: Run) -> None:
        now = time.monotonic()
        if run.phase == Phase.MEASURE:
            self.took_s += now - self.last_ended
            self.expected_s += run.expected_s
        self.last_ended = now

    def _draw(self, runs: list[Run], ended: int) -> None:
        if not self.out.isatty():
            return
        now = time.monotonic()
        elapsed_s = now - self.started
        planned_s = max(self.planned_s, sum(run.expected_s for run in runs)) or 1.0
        done_s = sum(run.expected_s for run in runs if run.status in Status.terminal())
        # The plan's own estimate, corrected by how the runs so far have kept to it.
        pace = 1.0
        if self.expected_s:
            pace = self.took_s / self.expected_s
        left_s = max(0.0, (planned_s - done_s) * pace - (now - self.last_ended))
        filled = round(BAR_WIDTH * elapsed_s / max(elapsed_s + left_s, 1.0))
        running = next((run.name for run in runs if run.status == Status.RUNNING), "")
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + left_s))
        bar = "#" * filled + "-" * (BAR_WIDTH - filled)
        progress = f"{ended}/{len(runs)}  {minutes(elapsed_s)} elapsed, ends about {end}  {running}"
        self.out.write(f"\r\033[K[{bar}] {progress}")
        self.out.flush()


def minutes(seconds: float) -> str:
    """m:ss"""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class StudyEntry(NamedTuple):
    """A database of a study and its durability modes. `nodes` are processes of this machine; with `threads` the ladder
    is one of targets.
    """

    system: str
    name: str
    modes: Sequence[str]
    nodes: int = 1
    replication_factor: int = 1
    threads: int = 0
    settings: Mapping[str, str] = {}


POSTGRESQL = StudyEntry("postgresql", "PostgreSQL", ("off", "on"))
ENTRIES = (POSTGRESQL, StudyEntry("redis", "Redis", ("always",)))
ALL_ENTRIES = (StudyEntry("redis", "Redis", ("off", "everysec", "always")), POSTGRESQL)


def name_products(entries: Sequence[StudyEntry]) -> list[StudyEntry]:
    """The entries with Valkey in the names of their databases where this machine starts it as Redis."""
    servers = find_redis()
    product = "Redis"
    if servers:
        product = servers[0].product
    return [entry._replace(name=entry.name.replace("Redis", product)) for entry in entries]


def plan_study(
    team: Team,
    user: User,
    generators: list[LoadGenerator],
    *,
    entries: Sequence[StudyEntry] = ALL_ENTRIES,
    workloads: Sequence[Workload] = (),
    **fields: Any,
) -> Matrix:
    """A matrix on this machine, not yet submitted; cluster, databases and workload are made once and reused.

    No `workloads`: workload A; `fields` are those of the matrix.
    """
    defaults: dict[str, Any] = {
        "name": f"{NAME}, {timezone.now():%Y-%m-%d %H:%M}",
        "warmup_s": WARMUP_S,
        "min_measure_s": MEASURE_S,
        "max_measure_s": MEASURE_S,
        "purpose": Purpose.DEMO,
    }
    workloads = workloads or [build_workload(team, WORKLOAD, "A", CORE_WORKLOADS["A"])]
    modes: list[tuple[Database, str]] = []
    overrides: list[dict[str, dict[str, Any]]] = []
    for entry in entries:
        settings = dict(entry.settings)
        if entry.nodes > 1:
            settings["nodes"] = str(entry.nodes)
        stated = {"system": entry.system, "settings": settings, "replication_factor": entry.replication_factor}
        database = Database.objects.filter(team=team, name=entry.name).first()
        if database is None:
            cluster, made = Cluster.objects.get_or_create(
                team=team, name=CLUSTER, defaults={"provisioner": Provisioner.PROCESS}
            )
            if made:
                Node.objects.create(cluster=cluster, machine=generators[0].machine)
            database = Database.objects.create(team=team, name=entry.name, cluster=cluster, **stated)
        elif database.settings != settings:
            database.settings = settings
            database.save(update_fields=["settings"])
        modes += [(database, mode) for mode in entry.modes]
        if entry.threads:
            overrides.append({"match": {"database": str(database.pk)}, "set": {"threads": entry.threads}})
    if overrides:
        defaults |= {"ladder": Matrix.Ladder.TARGET, "threads": entries[0].threads, "overrides": overrides}
    return Draft(Matrix(team=team, **defaults | fields), modes, workloads, generators).store(user)


def submit_quick_study(
    team: Team, user: User, generators: list[LoadGenerator], entries: Sequence[StudyEntry] = ENTRIES
) -> Matrix:
    """Plan and submit. Raises PlanError where this machine cannot run it, saying why.

    What is left of an earlier study that was cut short would stand before this one in the queue: it is cancelled.
    """
    for earlier in Matrix.objects.filter(team=team, name__startswith=NAME, purpose=Purpose.DEMO):
        request_cancel_matrix(earlier, user)
    matrix = plan_study(
        team,
        user,
        generators[:1],  # A second client would start, and compile itself, on the same core.
        entries=name_products(entries),
        rungs=list(RUNGS),
        order=Matrix.Order.INTERLEAVED,  # Other programs disturb all modes alike.
        repeats=REPEATS,
        stops_early=False,  # so that the predicted end holds
        notes="The ceiling of each durability mode and the latency below it, under workload A on one machine: shapes, "
        "not numbers.",
    )
    submit(matrix, user)
    return matrix


def build_workload(team: Team, name: str, short_name: str, mix: Mapping[str, str], records: int = RECORDS) -> Workload:
    """The team's workload of that name: the mix over records of 1 KB."""
    properties = {**mix, "recordcount": str(records), "fieldcount": "10", "fieldlength": "100"}
    properties[WARM_UP] = str(1000 * PRESTART_S)
    workload, _ = Workload.objects.update_or_create(
        team=team, name=name, defaults={"short_name": short_name, "properties": properties}
    )
    return workload
