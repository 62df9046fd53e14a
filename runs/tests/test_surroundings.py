"""What the checks hear of a run beside its clients' output: lower rungs, probes, clocks, garbage collection."""

from typing import cast

import pytest

from runs.checks import ClientProbe, Surroundings
from runs.checks.team_thresholds import get_thresholds
from runs.models import Run
from runs.queue.spec import RunSpec
from runs.results import artifacts
from runs.results.recording.run_context import build_run_context
from runs.tests.factories import make_client_run, make_load_generator, make_machine, make_run, make_sweep, measurement

pytestmark = pytest.mark.django_db


def known(run: Run) -> Surroundings:
    clients = run.client_runs.select_related("load_generator__machine").prefetch_related("artifacts")
    return build_run_context(run, cast(RunSpec, run.spec), list(clients), get_thresholds(run.team, run.purpose))


def test_the_lowest_rung_tells_how_quick_the_database_is_at_rest():
    sweep = make_sweep(ladder="target")
    times = [measurement("READ", 200.0, count=300), measurement("UPDATE", 600.0, count=100)]
    # A read-modify-write is made of a read and an update that count by themselves.
    make_run(sweep, target_ops_s=100, measurements=[*times, measurement("READ-MODIFY-WRITE", 9e6, count=100)])
    make_run(sweep, target_ops_s=200, measurements=[measurement("READ", 7e6)])
    make_run(sweep, target_ops_s=50, verdict="reject")
    assert known(make_run(sweep, target_ops_s=400)).low_latency_us == pytest.approx(300.0)
    assert known(Run.objects.get(target_ops_s=100)).low_latency_us is None
    assert known(make_run(sweep, threads=4)).low_latency_us is None


def test_a_probe_is_the_same_load_on_more_clients():
    sweep = make_sweep()
    run = make_run(sweep, threads=8)
    probe = make_run(make_sweep(database=sweep.database, workload=sweep.workload), threads=8, throughput=1500.0)
    for number in range(2):
        make_client_run(run, number=number)
    assert known(run).probe is None
    for number in range(3):
        make_client_run(probe, number=number)
    assert known(run).probe == ClientProbe(3, 1500.0)
    assert known(probe).probe is None
    Run.objects.filter(pk=probe.pk).update(mode="off")
    assert known(run).probe is None


def test_it_reads_clocks_and_garbage_collection_of_every_client():
    run = make_run()
    machine = make_machine(cores=4)
    clients = [
        make_client_run(run, number=number, generator=make_load_generator(machine=machine), clock_offset_s=offset)
        for number, offset in enumerate((0.001, None))
    ]
    summary = "[OVERALL], RunTime(ms), 1000\n[TOTAL_GC_TIME_%], Time(%), 7.5\n[READ], Operations, 10\n"
    artifacts.store(run, "summary", "summary.txt", summary.encode(), client_run=clients[0])
    found = known(run)
    assert (found.gc_shares, found.clock_offsets_s) == ({0: 0.075}, {0: 0.001})
    assert found.cores == {0: 4, 1: 4} and set(found.machines.values()) == {machine.name}
    assert found.client_on_database_host is True
    assert found.cluster.nodes == 1 and found.durability["ack"] == "disk"
