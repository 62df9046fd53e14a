"""Rows to curves: which repeats count, what a point is, and that more runs ask no more queries."""

import pytest

from reports.compare.curves import Standing
from reports.compare.queries import curves, get_sweeps, run_point, rung_rows
from runs.models import Sweep
from runs.tests.factories import (
    make_database,
    make_matrix,
    make_measurement_set,
    make_run,
    make_sweep,
    make_team,
    make_workload,
    measurement,
)

pytestmark = pytest.mark.django_db


def build_curve(sweep):
    return curves([sweep])[0]


def test_a_curve_carries_what_was_submitted():
    sweep = make_sweep(system="redis", mode="always")
    make_run(sweep, threads=4, throughput=2000.0)
    curve = build_curve(sweep)
    assert curve.database_name == sweep.database.name and curve.workload == sweep.workload.name
    assert curve.durability["ack"] == "disk" and curve.promise == "disk, loses none"
    assert curve.setup.clients == 2 and curve.setup.records == 10_000 and curve.setup.record_bytes == 1000
    assert curve.setup.cluster_machines == curve.setup.generator_machines
    assert curve.setup.cluster_machines[0].cores == 2


def test_a_curve_has_the_session_of_all_of_its_runs():
    sweep = make_sweep()
    make_run(sweep, threads=2, session="job-1")
    make_run(sweep, threads=4, session="job-1")
    assert build_curve(sweep).session == "job-1"
    make_run(sweep, threads=8, session="job-2")
    assert build_curve(sweep).session == ""


def test_a_renamed_database_does_not_rename_its_past():
    sweep = make_sweep()
    make_run(sweep)
    old = sweep.database.name
    sweep.database.name = "renamed"
    sweep.database.save()
    assert build_curve(Sweep.objects.get(pk=sweep.pk)).database_name == old


def test_points_ascend_and_carry_every_statistic():
    sweep = make_sweep()
    for threads, throughput in ((32, 5000.0), (2, 1000.0), (8, 3000.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    points = build_curve(sweep).points
    assert [point.threads for point in points] == [2, 8, 32]
    read = points[0].operation("READ")
    assert read is not None and set(read.latencies_us) == {"mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max"}
    assert read.geomean_us("p99") == pytest.approx(2 / 1000 * 1e6 * 0.8 * 3.4)
    # READ and UPDATE are equally frequent, so their mean fulfils Little's law with the throughput.
    assert points[0].mean_latency_s() == pytest.approx(0.002)


def test_point_is_the_geometric_mean_of_its_repeats():
    sweep = make_sweep()
    for repeat, throughput in enumerate((800.0, 1000.0, 1250.0), 1):
        make_run(sweep, repeat=repeat, throughput=throughput)
    (point,) = build_curve(sweep).points
    spread = point.throughput_ops_s
    assert (spread.low, spread.high, spread.n) == (800.0, 1250.0, 3)
    assert spread.geomean == pytest.approx(1000.0)
    assert len(point.run_ids) == 3


def test_excluded_and_rejected_repeats_do_not_count():
    sweep = make_sweep()
    make_run(sweep, repeat=1, throughput=1000.0)
    make_run(sweep, repeat=2, throughput=5000.0, excluded_reason="another job ran")
    make_run(sweep, repeat=3, throughput=9000.0, verdict="reject")
    (point,) = build_curve(sweep).points
    assert point.counts and point.throughput_ops_s.n == 1 and point.throughput_ops_s.geomean == 1000.0
    assert point.excluded == ("another job ran",) and point.rejected == 1


def test_a_rejected_run_with_a_written_reason_counts():
    sweep = make_sweep()
    make_run(sweep, throughput=9000.0, verdict="reject", verdict_override="the check is wrong here")
    (point,) = build_curve(sweep).points
    assert point.counts and point.verdict == "reject"


@pytest.mark.parametrize(
    "fields, standing",
    [
        ({"verdict": "reject"}, Standing.REJECTED),
        ({"excluded_reason": "noise"}, Standing.EXCLUDED),
        ({"excluded_reason": "noise", "verdict": "reject"}, Standing.EXCLUDED),
        ({"excluded_reason": "no product", "stand_in": "vendor mock", "verdict": "reject"}, Standing.STAND_IN),
    ],
)
def test_a_point_of_which_no_repeat_counts_stays_visible(fields, standing):
    sweep = make_sweep()
    make_run(sweep, throughput=9000.0, **fields)
    (point,) = build_curve(sweep).points
    assert point.standing is standing and not point.counts
    assert build_curve(sweep).ceiling is None


def test_points_of_stand_ins_are_no_exclusions_of_people():
    sweep = make_sweep()
    make_run(sweep, throughput=9000.0, excluded_reason="no product", stand_in="vendor mock", verdict="reject")
    (point,) = build_curve(sweep).points
    assert (point.excluded, point.rejected, build_curve(sweep).ceiling_with_left_out) == ((), 0, None)
    make_run(sweep, repeat=2, throughput=1000.0)
    (point,) = build_curve(sweep).points
    assert point.counts and [repeat.standing for repeat in point.left_out] == [Standing.STAND_IN]
    assert build_curve(sweep).ceiling_ops_s == 1000.0


def test_progress_leaves_out_runs_that_were_run_again():
    sweep = make_sweep()
    failed = make_run(sweep, threads=2, status="failed")
    cancelled = make_run(sweep, threads=4, status="cancelled")
    make_run(sweep, threads=2, repeat=2, rerun_of=failed)
    make_run(sweep, threads=4, repeat=2, status="queued", rerun_of=cancelled)
    succeeded = make_run(sweep, threads=8)
    make_run(sweep, threads=8, repeat=2, status="cancelled", rerun_of=succeeded)

    progress = build_curve(sweep).progress

    assert (progress.runs, progress.succeeded, progress.failed, progress.cancelled) == (3, 2, 0, 0)


def test_runs_that_did_not_succeed_make_no_points():
    sweep = make_sweep()
    make_run(sweep, threads=2)
    make_run(sweep, threads=4, status="failed")
    make_run(sweep, threads=8, status="queued")
    curve = build_curve(sweep)
    assert [point.threads for point in curve.points] == [2] and curve.rungs == (2, 4, 8)
    assert (curve.progress.runs, curve.progress.failed, curve.progress.going) == (3, 1, True)
    rows = rung_rows(sweep, curve)
    assert [(row["threads"], row["point"] is not None, len(row["runs"])) for row in rows] == [
        (2, True, 1),
        (4, False, 1),
        (8, False, 1),
    ]


def test_only_the_current_measurement_set_is_read():
    sweep = make_sweep()
    run = make_run(sweep, throughput=1000.0)
    run.measurement_sets.update(is_current=False)
    run.throughput_ops_s = 1100.0
    make_measurement_set(run, number=2, warmup_s=4.0)
    (point,) = build_curve(sweep).points
    assert point.throughput_ops_s.geomean == 1100.0 and point.warmup_s == 4.0


def test_the_worst_finding_is_named():
    sweep = make_sweep()
    findings = [
        {"check_id": "V03", "severity": "warn", "message": "busy"},
        {"check_id": "V07", "severity": "reject", "message": "errors"},
        {"check_id": "V09", "severity": "not_assessed", "message": "no target"},
    ]
    make_run(sweep, findings=findings, verdict="reject")
    assert build_curve(sweep).points[0].worst_finding == "V07 reject: errors"


def test_every_check_that_rejected_is_known():
    sweep = make_sweep()
    findings = [
        {"check_id": one, "severity": severity, "message": "so it is"}
        for one, severity in (("V01", "reject"), ("V05", "warn"), ("V10", "reject"))
    ]
    make_run(sweep, threads=4, verdict="reject", findings=findings)
    make_run(sweep, threads=8, verdict="warn", findings=findings[1:2])
    assert [point.rejected_by for point in build_curve(sweep).points] == [("V01", "V10"), ()]


def test_a_mode_that_was_not_read_back_is_not_verified():
    sweep = make_sweep()
    make_run(sweep, threads=2)
    make_run(sweep, threads=4, evidence={"before": {}})
    assert [point.mode_verified for point in build_curve(sweep).points] == [True, False]


def test_service_and_response_times_stay_apart():
    sweep = make_sweep()
    both = [measurement("READ", 500.0), measurement("READ", 9000.0, kind="response")]
    make_run(sweep, threads=8, target_ops_s=1000, throughput=990.0, measurements=both)
    (point,) = build_curve(sweep).points
    assert point.operation("READ").geomean_us("mean") == 500.0
    assert point.operation("READ", "response").geomean_us("mean") == 9000.0
    assert point.mean_latency_s() == pytest.approx(500e-6)


def test_a_single_run_is_a_point_whatever_its_standing():
    run = make_run(excluded_reason="noise")
    assert run_point(run).throughput_ops_s.geomean == 1000.0
    assert run_point(make_run(status="queued")) is None


def test_a_team_sees_its_own_sweeps_only():
    mine, theirs = make_sweep(), make_sweep()
    assert list(get_sweeps(mine.team)) == [mine]
    assert not get_sweeps(make_team()).exists() and theirs.pk


@pytest.mark.slow
def test_more_sweeps_and_runs_ask_no_more_queries(django_assert_num_queries):
    team = make_team()
    database, workload = make_database(team=team), make_workload(team=team)
    matrix = make_matrix(team=team)
    for number in range(3):
        sweep = make_sweep(
            matrix=matrix, database=database, workload=workload, mode=("off", "everysec", "always")[number]
        )
        for threads in (2, 4, 8):
            for repeat in (1, 2):
                make_run(sweep, threads=threads, repeat=repeat, findings=[{}])
    with django_assert_num_queries(10):  # The last one stores.
        found = curves(Sweep.objects.filter(team=team))
    assert [len(curve.points) for curve in found] == [3, 3, 3]


def test_skipped_runs_are_no_part_of_a_curve():
    sweep = make_sweep()
    make_run(sweep)
    make_run(sweep, threads=8, status="cancelled", reason="beyond_ceiling")
    assert curves([sweep])[0].progress.runs == 1
