"""The study of `make study`: the systems that this machine can start, alone and as clusters of several nodes on it.

One matrix: workload A, and in each durability mode a search for the ceiling and the curve below it.
"""

from collections.abc import Sequence
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
from runs.plans.plan_spec import PlanSearch
from runs.queue.reruns import CALLED_OFF
from runs.ycsb.properties import CORE_WORKLOADS
from workers.generator.executables import ExecutableNotFound
from workers.provision.process_provisioner import server_program
from workers.provision.provisioner_factory import this_site
from workers.systems.manifests import ManifestError, verify

NAME = "Study of one machine"
TAG = "study"
RECORDS = 200_000  # of 1 KB; three nodes of Cassandra take two minutes to load them
LOAD_THREADS = 32
WARMUP_S = 5
SETTLE_S = 20  # a JVM compiles what a workload needs in its first seconds
MIN_MEASURE_S, MAX_MEASURE_S = 2, 20
SEARCH = PlanSearch(curve_percent=[50, 80, 100])
# Behind a quick study, which somebody waits for.
PRIORITY = -1

# More threads than the ceiling needs, so that the server and not their number ends the ladder; PostgreSQL and FerretDB
# do less the more there are.
ENTRIES = (
    StudyEntry("redis", "Redis", ("everysec", "always"), threads=128),
    StudyEntry("redis", "Redis, replica", ("everysec", "everysec-wait-1"), nodes=2, threads=128),
    StudyEntry("postgresql", "PostgreSQL", ("off", "on"), threads=16),
    StudyEntry("postgresql", "PostgreSQL, standby", ("on", "on-standby"), nodes=2, threads=32),
    StudyEntry("mariadb", "MariaDB", ("flush-2", "flush-1"), threads=64),
    StudyEntry("memcached", "memcached, 1 GB", ("none",), threads=64, settings={"memory-limit": "1024"}),
    StudyEntry("cassandra", "Cassandra, 1 node", ("one-periodic", "one-batch"), threads=128),
    StudyEntry(
        "cassandra",
        "Cassandra, 3 nodes",
        ("one-periodic", "one-batch", "quorum-periodic", "quorum-batch", "all-one-periodic"),
        nodes=3,
        replication_factor=3,
        threads=128,
    ),
    StudyEntry("hbase", "HBase", ("sync-wal-local", "fsync-wal-local"), threads=64),
    StudyEntry("ferretdb", "FerretDB", ("sqlite",), threads=16),
)

CAVEATS = """\
All servers, the clients and the site shared one machine. Clusters of several nodes and replicas show the work of \
replication, but neither a network nor separate disks, and their nodes share the cores that a single server has alone. \
The data sets fit in memory. Compare the shapes, not the numbers.
"""


def missing_parts(system: str) -> str:
    """Why this machine cannot measure the system, with the command that installs what is missing; empty: it can."""
    described = load_catalog().system(system)
    try:
        server_program(described, this_site())
        if described.binding:
            verify(Path(settings.YCSB_DIR) / described.binding.name)
    except (ExecutableNotFound, ManifestError) as error:
        return str(error)
    return ""


@transaction.atomic
def plan_machine_study(
    team: Team, user: User, generators: list[LoadGenerator], systems: Sequence[str], *, minutes: int, repeats: int
) -> Matrix:
    """The matrix over these systems, not yet submitted, whose windows together take at most these minutes.

    Raises PlanError: the minutes are too few, or this machine cannot run it. Nothing is stored then.
    """
    entries = [entry for entry in ENTRIES if entry.system in systems]
    workload = build_workload(team, f"A: {RECORDS:,} records", "A", CORE_WORKLOADS["A"], RECORDS)
    matrix = plan_study(
        team,
        user,
        generators[:1],  # Another client would start, and compile itself, on the same core.
        entries=name_products(entries),
        workloads=[workload],
        name=f"{NAME}, {timezone.now():%Y-%m-%d %H:%M}: workload A",
        search=SEARCH.to_stored(Matrix.Ladder.TARGET),
        repeats=repeats,
        load_threads=LOAD_THREADS,
        warmup_s=WARMUP_S,
        settle_s=SETTLE_S,
        priority=PRIORITY,
        tags=[TAG, f"{TAG}-{uuid4().hex[:8]}"],
        notes=CAVEATS,
    )
    plan = preview(stored_plan(matrix))
    if plan.problems:
        raise PlanError(plan.problems)
    measure_s = minutes * 60 // max(plan.runs, 1)
    if measure_s < MIN_MEASURE_S:
        message = (
            f"{counted(minutes, 'minute')} are too few: {counted(plan.runs, 'run')} of {MIN_MEASURE_S} s measure "
            f"{duration(plan.runs * MIN_MEASURE_S)}. Allow more minutes, fewer repeats (--repeats) or fewer systems "
            "(--only)."
        )
        raise PlanError([Problem("minutes", message)])
    matrix.min_measure_s = matrix.max_measure_s = min(measure_s, MAX_MEASURE_S)
    matrix.save(update_fields=["min_measure_s", "max_measure_s"])
    return matrix


def unfinished_study(team: Team) -> Matrix | None:
    """The newest study as long as its report is missing."""
    newest = Matrix.objects.filter(team=team, tags__contains=[TAG], submitted_at__isnull=False).first()
    if newest is None or find_report(newest):
        return None
    return newest


def missing_runs(matrices: Sequence[Matrix]) -> int:
    """How many runs ended without a result and were not run again since."""
    ended = Run.objects.filter(matrix__in=matrices, status__in=[Status.FAILED, Status.CANCELLED])
    return ended.filter(reruns__isnull=True).exclude(CALLED_OFF).count()


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
