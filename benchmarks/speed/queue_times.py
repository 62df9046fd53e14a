"""Times the queue in a process of its own: `python -m benchmarks.speed.queue_times`, with BENCHSITE_VAR set.

It starts the private servers of that folder, fills the queue, and prints what it measured as one line of JSON, after
lines that say how far it is. Each matrix has a load that succeeded and a stopped server that holds its data set. Of
specs there is only what the scheduler reads.
"""

import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Final

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
django.setup()

import psutil  # noqa: E402 - models need the set-up above
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models.functions import Now  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from benchsite.accounts import tenancy  # noqa: E402
from benchsite.accounts.models import Membership, Role, Team, User  # noqa: E402
from benchsite.core.paths import places  # noqa: E402
from benchsite.local.embedded import EmbeddedServers  # noqa: E402
from runs.catalog.generators import generator_key  # noqa: E402
from runs.models import (  # noqa: E402
    Cluster,
    Conductor,
    Database,
    Deployment,
    LoadGenerator,
    Machine,
    Matrix,
    Node,
    Run,
    Sweep,
)
from runs.models.run import Phase, Stage, Status  # noqa: E402
from runs.queue import lifecycle  # noqa: E402
from workers.conductor import scheduling  # noqa: E402
from workers.models import Lease  # noqa: E402

tenancy.serve_all_teams()
CLUSTERS: Final = 100
GENERATORS_PER_CLUSTER: Final = 3
TEAMS: Final = 10
CANCELLED_RUNS: Final = 5_000
ROUNDS: Final = 7
FINGERPRINT: Final = "of the data set"


def say(text: str) -> None:
    print(text, flush=True)


def fill(equipment: list[tuple[Team, Cluster, list[LoadGenerator]]], runs: int) -> None:
    """Queue so many runs, in matrices each on one cluster."""
    size = max(10, runs // 1000)
    for number in range(runs // size):
        team, cluster, generators = equipment[number % len(equipment)]
        queue_matrix(team, cluster, generators, f"matrix {number}", size)
    vacuum()


def queue_matrix(team: Team, cluster: Cluster, generators: list[LoadGenerator], name: str, count: int) -> Matrix:
    matrix = Matrix.objects.create(team=team, name=name, submitted_at=timezone.now())
    sweep = Sweep.objects.create(team=team, matrix=matrix, name=name, system="redis", mode="always", purpose="demo")
    database = cluster.databases.get()
    Deployment.objects.create(
        cluster=cluster, database=database, matrix=matrix, mode="always", state="down", fingerprint=FINGERPRINT
    )
    fields = {
        "team": team, "sweep": sweep, "matrix": matrix, "cluster": cluster, "system": "redis", "mode": "always",
        "workload_name": "A", "purpose": "demo", "expected_s": 240, "created_at": timezone.now(),
        "generator_key": generator_key(generator.pk for generator in generators),
        "spec": {"database": {"id": str(database.pk)}, "dataset": {"fingerprint": FINGERPRINT}},
    }  # fmt: skip
    load = Run(phase=Phase.LOAD, name=f"{name} load", status=Status.SUCCEEDED, finished_at=timezone.now(), **fields)
    runs = Run.objects.bulk_create(
        [
            load,
            *(
                Run(name=f"{name} {number}", threads=number + 1, position=number, needs=load, **fields)
                for number in range(1, count + 1)
            ),
        ]
    )
    through = Run.load_generators.through
    through.objects.bulk_create(
        through(run_id=run.pk, loadgenerator_id=generator.pk) for run in runs for generator in generators
    )
    return matrix


def vacuum() -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def cpu_s(backend: psutil.Process) -> float:
    times = backend.cpu_times()
    return time.process_time() + times.user + times.system


def timed(step: Callable[[], object], before: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Median seconds by the clock, and of CPU in this process and its PostgreSQL backend together."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = psutil.Process(cursor.fetchall()[0][0])
    clock, cpu = [], []
    for _ in range(rounds):
        before()
        began, busy = time.perf_counter(), cpu_s(backend)
        step()
        clock.append(time.perf_counter() - began)
        cpu.append(cpu_s(backend) - busy)
    return statistics.median(clock), statistics.median(cpu)


def free(clusters: int) -> None:
    """End so many of the active runs and give their machines back; every load generator and the conductor are alive."""
    active = list(Run.objects.filter(status__in=Status.unfinished()[1:]).values_list("pk", flat=True)[:clusters])
    lifecycle.transition_all(
        Run.objects.filter(pk__in=active), Status.CANCELLED, actor="bench", reason="cancelled_by_user"
    )
    scheduling.release(active)
    LoadGenerator.objects.update(last_seen_at=Now())
    Conductor.objects.update(last_seen_at=Now())


def lose_data() -> None:
    """All clusters are free, and their servers were killed."""
    free(CLUSTERS)
    Deployment.objects.update(fingerprint="")


def check(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(message)


def measure(runs: int) -> list[list[object]]:
    """Rows of runs, what, seconds, seconds of CPU, wanted seconds and of what."""
    fill_all = timed(scheduling.tick, lambda: free(CLUSTERS), rounds=3)
    check(Lease.objects.count() == CLUSTERS * (GENERATORS_PER_CLUSTER + 1), "Not every cluster was filled.")
    rows = [[runs, "decision, one cluster free", *timed(scheduling.tick, lambda: free(1)), 0.05, "CPU"]]
    rows += [[runs, "decision, no cluster free", *timed(scheduling.tick, lambda: None), 0.05, "CPU"]]
    rows += [[runs, "100 clusters filled", *fill_all, 5.0, "clock"]]
    lost = timed(scheduling.tick, lose_data, rounds=1)
    rows += [[runs, "100 clusters, data lost", *lost, 5.0, "clock"]]
    # The loads that were made again are dispatched, and judged: their clusters are free, their data not yet there.
    free(0)
    for run_id in scheduling.tick():
        claimed = lifecycle.claim_first(Run.objects.filter(pk=run_id), "bench")
        assert claimed is not None  # Nobody else claims runs here.
        lifecycle.note(*claimed, stage=Stage.JUDGING)
    scheduling.release(Lease.objects.values_list("run_id", flat=True))
    judged = Run.objects.filter(stage=Stage.JUDGING).count()
    check(judged == CLUSTERS, f"Of {CLUSTERS} clusters {judged} load again.")
    beside = timed(scheduling.tick, lambda: free(0), rounds=1)
    rows += [[runs, "100 clusters, loads being judged", *beside, 5.0, "clock"]]
    Deployment.objects.update(fingerprint=FINGERPRINT)
    for run in Run.objects.filter(stage=Stage.JUDGING):
        assert run.claim is not None  # It runs.
        lifecycle.finish(run.pk, run.claim, Status.SUCCEEDED)
    client = Client()
    client.force_login(User.objects.get(username="bench"))
    matrix = Matrix.objects.filter(team__slug="team-0", runs__status=Status.QUEUED).latest("created_at")
    for name, url in (
        ("queue page", reverse("queue")),
        ("home page", reverse("home")),
        ("matrix page", reverse("matrix", args=[matrix.pk])),
    ):
        response = client.get(url)
        check(response.status_code == 200, f"{url} answers {response.status_code}.")
        times = timed(lambda url=url: client.get(url), lambda: None)  # type: ignore[misc]
        rows += [[runs, name, *times, 0.3, "clock"]]
    return rows


def measure_cancelling(equipment: list[tuple[Team, Cluster, list[LoadGenerator]]], runs: int) -> list[object]:
    matrix = queue_matrix(*equipment[0], f"cancelled {runs}", CANCELLED_RUNS)
    vacuum()
    user = User.objects.get(username="bench")
    times = timed(lambda: lifecycle.request_cancel_matrix(matrix, user), lambda: None, rounds=1)
    return [runs, f"{CANCELLED_RUNS:,} runs cancelled", *times, 2.0, "clock"]


def main(sizes: list[int]) -> None:
    with EmbeddedServers(places(settings.VAR_DIR), logs=settings.VAR_DIR / "log", careless=True):
        settings.ALLOWED_HOSTS = ["testserver"]
        settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0)
        call_command("flush", verbosity=0, interactive=False)
        user = User.objects.create(username="bench")
        teams = [Team.objects.create(name=f"Team {number}", slug=f"team-{number}") for number in range(TEAMS)]
        Membership.objects.bulk_create(Membership(user=user, team=team, role=Role.ADMIN) for team in teams[:1])
        Conductor.objects.create(pk=uuid.uuid4(), name="bench", host_key="bench", capacity=2 * CLUSTERS)
        equipment = []
        for number in range(CLUSTERS):
            names = [f"bench-{number}-{part}" for part in range(GENERATORS_PER_CLUSTER + 1)]
            machines = Machine.objects.bulk_create(Machine(name=name, host_key=name) for name in names)
            cluster = Cluster.objects.create(
                team=teams[number % TEAMS], name=f"cluster {number}", provisioner="external"
            )
            Node.objects.create(cluster=cluster, machine=machines[0])
            Database.objects.create(team=cluster.team, cluster=cluster, name=cluster.name, system="redis")
            generators = LoadGenerator.objects.bulk_create(
                LoadGenerator(name=machine.name, machine=machine) for machine in machines[1:]
            )
            equipment.append((cluster.team, cluster, generators))
        rows: list[list[object]] = []
        for runs in sizes:
            queued = Run.objects.filter(status=Status.QUEUED).count()
            say(f"Queueing {runs - queued:,} more runs ...")
            fill(equipment, runs - queued + CLUSTERS * 12)
            measured = [*measure(runs), measure_cancelling(equipment, runs)]
            for row in measured:
                say("  ".join(map(str, row)))
            rows += measured
        connection.close()
    print(json.dumps(rows))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]])
