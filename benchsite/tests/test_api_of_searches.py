"""Searches over REST: planned, followed to the answer, and extended."""

import pytest

from benchsite.tests.asking import make_program, problem
from runs.models import SearchDecision
from runs.results.measures.search import MAX_TRIALS
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_workload
from runs.tests.test_searches import drive, submitted, token_bucket

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_plan_takes_a_search(team):
    make_database(team=team, name="Redis", cluster=make_cluster(team=team, machines=[make_machine()]))
    make_workload(team=team, name="A")
    make_load_generator(name="lab-1")
    plan = {
        "entries": [{"database": "Redis", "mode": "always"}], "workloads": ["A"], "load_generators": ["lab-1"],
        "ladder": "target", "rungs": [], "threads": 8, "search": {"curve_percent": [90]}, "purpose": "demo",
    }  # fmt: skip
    answer = make_program(team).ask("POST", "/matrices", plan)
    assert answer.status_code == 201, answer.content
    search = answer.json()["search"]
    assert answer.json()["rungs"] == []
    assert (search["max_trials"], search["slo"], search["curve_percent"]) == (MAX_TRIALS, None, [90])


def test_rungs_of_a_search_over_targets_are_refused(team):
    plan = {"entries": [], "workloads": [], "ladder": "target", "rungs": [1000], "search": {}}
    refused = problem(make_program(team).ask("POST", "/matrices", plan), 400, "validation-error")
    assert [fault["pointer"] for fault in refused["errors"]] == ["#/rungs"]
    assert "leave them out" in refused["errors"][0]["detail"]
    without = {name: value for name, value in plan.items() if name != "rungs"}
    assert make_program(team).ask("POST", "/matrices", without).json()["rungs"] == []


def test_sweep_has_the_path_and_the_answer(team):
    sweep, program = submitted(team), make_program(team)
    problem(program.ask("POST", f"/sweeps/{sweep.pk}/extend"), 409, "conflict")
    drive(sweep, token_bucket(10_000))
    search = program.said(f"/sweeps/{sweep.pk}")["search"]
    assert (search["state"], len(search["trials"]), search["trials"][0]["rule"]) == ("bracketed", 7, "probe")
    assert search["low"] < search["throughput_ops_s"] < 1.03 * search["high"] and search["trials"][-1]["run"] is None
    # A run that decides what the curve leaves open takes no answer away.
    last = sweep.decisions.order_by("number").last()
    SearchDecision.objects.create(sweep=sweep, number=last.number + 1, state=last.state, rule="decide", low=last.low)
    assert program.said(f"/sweeps/{sweep.pk}")["search"]["throughput_ops_s"] == search["throughput_ops_s"]
    extended = program.ask("POST", f"/sweeps/{sweep.pk}/extend").json()
    assert sum(run["status"] == "queued" for point in extended["points"] for run in point["runs"]) == 2
