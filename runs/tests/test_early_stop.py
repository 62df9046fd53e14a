"""Rungs beyond the ceiling are skipped, cells that fail are paused, and sweeps get two more rungs."""

import pytest
from django.urls import reverse

from runs.models import Matrix, Run
from runs.models.run import Status
from runs.plans.extension import ExtensionRefused, extend, more_rungs, more_targets
from runs.plans.pages.matrix import matrix_page
from runs.queue import lifecycle, run_completion
from runs.queue.early_stop import rungs_beyond
from runs.queue.reasons import Reason
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import get_text
from runs.tests.test_searches import drive, end, submitted, token_bucket

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def ladder(team, rungs, **fields):
    """A submitted sweep of fixed rungs that stops early."""
    return submitted(team, **{"ladder": "threads", "rungs": rungs, "search": None, "stops_early": True, **fields})


def find_next_run(sweep):
    return sweep.runs.filter(status="queued").order_by("position").first()


def statuses(sweep):
    return [
        "skipped" if run.reason == Reason.BEYOND_CEILING else run.status
        for run in sweep.runs.order_by("threads", "target_ops_s", "repeat")
    ]


def test_two_rungs_beyond_saturation_skip_the_rest(client_in, team, user):
    sweep = ladder(team, [1, 2, 4, 8, 16, 32], repeats=1)
    for ops_s in (1000, 1980, 2000, 1990):
        end(find_next_run(sweep), ops_s)
    assert statuses(sweep) == ["succeeded"] * 4 + ["skipped"] * 2
    page = matrix_page(sweep.matrix, [])
    assert (page["missing"], page["skipped"], page["progress"].status, page["progress"].total) == (0, 2, "succeeded", 5)
    skipped = sweep.runs.filter(reason=Reason.BEYOND_CEILING)
    assert page["saved_s"] == sum(skipped.values_list("expected_s", flat=True)) > 0
    assert page["rows"][0].cells[-1].word == "skipped"
    text = get_text(client_in.get(reverse("matrix", args=[sweep.matrix_id])))
    assert "2 runs skipped: beyond the ceiling." in text and "Run the skipped rungs (2)" in text
    assert lifecycle.resume(sweep.matrix, user) == 0
    client_in.post(reverse("matrix-resume", args=[sweep.matrix_id]), {"skipped": "1"})
    end(find_next_run(sweep), 1900)
    assert find_next_run(sweep).threads == 32


def test_repeats_of_measured_rungs_still_run(team):
    sweep = ladder(team, [1, 2, 4, 8, 16], repeats=2, order="interleaved")
    for ops_s in (1990, 2000, 1995):
        end(find_next_run(sweep), ops_s)
    waiting = sweep.runs.filter(status="queued")
    assert sorted(waiting.values_list("threads", "repeat")) == [(1, 2), (2, 2), (4, 2)]


def test_ladders_that_still_grow_go_on(team):
    sweep = ladder(team, [1, 2, 4, 8, 16], repeats=1)
    for ops_s in (1000, 1100, 1210, 1330):
        end(find_next_run(sweep), ops_s)
    assert statuses(sweep)[-1] == "queued"


def test_stops_only_where_it_is_switched_on(team):
    sweep = ladder(team, [1, 2, 4, 8, 16], repeats=1, stops_early=False)
    for _ in range(4):
        end(find_next_run(sweep), 1000)
    assert statuses(sweep)[-1] == "queued"


def test_two_targets_below_95_percent_skip_higher_ones(team):
    sweep = ladder(team, [1000, 2000, 3000, 4000, 5000], ladder="target", threads=8, repeats=1)
    for ops_s in (1000, 1800, 1850):
        end(find_next_run(sweep), ops_s, verdict="reject")
    assert statuses(sweep) == ["succeeded"] * 3 + ["skipped"] * 2


def test_target_missed_below_a_met_one_is_repeated_once(team):
    sweep = ladder(team, [1000, 2000, 3000, 4000], ladder="target", threads=8, repeats=1)
    for ops_s in (1000, 1900, 3000, 3100):
        end(find_next_run(sweep), ops_s)

    again = sweep.runs.get(status="queued")

    assert (again.target_ops_s, again.threads, again.repeat, again.rerun_of) == (2000, 8, 2, None)
    end(again, 1900)
    assert not sweep.runs.filter(status="queued").exists()


@pytest.mark.parametrize(
    ("achieved", "changes"),
    [
        pytest.param((1000, 2000, 2900), {}, id="end-of-the-ladder"),
        pytest.param((1000, 1900, 3000) * 2, {"looks": [2], "repeats": 2, "order": "interleaved"}, id="looks"),
    ],
)
def test_repeats_no_other_missed_target(team, achieved, changes):
    sweep = ladder(team, [1000, 2000, 3000], ladder="target", threads=8, **{"repeats": 1, **changes})
    for ops_s in achieved:
        end(find_next_run(sweep), ops_s)
    assert not sweep.runs.filter(status="queued").exists()


def test_cancelled_plans_repeat_no_missed_target(team, user):
    sweep = ladder(team, [1000, 2000, 3000, 4000], ladder="target", threads=8, repeats=1)
    for ops_s in (1000, 1900, 3000):
        end(find_next_run(sweep), ops_s)
    lifecycle.request_cancel_matrix(sweep.matrix, user)
    run_completion.look()
    assert not sweep.runs.filter(status="queued").exists()


def test_never_skips_a_rung_at_or_below_the_best():
    def run(threads, ops_s=None):
        return Run(threads=threads, throughput_ops_s=ops_s, verdict="pass")

    ended = [run(1, 1000), run(2, 1010), run(4, 1020), run(64, 1040)]
    assert rungs_beyond("threads", ended, [*ended, run(8), run(16), run(128)]) == {128}
    assert rungs_beyond("threads", ended[:2], [*ended, run(8)]) == set()
    assert rungs_beyond("threads", [], [run(8)]) == set()


def test_two_failed_rungs_in_a_row_pause_the_cell_alone(team, user):
    sweep, other = ladder(team, [1, 2, 4, 8], repeats=1), ladder(team, [1, 2], repeats=1)
    end(find_next_run(sweep), 1000)
    end(find_next_run(sweep), reason=Reason.SERVER_LOST)
    assert statuses(sweep) == ["succeeded", "failed", "queued", "queued"]
    end(find_next_run(sweep), reason=Reason.SERVER_LOST)
    last = sweep.runs.get(threads=8)
    assert (last.status, last.reason) == (Status.CANCELLED, Reason.CELL_PAUSED)
    assert last.reason_detail.startswith("The server went away.")
    assert statuses(other) == ["queued", "queued"]
    assert matrix_page(sweep.matrix, [])["missing"] == 3
    assert lifecycle.resume(sweep.matrix, user) == 3
    end(find_next_run(sweep), 2000)
    assert sweep.runs.filter(status="queued").count() == 2


def test_infrastructure_does_not_pause_a_cell(team):
    sweep = ladder(team, [1, 2, 4], repeats=1)
    for _ in range(2):
        end(find_next_run(sweep), reason=Reason.WORKER_LOST)
    assert not sweep.runs.filter(reason=Reason.CELL_PAUSED).exists()


@pytest.mark.parametrize(
    ("values", "rungs"),
    [
        ({1: 10, 2: 20, 4: 40}, (8, 16)),
        ({1000: 1000, 1250: 1250}, (1563, 1954)),
        ({8: 40, 16: 30}, (2, 4)),
        ({1: 40, 2: 30}, ()),
        ({1: 40, 4: 30}, (2, 3)),
        ({2: 10, 4: 40, 32: 30}, (8, 16)),
        ({7: 10, 8: 40, 9: 30}, ()),
        ({7: 10, 8: 40, 10: 30}, (9,)),
    ],
)
def test_two_more_rungs_lie_where_the_ceiling_may_be(values, rungs):
    assert more_rungs(values) == rungs


@pytest.mark.parametrize(
    ("values", "targets"),
    [
        pytest.param({2000: 2011, 1_000_000: 7561, 2_000_000: 6401}, (3116, 4854), id="far-beyond"),
        pytest.param({19_958: 19_953, 20_932: 16_668, 21_954: 11_165}, (20_278, 20_602), id="bracket"),
        pytest.param({1000: 1000, 1250: 1250}, (1563, 1954), id="all-reached"),
        pytest.param({8000: 4000}, (1587, 2520), id="none-reached"),
        pytest.param({9: 9, 10: 8}, (), id="neighbours"),
    ],
)
def test_two_more_targets_narrow_the_bracket(values, targets):
    assert more_targets(values) == targets


def test_extends_a_sweep_with_the_repeats_of_its_plan(client_in, team, user):
    sweep = ladder(team, [1, 2], repeats=2, stops_early=False)
    while run := find_next_run(sweep):
        end(run, 1000 * run.threads)
    client_in.post(reverse("sweep-extend", args=[sweep.pk]))
    queued = sweep.runs.filter(status="queued").order_by("position")
    assert list(queued.values_list("threads", "repeat")) == [(4, 1), (4, 2), (8, 1), (8, 2)]
    assert queued[0].name == f"{sweep.name} 4t r1" and queued[0].spec["load"]["threads"] == 4
    while run := find_next_run(sweep):
        end(run, 2500)
    assert {run.threads for run in extend(sweep, user)} == {3, 5}


def test_rungs_that_a_person_adds_are_not_skipped(team, user):
    sweep = ladder(team, [2, 4, 8], repeats=1)
    drive(sweep, lambda run: {"throughput": {2: 1000.0, 4: 1010.0, 8: 1020.0}[run.threads]})
    added = extend(sweep, user)
    end(added[0], 1030.0)
    assert Run.objects.get(pk=added[1].pk).status == Status.QUEUED
    assert Matrix.objects.get().stops_early, "the other sweeps of the plan still do"


def test_rung_that_runs_keeps_its_repeats():
    sweep = make_sweep()
    ended = [make_run(sweep, threads=threads, throughput=1000.0) for threads in (2, 4, 8)]
    running = make_run(sweep, threads=16, status="running")
    waiting = [make_run(sweep, threads=threads, status="queued", repeat=2) for threads in (16, 32)]
    assert rungs_beyond("threads", ended, [*ended, running, *waiting]) == {32}


def test_extension_is_refused_where_nothing_was_measured(team, user):
    sweep = make_sweep(team=team)
    make_run(sweep, status="failed")
    with pytest.raises(ExtensionRefused, match="nothing to extend"):
        extend(sweep, user)


def test_extends_a_search_that_has_ended(team, user):
    sweep = submitted(team)
    with pytest.raises(ExtensionRefused):
        extend(sweep, user)
    drive(sweep, token_bucket(10_000))
    added = extend(sweep, user)
    assert len(added) == 2 and all(run.target_ops_s for run in added)
    first = sweep.decisions.last()
    drive(sweep, token_bucket(10_000))
    again = sweep.decisions.last()
    assert (again.number, again.rule, again.state) == (first.number + 1, "end", first.state)
