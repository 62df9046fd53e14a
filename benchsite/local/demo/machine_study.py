"""The study of `make study`: the systems that this machine can start, alone and as clusters of several nodes on it.

Two matrices: workload A over a ladder of threads, and the five mixes of Columbia's study. Each has a frozen report.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchsite.accounts.models import Team, User
from benchsite.core.formatting import counted, duration
from benchsite.local.demo.study import StudyEntry, build_workload, name_products, plan_study
from reports.models import Report
from reports.published.drafts import Draft
from reports.published.publication import build_title, publish_once
from runs.catalog import load_catalog
from runs.models import LoadGenerator, Matrix, Run, Status
from runs.plans import PlanError, Problem, preview, stored_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.studies import plan_text
from workers.generator.executables import ExecutableNotFound
from workers.provision.process import server_program
from workers.provision.provisioner_factory import this_site
from workers.systems.manifests import ManifestError, verify

NAME = "Study of one machine"
TAG = "study"
WARMUP_S = 2
MIN_MEASURE_S, MAX_MEASURE_S = 2, 30
RUNGS = (4, 16, 32, 64)  # threads
MIX_RUNGS = (4, 16, 64)
# Behind a quick study, which somebody waits for.
PRIORITY = -1

ENTRIES = (
    StudyEntry("redis", "Redis", ("everysec", "always")),
    StudyEntry("redis", "Redis, replica", ("everysec", "everysec-wait-1"), nodes=2),
    StudyEntry("postgresql", "PostgreSQL", ("off", "on")),
    StudyEntry("postgresql", "PostgreSQL, standby", ("on", "on-standby"), nodes=2),
    StudyEntry("mariadb", "MariaDB", ("flush-2", "flush-1")),
    StudyEntry("memcached", "memcached", ("none",)),
    StudyEntry("cassandra", "Cassandra, 1 node", ("one-periodic", "one-batch")),
    StudyEntry(
        "cassandra",
        "Cassandra, 3 nodes",
        ("one-periodic", "one-batch", "quorum-periodic", "quorum-batch", "all-one-periodic"),
        nodes=3,
        replication_factor=3,
    ),
    StudyEntry("hbase", "HBase", ("sync-wal-local", "fsync-wal-local")),
    StudyEntry("ferretdb", "FerretDB", ("sqlite",)),
)
# PostgreSQL stands in for MongoDB.
MIX_ENTRIES = (
    StudyEntry("cassandra", "Cassandra, 1 node", ("one-periodic",)),
    StudyEntry("hbase", "HBase", ("sync-wal-local",)),
    StudyEntry("postgresql", "PostgreSQL", ("off",)),
)

CAVEATS = """\
All servers, the clients and the site shared one machine. Clusters of several nodes and replicas show the work of \
replication, but neither a network nor separate disks, and their nodes share the cores that a single server has alone. \
The data sets fit in memory, and windows last seconds. Compare the shapes, not the numbers.
"""
MIX_CAVEATS = f"""{CAVEATS}
The mixes are those of Columbia's study of 2016 with 10,000 records and unthrottled threads instead of targets. Its \
MongoDB is replaced by PostgreSQL.
"""


def missing_parts(system: str) -> str:
    """Why this machine cannot measure the system, with the command that installs what is missing; empty: it can."""
    known = load_catalog().system(system)
    try:
        server_program(known, this_site())
        if known.binding:
            verify(Path(settings.YCSB_DIR) / known.binding.name)
    except (ExecutableNotFound, ManifestError) as error:
        return str(error)
    return ""


@transaction.atomic
def plan_machine_study(
    team: Team, user: User, generators: list[LoadGenerator], systems: Sequence[str], *, minutes: int, repeats: int
) -> list[Matrix]:
    """The matrices over these systems, not yet submitted, with the longest windows that fit into the minutes.

    Raises PlanError: the minutes are too few, or this machine cannot run it. Nothing is stored then.
    """
    name, group = f"{NAME}, {timezone.now():%Y-%m-%d %H:%M}", f"{TAG}-{uuid4().hex[:8]}"
    mixes = [
        build_workload(team, f"Columbia {mix.short_name}: {mix.name}", f"C-{mix.short_name}", mix.properties)
        for mix in read_plan(plan_text("columbia-2016")).workloads.values()
    ]
    parts = (("workload A", ENTRIES, RUNGS, (), CAVEATS), ("five mixes", MIX_ENTRIES, MIX_RUNGS, mixes, MIX_CAVEATS))
    matrices = [
        plan_study(
            team,
            user,
            generators[:1],  # Several clients cannot share a workload that inserts.
            entries=entries,
            workloads=workloads,
            name=f"{name}: {part}",
            rungs=list(rungs),
            repeats=repeats,
            warmup_s=WARMUP_S,
            min_measure_s=MIN_MEASURE_S,
            max_measure_s=MIN_MEASURE_S,
            priority=PRIORITY,
            tags=[TAG, group],
            notes=notes,
        )
        for part, every, rungs, workloads, notes in parts
        if (entries := [entry for entry in name_products(every) if entry.system in systems])
    ]
    previews = [preview(stored_plan(matrix)) for matrix in matrices]
    if problems := list(chain.from_iterable(plan.problems for plan in previews)):
        raise PlanError(problems)
    shortest_s, runs = sum(plan.seconds for plan in previews), sum(plan.runs for plan in previews)
    measure_s = MIN_MEASURE_S + int((minutes * 60 - shortest_s) // max(runs, 1))
    if measure_s < MIN_MEASURE_S:
        raise PlanError([
            Problem(
                "minutes",
                f"{counted(minutes, 'minute')} are too few: {counted(runs, 'run')} of {MIN_MEASURE_S} s take "
                f"{duration(shortest_s)}. Allow more minutes, fewer repeats (--repeats) or fewer systems (--only).",
            )
        ])  # fmt: skip
    for matrix in matrices:
        matrix.min_measure_s = matrix.max_measure_s = min(measure_s, MAX_MEASURE_S)
        matrix.save(update_fields=["min_measure_s", "max_measure_s"])
    return matrices


def unfinished_study(team: Team) -> list[Matrix]:
    """The matrices of the newest study as long as a report of one of them is missing."""
    newest = Matrix.objects.filter(team=team, tags__contains=[TAG], submitted_at__isnull=False).first()
    if newest is None:
        return []
    matrices = list(Matrix.objects.filter(team=team, tags=newest.tags).order_by("created_at"))
    if any(find_report(matrix) is None for matrix in matrices):
        return matrices
    return []


def missing_runs(matrices: Sequence[Matrix]) -> int:
    """How many runs ended without a result and were not run again since."""
    ended = Run.objects.filter(matrix__in=matrices, status__in=[Status.FAILED, Status.CANCELLED])
    return ended.filter(reruns__isnull=True).count()


def find_report(matrix: Matrix) -> Report | None:
    """The report that `publish_study` made of the matrix."""
    reports = Report.objects.filter(team_id=matrix.team_id, title=build_title(matrix.name))
    return reports.filter(draft__query__icontains=str(matrix.pk)).first()


def publish_study(matrix: Matrix, user: User) -> Report:
    """A frozen report of the matrix, open to everyone with its link. Raises PublishRefused where nothing counts."""
    draft = Draft(query=f"v=1&matrix={matrix.pk}&side=all", notes=matrix.notes)
    report = Report(
        team=matrix.team,
        title=build_title(matrix.name),
        draft=draft.as_json(),
        created_by=user,
        access=Report.Access.UNLISTED,
    )
    publish_once(report, user)
    return report
