"""The preview says how many more clients a plan needs than its load generators can be."""

import uuid

import pytest

from runs.catalog import generators
from runs.models import LoadGenerator, Node, Run
from runs.plans import preview, stored_plan
from runs.plans.capacity import capacity_ops_s
from runs.plans.plan import PlannedGenerator
from runs.results.recording import scheduled_runs as recording
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]
pytestmark = pytest.mark.django_db
DIGEST = {"redis": "d" * 64}
NO_DATABASE = {"digest": DIGEST["redis"], "client_ops_s": 60_000.0, "ops_s": 100_000.0, "clients": 4, "cores": 4}


def planned(capacity, **fields):
    usual = {"id": "1", "name": "lab-1", "slots": 4, "machine_id": "2", "cores": 4}
    return PlannedGenerator(**{**usual, "bindings": DIGEST, "capacity": {"redis": capacity}, **fields})


@pytest.mark.parametrize(
    ("capacity", "processes", "share", "expected"),
    [
        (NO_DATABASE, 1, 1.0, 60_000),  # one client
        (NO_DATABASE, 4, 1.0, 100_000),  # the cores
        (NO_DATABASE, 4, 0.5, 50_000),  # the clients' half of them
        ({"digest": DIGEST["redis"], "core_ops_s": 10_000.0}, 1, 1.0, 32_000),  # 80 % of four cores
        ({**NO_DATABASE, "core_ops_s": 10_000.0}, 4, 1.0, 32_000),  # the lower of both
        ({**NO_DATABASE, "digest": "another build"}, 1, 1.0, None),
        ({}, 1, 1.0, None),
    ],
)
def test_capacity_of_a_generator(capacity, processes, share, expected):
    known = capacity_ops_s(planned(capacity), "redis", processes=processes, cores_share=share)
    assert known == (pytest.approx(expected) if expected else None)


@pytest.fixture
def plan():
    """A maker of previews: one Redis, two generators of 60,000 ops/s per client, a ladder of targets."""
    team, machine = make_team(), make_machine(cores=4)
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]))
    both = [
        make_load_generator(machine=make_machine(cores=4), bindings=DIGEST, slots=4, capacity={"redis": NO_DATABASE})
        for _ in range(2)
    ]

    def make(*targets, **fields):
        usual = {"ladder": "target", "rungs": targets, "threads": 64, "submitted_at": None}
        matrix = make_matrix(
            team=team, entries=[(redis, "off")], workloads=[make_workload(team=team)], load_generators=both,
            **{**usual, **fields},
        )  # fmt: skip
        warnings = [
            warning.replace("\N{NARROW NO-BREAK SPACE}", " ") for warning in preview(stored_plan(matrix)).warnings
        ]
        return [warning for warning in warnings if "needed for" in warning]

    return make


def test_names_the_clients_that_are_lacking(plan):
    [warning] = plan(50_000, 190_000, 150_000)
    assert warning.startswith("2 more clients needed for 190k ops/s (redis off A 64t @190000 r1): its 2 clients")
    assert "have generated 120k ops/s at most so far. Set the clients per generator to 2." in warning


def test_asks_for_generators_if_more_clients_cannot_help(plan):
    [warning] = plan(400_000, processes_per_generator=4)
    assert warning.startswith("8 more clients needed for 400k ops/s")
    assert warning.endswith("its 8 clients with the redis binding have generated 200k ops/s at most so far. "
                            "Use more load generators.")  # fmt: skip


def test_says_nothing_within_capacity_or_without_it(plan):
    assert plan(120_000) == []
    assert plan(ladder="threads", threads=None) == []
    generator = LoadGenerator.objects.first()
    generator.capacity = {}
    generator.save()
    assert plan(10_000_000) == []


def test_clients_beside_servers_have_half_of_the_cores(plan):
    LoadGenerator.objects.update(machine=Node.objects.get().machine)
    [warning] = plan(119_000, processes_per_generator=4)
    assert "have generated 100k ops/s at most" in warning


@pytest.mark.parametrize(("measure_s", "is_rated"), [(3, False), (10, True)])
def test_runs_raise_the_rate_per_core(team, artifact_folder, measure_s, is_rated):
    """Both clients together use one core. Windows below 10 s do not count."""
    run = recorded_run(team, measure_s=measure_s)
    order = {"threads": 2, "binding": "redis", "digest": "digest-redis"}
    run.client_runs.update(cpu_percent=50.0, order=order)
    Run.objects.filter(pk=run.pk).update(status="running", finished_at=None, claim=uuid.uuid4())
    run.refresh_from_db()
    recording.record(run, run.claim, recording.collect(run), rows=None)
    run.refresh_from_db()
    generator = LoadGenerator.objects.get()
    expected = {"digest": "digest-redis", "core_ops_s": run.throughput_ops_s, "run": str(run.pk)}
    assert generator.capacity == ({"redis": expected} if is_rated else {})


def test_keeps_the_highest_rate_per_core_of_a_build(team, artifact_folder):
    run = recorded_run(team)
    run.client_runs.update(cpu_percent=50.0, order={"binding": "redis", "digest": "digest-redis"})

    def rate_after(throughput):
        generators.note_core_rate(list(run.client_runs.select_related("load_generator")), throughput)
        return LoadGenerator.objects.get().capacity["redis"]["core_ops_s"]

    assert [rate_after(throughput) for throughput in (1000.0, 900.0, 1100.0)] == [1000.0, 1000.0, 1100.0]
    run.client_runs.update(order={"binding": "redis", "digest": "another build"})
    assert rate_after(500.0) == 500.0
    run.client_runs.update(cpu_percent=10.0)
    assert rate_after(9000.0) == 500.0
