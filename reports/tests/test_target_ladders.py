"""The ceiling of a ladder of targets: sustained, marginal, failed, in order, and for lack of threads (analysis 1.c)."""

import uuid
from dataclasses import replace

import pytest

from reports.compare.analysis.ceiling import (
    NON_MONOTONE,
    NOT_KNOWN,
    THREAD_LIMITED,
    Ladder,
    Rung,
    ceiling,
    target_ceiling,
)
from reports.compare.analysis.points import Spread
from reports.compare.curves import LeftOut, Standing
from reports.tests.curves import curve, operation, point

# Target and achieved, in ops/s: the worked ladder.
WORKED = ((50_000, 50_000), (75_000, 74_900), (100_000, 93_000), (125_000, 94_200))


def ladder(pairs=WORKED, **changes):
    return [Rung(64, achieved, target_ops_s=target, **changes) for target, achieved in pairs]


def test_the_worked_ladder_has_a_bracket_and_a_saturation():
    ceiling = target_ceiling(ladder())
    assert (ceiling.target_ops_s, ceiling.bracket) == (75_000, (75_000, 100_000))
    assert (ceiling.saturation_ops_s, ceiling.ladder, ceiling.notes) == (94_200, Ladder.SATURATED, ())
    assert [round(achieved / target, 4) for target, achieved in WORKED] == [1.0, 0.9987, 0.93, 0.7536]


def test_a_marginal_target_is_not_sustained():
    ceiling = target_ceiling(ladder(((1000, 1000), (2000, 1950), (3000, 2900))))
    assert (ceiling.target_ops_s, ceiling.bracket, ceiling.marginal) == (1000, (1000, 2000), (2000, 3000))


def test_a_target_that_was_reached_with_errors_failed():
    rungs = ladder(((1000, 1000), (2000, 2000)))
    assert target_ceiling([rungs[0], replace(rungs[1], error_ratio=0.0011)]).bracket == (1000, 2000)
    assert target_ceiling([rungs[0], replace(rungs[1], error_ratio=0.001)]).bracket == (2000, None)


def test_a_target_behind_which_a_backlog_grew_failed():
    rungs = ladder(((1000, 1000), (2000, 2000)))
    assert target_ceiling([rungs[0], replace(rungs[1], backlog_growing=True)]).target_ops_s == 1000


def test_failed_target_below_a_sustained_one_is_only_noted():
    ceiling = target_ceiling(ladder(((1000, 1000), (2000, 1500), (3000, 2990))))

    assert (ceiling.target_ops_s, ceiling.notes, ceiling.bracket) == (3000, (NON_MONOTONE,), (3000, None))


def test_narrowly_missed_low_target_does_not_end_the_ladder():
    achieved = ((100, 100), (200, 195), (800, 785), (1500, 1497), (2000, 1600))

    ceiling = target_ceiling(ladder(achieved))

    assert (ceiling.throughput_ops_s, ceiling.bracket, ceiling.marginal) == (1497, (1500, 2000), (200,))
    assert (ceiling.ladder, ceiling.failed_runs) == (Ladder.SATURATED, 1)


def test_unsustained_ladder_gives_highest_with_open_bracket():
    ceiling = target_ceiling(ladder(((1000, 800), (2000, 900))))
    assert (ceiling.throughput_ops_s, ceiling.target_ops_s, ceiling.bracket) == (900, None, (0.0, 1000))


def test_everything_sustained_is_a_lower_bound():
    ceiling = target_ceiling(ladder(((1000, 1000), (2000, 2000))))
    assert (ceiling.ladder, ceiling.bracket, ceiling.is_lower_bound) == (Ladder.SHORT, (2000, None), True)


def test_target_is_sustained_by_any_of_its_thread_counts():
    rungs = [Rung(8, 1000, target_ops_s=1000), Rung(8, 1500, target_ops_s=2000), Rung(32, 2000, target_ops_s=2000)]
    ceiling = target_ceiling(rungs)
    assert (ceiling.target_ops_s, ceiling.threads, ceiling.rungs) == (2000, 32, 2)


def test_lack_of_threads_makes_target_ceiling_a_lower_bound():
    """Eight threads of 1 ms can do 8,000 ops/s: all are busy, and the database answers as fast as ever."""
    rungs = [Rung(8, 2000, 0.0010, 2000.0), Rung(8, 7900, 0.0010, 16000.0, p99_s=0.002)]
    ceiling = target_ceiling(rungs)
    assert THREAD_LIMITED in ceiling.notes and ceiling.is_lower_bound
    assert ceiling.threads_needed == 48  # 1.5 · 16,000 · 0.002
    slower = [rungs[0], replace(rungs[1], throughput_ops_s=3800, latency_s=0.0021)]
    assert target_ceiling(slower).notes == () and not target_ceiling(slower).is_lower_bound
    idle = [rungs[0], replace(rungs[1], throughput_ops_s=7000)]
    assert target_ceiling(idle).notes == ()
    assert target_ceiling([rungs[0], replace(rungs[1], latency_s=None)]).notes == ()


def test_run_without_target_is_confirmed_by_twice_the_threads():
    """Confirmed where they bring less than five per cent more."""
    alone = ceiling([Rung(64, 10_000)])
    assert alone.notes == () and alone.is_lower_bound
    assert not ceiling([Rung(64, 10_000), Rung(128, 10_499)]).is_lower_bound
    assert ceiling([Rung(64, 10_000), Rung(128, 10_501)]).is_lower_bound


def test_a_curve_judges_its_targets_with_their_errors():
    good = point(8, 1000.0, target_ops_s=1000)
    bad = point(8, 2000.0, target_ops_s=2000, operations=(replace(operation("READ", 500.0), failed=3),))
    assert bad.error_ratio == pytest.approx(3 / 1003)
    assert curve(points=[good, bad], ladder="target").ceiling.bracket == (1000, 2000)


def test_a_point_whose_errors_nobody_counted_has_no_error_ratio():
    unknown = point(8, 2000.0, operations=(replace(operation("READ", 500.0), ok=None),))
    assert unknown.error_ratio is None


def test_a_rejected_growing_backlog_is_a_target_that_failed():
    good = point(8, 1000.0, target_ops_s=1000)
    late = point(8, 2000.0, target_ops_s=2000, standing=Standing.REJECTED, verdict="reject", rejected_by=("V10",))
    assert curve(points=[good, late]).ceiling.bracket == (1000, 2000)
    hidden = replace(late, rejected_by=("V01", "V10"), worst_finding="V01 reject: impossible")
    assert curve(points=[good, hidden]).ceiling.notes == ()


def rejected(target, achieved, *checks, **changes):
    values = {"standing": Standing.REJECTED, "verdict": "reject", "rejected_by": checks, **changes}
    return point(64, float(achieved), target_ops_s=target, **values)


def held(*targets):
    return [point(64, float(target), target_ops_s=target) for target in targets]


@pytest.mark.parametrize("check", ["V07", "V09", "V10"])
def test_a_target_that_was_rejected_for_the_load_failed(check):
    ceiling = curve(points=[*held(25_000, 50_000, 75_000), rejected(100_000, 99_900, check)]).ceiling
    assert (ceiling.bracket, ceiling.ladder, ceiling.notes) == ((75_000, 100_000), Ladder.SATURATED, ())
    assert ceiling.throughput_ops_s == 75_000 == ceiling.saturation_ops_s


def test_rejected_target_fails_by_its_own_trusted_numbers():
    short = rejected(100_000, 93_000, "V22")
    assert curve(points=[*held(75_000), short]).ceiling.bracket == (75_000, 100_000)
    assert NOT_KNOWN not in curve(points=[*held(75_000), short]).ceiling.notes
    faulty = rejected(100_000, 100_000, "V22", operations=(replace(operation("READ", 500.0), failed=3),))
    assert curve(points=[*held(75_000), faulty]).ceiling.notes == ()
    for untrusted in (replace(short, rejected_by=("V05", "V22")), replace(short, clients_merged=1)):
        assert curve(points=[*held(75_000), untrusted]).ceiling.notes == (NOT_KNOWN,)


def test_a_rejected_target_below_a_sustained_one_contradicts_it():
    ceiling = curve(points=[*held(25_000), rejected(30_000, 29_990, "V07"), *held(40_000)]).ceiling
    assert (ceiling.target_ops_s, ceiling.bracket, ceiling.notes) == (40_000, (40_000, None), (NON_MONOTONE,))


def test_a_target_of_which_no_run_counts_leaves_the_end_open():
    ceiling = curve(points=[*held(25_000), rejected(30_000, 30_000, "V05")]).ceiling
    assert (ceiling.target_ops_s, ceiling.bracket, ceiling.notes) == (25_000, (25_000, 30_000), (NOT_KNOWN,))
    assert ceiling.is_lower_bound and ceiling.rungs == 2
    below = curve(points=[rejected(30_000, 30_000, "V05"), *held(40_000)]).ceiling
    assert (below.target_ops_s, below.bracket, below.notes) == (40_000, (40_000, None), ())
    both = curve(points=[rejected(30_000, 30_000, "V07"), *held(40_000), rejected(50_000, 50_000, "V05")])
    assert both.ceiling.notes == (NON_MONOTONE, NOT_KNOWN)


def test_target_with_counted_and_rejected_runs_is_known():
    beside = replace(rejected(30_000, 30_000, "V05"), threads=128)
    assert curve(points=[*held(25_000, 30_000), beside]).ceiling.bracket == (30_000, None)


def test_excluded_targets_are_ignored_rejected_give_no_ceiling():
    out = rejected(30_000, 20_000, "V07", standing=Standing.EXCLUDED)
    assert curve(points=[*held(25_000), out]).ceiling.bracket == (25_000, None)
    assert curve(points=[rejected(30_000, 30_000, "V07")]).ceiling is None


def left_out(throughput, standing=Standing.EXCLUDED):
    return LeftOut(uuid.uuid4(), standing, "the disk was full", throughput, ())


def test_the_ceiling_had_what_people_left_out_counted():
    low = point(2, 1000.0)
    high = point(4, 2000.0, throughput_ops_s=Spread(2000.0, 2000.0, 2000.0, 1, (2000.0,)), left_out=(left_out(1600.0),))
    line = curve(points=[low, high])
    assert line.ceiling.throughput_ops_s == 2000.0
    assert line.ceiling_with_left_out.throughput_ops_s == pytest.approx((2000.0 * 1600.0) ** 0.5)


def test_ceiling_with_exclusions_counts_excluded_not_rejected():
    low, whole = point(2, 1000.0), point(4, 2600.0, standing=Standing.EXCLUDED)
    assert curve(points=[low, whole]).ceiling_with_left_out.throughput_ops_s == 2600.0
    assert curve(points=[low, replace(whole, verdict="reject")]).ceiling_with_left_out is None
    rejected = point(4, 2600.0, standing=Standing.REJECTED, verdict="reject")
    assert curve(points=[low, rejected]).ceiling_with_left_out is None
    mixed = replace(rejected, left_out=(left_out(1200.0), left_out(9000.0, Standing.REJECTED)))
    assert curve(points=[low, mixed]).ceiling_with_left_out.throughput_ops_s == 1200.0


def test_without_exclusions_there_is_no_second_ceiling():
    assert curve().ceiling_with_left_out is None


def laddered(*rungs):
    """Counted targets: (target, achieved, mean µs)."""
    return curve(
        points=[point(64, float(x), target_ops_s=t, operations=(operation("READ", us),)) for t, x, us in rungs],
        ladder="target",
    )


def test_knee_of_targets_is_sustained_with_share_of_ceiling():
    ladder = laddered(
        (25_000, 25_000, 95.0), (50_000, 50_000, 100.0), (75_000, 74_900, 160.0), (100_000, 93_000, 600.0)
    )
    assert ladder.knee.reached and ladder.knee.target_ops_s == 50_000
    assert ladder.knee.share_of_ceiling == pytest.approx(50_000 / 74_900)


def test_no_knee_lies_above_the_ceiling_of_targets():
    ladder = laddered(
        (25_000, 25_000, 100.0), (50_000, 50_000, 110.0), (75_000, 70_000, 100.0), (100_000, 70_500, 90.0)
    )
    assert ladder.ceiling.target_ops_s == 50_000
    assert ladder.knee.target_ops_s == 50_000
    rejected_high = replace(ladder, points=(*ladder.points[:2], rejected(75_000, 75_000, "V07")))
    assert rejected_high.knee.target_ops_s == 50_000


def test_targets_of_which_none_was_sustained_have_no_knee():
    assert laddered(*((target, target * 0.9, 100.0) for target in (1000, 2000, 3000, 4000))).knee is None
