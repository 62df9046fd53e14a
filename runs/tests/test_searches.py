"""A search over rows: run by run, each decision with its rule, through restarts and failures."""

from itertools import count

import pytest
from django.db.models import Max
from django.utils import timezone

from runs.models import Finding, Run, SearchDecision, Sweep
from runs.models.run import Status
from runs.plans import preview, stored_plan, submit
from runs.queue import lifecycle, next_runs, run_completion
from runs.queue.reasons import Reason
from runs.results.measures.search import MAX_SLO_TRIALS, MAX_TRIALS, State
from runs.tests.factories import (
    claim_run,
    finding,
    make_database,
    make_load_generator,
    make_matrix,
    make_measurement_set,
    make_workload,
    measurement,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SEARCH = {"width": 0.05, "max_trials": MAX_TRIALS, "max_error_rate": 0.001, "slo": None}
SLO = {"operation": "READ", "statistic": "p99", "kind": "response", "limit_us": 5000.0}


def submitted(team, user=None, **fields):
    """A submitted search with one sweep, and that sweep."""
    workload = make_workload(team=team, properties={**make_properties(), **fields.pop("properties", {})})
    values = {"ladder": "target", "threads": 16, "rungs": [], "search": SEARCH, "repeats": 2, **fields}
    matrix = make_matrix(
        team=team, entries=[(make_database(team=team), "always")], workloads=[workload],
        load_generators=[make_load_generator()], submitted_at=None, **values,
    )  # fmt: skip
    submit(matrix, user)
    load = matrix.runs.filter(phase="load").first()
    if load:
        Run.objects.filter(pk=load.pk).update(status="succeeded", finished_at=timezone.now())
    return matrix.sweeps.get(phase="measure")


def make_properties():
    return {"recordcount": "2000", "readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian"}


def waiting(sweep):
    return sweep.runs.filter(status="queued", phase="measure").order_by("created_at", "position").first()


def end(run, throughput=None, *, reason="", p99_us=1000.0, checks=(), verdict="pass"):
    """End a queued run, as a conductor does; with a throughput it has succeeded."""
    lifecycle.dispatch([run.pk])
    claim = claim_run(run.pk, "test")
    if throughput is not None:
        Run.objects.filter(pk=run.pk).update(throughput_ops_s=throughput, verdict=verdict)
        run.refresh_from_db()
        kinds = ("service", "response") if run.target_ops_s else ("service",)
        measured = [measurement("READ", 500.0, kind=kind) | {"p99_us": p99_us} for kind in kinds]
        cut = make_measurement_set(run, measurements=measured)
        Finding.objects.bulk_create(Finding(measurement_set=cut, **finding(*check)) for check in checks)
    status = Status.SUCCEEDED if throughput is not None else Status.FAILED
    lifecycle.finish(run.pk, claim, status, reason=reason)
    run_completion.look()


def drive(sweep, server, limit=20):
    """Run the search to its end against a function from threads and target to what `end` takes."""
    for _ in range(limit):
        run = waiting(sweep)
        if run is None:
            break
        end(run, **server(run))
    return sweep.decisions.last()


def token_bucket(capacity):
    return lambda run: {"throughput": min(run.target_ops_s or capacity, capacity)}


def test_brackets_and_confirms_the_capacity_of_offered_load(team):
    sweep = submitted(team)
    answer = drive(sweep, token_bucket(10_000))
    assert (answer.state, answer.run, answer.rule) == (State.BRACKETED, None, "end")
    assert answer.low <= 10_000 / 0.98 and answer.high <= 1.05 * answer.low + 1
    assert abs(answer.value_ops_s / 10_000 - 1) < 0.02
    rules = list(sweep.decisions.values_list("rule", flat=True))
    assert rules == ["probe", "start", "raise", "bisect", "confirm", "confirm", "end"]
    runs = sweep.runs.order_by("finished_at")
    assert [decision.run_id for decision in sweep.decisions.all()] == [*(run.pk for run in runs), None]
    assert runs[1].name == f"{sweep.name} 16t @9500 r1" and runs[1].spec["load"]["target_ops_s"] == 9500
    assert {run.needs_id for run in runs} == {runs[0].needs_id} and len({run.config_key for run in runs}) == 4


def test_answer_explains_an_estimate_below_its_lower_bound(team):
    """Two slow runs give a mean of the capacity below a target that fast runs sustained."""
    sweep = submitted(team, search={**SEARCH, "max_trials": 4})
    capacity = iter([10_000, 12_000, 12_000, 8_000])
    answer = drive(sweep, lambda run: token_bucket(next(capacity))(run))
    assert (answer.low, answer.high) == (10_450, 11_495) and answer.value_ops_s < 0.98 * answer.low
    assert "of all runs; those at 10.5k" in answer.sentence


def test_answer_explains_an_estimate_above_its_upper_bound(team):
    """Runs that slow down one after the other give a mean of the capacity above the last target missed."""
    sweep = submitted(team, search={**SEARCH, "max_trials": 4})
    capacity = iter([20_000, 18_500, 16_900, 15_000])
    answer = drive(sweep, lambda run: token_bucket(next(capacity))(run))
    assert answer.high == 15_703 and answer.value_ops_s > answer.high
    assert f"of all runs; those at {next_runs.named_load(sweep, answer.high)} were slower" in answer.sentence


@pytest.mark.parametrize(
    ("capacities", "missing"),
    [
        pytest.param((20_000, 10_000, 10_000), "no run shows a lower bound", id="none-sustained"),
        pytest.param((9_000, 10_000, 10_000), "no run shows an upper bound", id="all-sustained"),
        pytest.param((10_000, 10_000, 10_000), "an end of the bracket has a single trial", id="single-trial"),
    ],
)
def test_answer_names_what_the_spent_trials_left_open(team, capacities, missing):
    sweep = submitted(team, search={**SEARCH, "max_trials": 3})
    capacity = iter(capacities)
    answer = drive(sweep, lambda run: token_bucket(next(capacity))(run))
    assert answer.state == State.SPENT and answer.sentence.endswith(f"Unconfirmed: {missing}.")


def test_busy_clients_that_sustained_every_target_limit_nothing(team):
    sweep = submitted(team, search={**SEARCH, "max_trials": 3})
    answer = drive(sweep, lambda run: {**token_bucket(run.target_ops_s or 9_000)(run), "checks": [("V03", "warn")]})
    assert (answer.state, answer.low, answer.high) == (State.SPENT, 9_405, None)
    assert f"and the clients were at their limit at {next_runs.named_load(sweep, 9_405)}: add" in answer.sentence


def test_threads_whose_peak_the_trials_did_not_reach(team):
    sweep = submitted(team, ladder="threads", threads=None, rungs=[1], search={**SEARCH, "max_trials": 4})
    answer = drive(sweep, lambda run: {"throughput": 1000.0 * run.threads})
    assert answer.state == State.SPENT
    assert answer.sentence.endswith("Unconfirmed: the trials were spent before the peak was located and confirmed.")


def test_measures_curve_below_ceiling_after_the_search(team):
    sweep = submitted(team, search={**SEARCH, "curve_percent": [50, 100]})
    assert preview(stored_plan(sweep.matrix)).runs == MAX_TRIALS + 4 + 2, "two may decide"
    drive(sweep, token_bucket(10_000))
    answer, last = sweep.decisions.filter(rule="end")
    after = sweep.runs.filter(finished_at__gt=answer.decided_at).order_by("finished_at")
    assert [run.target_ops_s for run in after] == [round(answer.low / 2), round(answer.low / 2), answer.low]
    assert not waiting(sweep) and last.number == answer.number + 1


@pytest.mark.parametrize(
    ("later", "state", "low"),
    [
        pytest.param(10_000, State.BRACKETED, 9_500, id="confirmed"),
        pytest.param(9_000, State.BRACKETED, 8_550, id="refuted"),
    ],
)
def test_curve_confirms_or_refutes_the_ceiling(team, later, state, low):
    """Three trials leave it unconfirmed; a fresh run of the target sustained decides, or one more where they differ."""
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 90, 100]}
    sweep = submitted(team, search=search)
    capacity = iter([10_000] * 3)
    drive(sweep, lambda run: token_bucket(next(capacity, later))(run))
    first, last = sweep.decisions.filter(rule="end")
    assert (first.state, first.low, first.high) == (State.SPENT, 9_500, 10_450) and "Unconfirmed" in first.sentence
    assert (last.state, last.low) == (state, low)
    assert sweep.runs.filter(target_ops_s=9_500).count() == (2 if low == 9_500 else 3)


def test_stall_in_a_run_of_the_curve_does_not_lower_the_ceiling(team):
    """One of two runs at half of the ceiling falls short, as where the machine was busy: a third decides."""
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    stalled = iter([10_000] * 3 + [2_000])
    answer = drive(sweep, lambda run: token_bucket(next(stalled, 10_000))(run))
    assert (answer.state, answer.low, answer.high) == (State.BRACKETED, 9_500, 10_450)
    assert sweep.runs.filter(target_ops_s=4_750).count() == 3
    assert sweep.decisions.get(rule="decide").state == State.SPENT, "the answer stands meanwhile"


def test_runs_that_decide_are_no_more_than_the_repeats(team):
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [20, 40, 60, 80, 100]}
    sweep = submitted(team, search=search)
    capacity = iter([10_000] * 3 + [1_000, 1_000, 1_000, 1_000])
    answer = drive(sweep, lambda run: token_bucket(next(capacity, 10_000))(run))
    assert sweep.decisions.filter(rule="decide").count() == 2
    # At 100 % the search's own trial is a repeat.
    assert sweep.runs.count() == preview(stored_plan(sweep.matrix)).runs - 1 and answer.rule == "end"


def test_curve_of_a_search_that_sustained_no_target(team):
    """The probe was fast and then the machine was busy: the curve ends at the lowest throughput of the trials."""
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    capacity = iter([18_000, 15_000])
    answer = drive(sweep, lambda run: token_bucket(next(capacity, 10_000))(run))
    first = sweep.decisions.filter(rule="end")[0]
    assert (first.state, first.low) == (State.SPENT, None)
    assert sweep.runs.filter(target_ops_s=5_000).count() == 2
    assert answer.state == State.BRACKETED and answer.low == 10_000
    assert sweep.runs.count() <= preview(stored_plan(sweep.matrix)).runs


def test_no_curve_where_a_limit_decided(team):
    """Trials that broke their limit of latency do not show what the database can do."""
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "slo": SLO, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    drive(sweep, lambda run: {**token_bucket(10_000)(run), "p99_us": 1e6})
    assert sweep.runs.count() == 3


def test_target_above_a_curve_that_was_all_sustained(team):
    """The probe was slow, so no trial failed: runs after the curve find the upper end."""
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    capacity = iter([9_000])
    answer = drive(sweep, lambda run: token_bucket(next(capacity, 10_000))(run))
    raised = sweep.decisions.get(rule="raise", run__target_ops_s=10_346)
    assert raised.sentence == "No end yet at 9.41k\u202fops/s: go up to 10.3k\u202fops/s."
    assert (answer.state, answer.low, answer.high) == (State.BRACKETED, 9_405, 10_346)


def test_lost_run_of_a_curve_is_no_load_to_go_up_from(team):
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    lost = count()
    drive(
        sweep,
        lambda run: {0: {"throughput": 9_000}, 5: {"reason": Reason.CLIENT_FAILED}}.get(
            next(lost), token_bucket(10_000)(run)
        ),
    )
    assert sweep.runs.get(status="failed").target_ops_s == 9_405
    raised = sweep.decisions.get(rule="raise", run__target_ops_s=10_346)
    assert raised.sentence.startswith("No end yet at 9.41k\u202fops/s:")


def test_curve_of_busy_clients_stays_a_lower_bound(team):
    search = {**SEARCH, "width": 0.1, "max_trials": 3, "curve_percent": [50, 100]}
    sweep = submitted(team, search=search)
    server = token_bucket(10_000)
    answer = drive(sweep, lambda run: {**server(run), "checks": [("V03", "warn")]})
    assert answer.state == State.CLIENT_LIMITED and sweep.decisions.filter(rule="end").count() == 2


def test_curve_of_a_workload_that_inserts_loads_before_each_run(team):
    properties = {"readproportion": "0.9", "insertproportion": "0.1", "updateproportion": "0"}
    sweep = submitted(team, properties=properties, search={**SEARCH, "curve_percent": [50, 100]})
    while sweep.decisions.last().state == State.SEARCHING:
        run = waiting(sweep)
        Run.objects.filter(pk=run.needs_id).update(status="succeeded", finished_at=timezone.now())
        end(run, **token_bucket(10_000)(run))
    queued = list(sweep.matrix.runs.filter(status="queued").order_by("created_at", "position"))
    assert [run.phase for run in queued] == ["load", "measure"] * 3
    assert all(run.needs == load for load, run in zip(queued[::2], queued[1::2], strict=True))
    low = sweep.decisions.last().low
    assert [run.target_ops_s for run in queued[1::2]] == [round(low / 2), round(low / 2), low]


def test_repeated_trial_is_no_longer_missing(team, user):
    sweep = submitted(team)
    end(waiting(sweep), reason=Reason.CLIENT_FAILED)
    repeat = waiting(sweep)
    assert repeat.rerun_of == sweep.runs.get(status="failed")
    drive(sweep, token_bucket(10_000))
    assert sweep.decisions.last().state == State.BRACKETED and lifecycle.resume(sweep.matrix, user) == 0


def test_threads_confirm_the_best_rung_with_fresh_runs(team):
    sweep = submitted(team, ladder="threads", threads=None, rungs=[1], search={**SEARCH, "max_trials": 14})
    answer = drive(sweep, lambda run: {"throughput": min(1000.0 * run.threads, 8000) - run.threads})
    assert answer.state == State.BRACKETED and answer.low < 8 <= answer.high
    assert answer.value_ops_s == pytest.approx(7992, abs=10)
    assert list(sweep.decisions.values_list("rule", flat=True))[-3:] == ["confirm", "confirm", "end"]
    assert sweep.runs.aggregate(most=Max("repeat"))["most"] == 3


def test_matrix_is_finished_only_after_its_searches(team):
    sweep = submitted(team)
    run = waiting(sweep)
    lifecycle.dispatch([run.pk])
    claim = claim_run(run.pk, "test")
    Run.objects.filter(pk=run.pk).update(throughput_ops_s=100.0, verdict="pass")
    make_measurement_set(Run.objects.get(pk=run.pk))
    lifecycle.finish(run.pk, claim, Status.SUCCEEDED)
    assert run_completion.look() == 0 and waiting(sweep) is not None


def test_decides_once_however_often_it_is_asked(team):
    """A restart is another look: what was decided stands, what was not is decided then."""
    sweep = submitted(team)
    end(waiting(sweep), 10_000.0)
    for _ in range(3):
        next_runs.steer([sweep.matrix_id])
    assert (sweep.decisions.count(), sweep.runs.count()) == (2, 2)
    drive(sweep, token_bucket(10_000))
    count = sweep.decisions.count()
    next_runs.steer([sweep.matrix_id])
    assert sweep.decisions.count() == count and waiting(sweep) is None


def test_limit_of_response_time_is_the_ceiling(team):
    sweep = submitted(team, search={**SEARCH, "slo": SLO, "max_trials": MAX_SLO_TRIALS})
    answer = drive(
        sweep,
        lambda run: {
            "throughput": run.target_ops_s or 10_000, "p99_us": 9000.0 if (run.target_ops_s or 0) > 6000 else 900.0,
        },
    )  # fmt: skip
    assert answer.state == State.BRACKETED and answer.low <= 6000 < answer.high
    assert answer.value_ops_s == answer.low  # conditional throughput
    texts = [trial.text for trial in next_runs.get_trials(sweep)]
    assert any("READ p99 9" in text for text in texts)


def test_limit_that_no_load_keeps_ends_the_search(team):
    search = {**SEARCH, "slo": SLO, "max_trials": 14}
    sweep = submitted(team, search=search)
    answer = drive(sweep, lambda run: {"throughput": run.target_ops_s or 10_000, "p99_us": 9000.0})
    assert (answer.state, answer.low, answer.value_ops_s) == (State.NO_LOAD, None, None)
    assert answer.sentence.startswith("No load keeps the limits")
    assert answer.sentence.endswith(": the last trial was not sustained: READ p99 9.00\N{NARROW NO-BREAK SPACE}ms.")
    assert sweep.runs.filter(status="succeeded").count() > 2


def test_latency_that_was_not_measured_ends_it_with_its_reason(team):
    sweep = submitted(team, search={**SEARCH, "slo": {**SLO, "operation": "UPDATE"}})
    answer = drive(sweep, token_bucket(10_000))
    assert answer.state == State.FAILED and "has no UPDATE p99 (response time)" in answer.sentence


def test_cluster_lost_in_the_middle_ends_it_and_keeps_the_points(team, user):
    sweep = submitted(team)
    server = token_bucket(10_000)
    for _ in range(2):
        run = waiting(sweep)
        end(run, **server(run))
    answer = drive(sweep, lambda run: {"reason": Reason.SERVER_LOST})
    assert (answer.state, sweep.runs.filter(status="succeeded").count()) == (State.FAILED, 2)
    assert "the server went away" in answer.sentence and sweep.runs.filter(status="failed").count() == 2
    assert lifecycle.resume(sweep.matrix, user) == 1  # Of a trial and its repeat the repeat.
    again = drive(sweep, server)
    assert again.state == State.BRACKETED and abs(again.value_ops_s / 10_000 - 1) < 0.02


def test_search_names_why_the_load_of_its_trial_failed(team):
    sweep = submitted(team)
    run = waiting(sweep)
    Run.objects.filter(pk=run.needs_id).update(
        status=Status.FAILED, reason=Reason.SERVER_DID_NOT_START, reason_detail="Connection refused."
    )
    lifecycle.transition(run.pk, Status.CANCELLED, actor="test", reason=Reason.LOAD_FAILED)
    run_completion.look()
    sentence = sweep.decisions.last().sentence
    assert sentence == "Ended without an answer: the server cannot be used. Connection refused."


def test_one_failed_trial_is_repeated(team):
    sweep = submitted(team)
    failures = iter([{"reason": Reason.CLIENT_FAILED}])
    answer = drive(sweep, lambda run: next(failures, None) or token_bucket(10_000)(run))
    assert answer.state == State.BRACKETED and sweep.decisions.get(rule="repeat").sentence == "A YCSB client failed."


def test_rejected_trial_counts_only_if_the_load_was_too_high(team):
    sweep = submitted(team)
    end(waiting(sweep), 10_000.0)
    end(waiting(sweep), 9400.0, verdict="reject", checks=[("V10", "reject")])
    assert sweep.decisions.last().rule == "lower"
    end(waiting(sweep), 8600.0, verdict="reject", checks=[("V14", "reject")])
    assert (
        sweep.decisions.last().rule == "repeat"
        and "rejected by Clients together (V14)" in sweep.decisions.last().sentence
    )


def test_trial_above_its_target_counts_as_its_target(team):
    sweep = submitted(team)
    end(waiting(sweep), 10_000.0)
    end(waiting(sweep), 10_200.0, verdict="warn", checks=[("V31", "warn")])
    (trial,) = [trial.trial for trial in next_runs.get_trials(sweep) if trial.run.target_ops_s]
    assert (trial.load, trial.throughput_ops_s, trial.sustained) == (9500, 9500, True)


def test_trial_far_above_its_target_is_repeated(team):
    sweep = submitted(team)
    end(waiting(sweep), 10_000.0)
    end(waiting(sweep), 12_000.0, verdict="reject", checks=[("V31", "reject")])
    assert (
        sweep.decisions.last().rule == "repeat"
        and "rejected by Target exceeded (V31)" in sweep.decisions.last().sentence
    )
    assert waiting(sweep).target_ops_s == 9500


def test_ceiling_of_the_clients_is_called_that(team):
    sweep = submitted(team)
    server = token_bucket(10_000)
    answer = drive(sweep, lambda run: {**server(run), "checks": [("V03", "warn")]})
    assert answer.state == State.CLIENT_LIMITED and "Add clients" in answer.sentence


def test_cancelled_trial_ends_it(team, user):
    sweep = submitted(team)
    end(waiting(sweep), 10_000.0)
    lifecycle.request_cancel_matrix(sweep.matrix, user)
    assert run_completion.look() == 1
    answer = sweep.decisions.last()
    assert answer.state == State.FAILED and "Cancelled by" in answer.sentence and waiting(sweep) is None


def test_bad_row_ends_its_own_search_alone(team, caplog):
    broken, sound = submitted(team), submitted(team)
    run = waiting(broken)
    broken.matrix.search = {"width": "?"}
    broken.matrix.save()
    end(run, 10_000.0)
    assert broken.decisions.last().state == State.FAILED and "could not go on" in broken.decisions.last().sentence
    end(waiting(sound), 10_000.0)
    assert sound.decisions.count() == 2


def test_trial_that_changes_its_data_gets_a_load_of_its_own(team):
    inserts = {"readproportion": "0.95", "updateproportion": "0", "insertproportion": "0.05"}
    sweep = submitted(team, properties=inserts)
    end(waiting(sweep), 10_000.0)
    run = waiting(sweep)
    assert run.needs.status == "queued" and run.needs.rerun_of_id is not None


def test_preview_gives_upper_bounds(team):
    plan = stored_plan(submitted(team).matrix)
    bound = preview(plan)
    assert (bound.problems, bound.is_bound, bound.runs, bound.loads) == ((), True, 8, 1)
    assert bound.seconds > 8 * 12


def test_preview_refuses_limits_that_cannot_be_judged(team):
    matrix = submitted(team).matrix
    matrix.ladder, matrix.rungs = "threads", [1]
    matrix.search = {**SEARCH, "slo": {**SLO, "operation": "SCAN"}}
    messages = [problem.message for problem in preview(stored_plan(matrix)).problems]
    assert any("no response time" in text for text in messages) and any("has no SCAN" in text for text in messages)


def test_each_sweep_of_a_submitted_search_has_first_decision(team):
    sweep = submitted(team)
    assert SearchDecision.objects.count() == Sweep.objects.filter(phase="measure").count() == 1
    decision = sweep.decisions.get()
    assert (decision.rule, decision.run) == ("probe", waiting(sweep))
    assert decision.sentence == "Measure what 16 threads reach without a target."
