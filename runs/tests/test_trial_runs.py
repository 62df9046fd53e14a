"""A trial run tries every cell of a plan for seconds, over a data set of its own, before the plan is submitted."""

import datetime as dt

import pytest
from django.utils import timezone

from benchsite.accounts import tokens
from benchsite.accounts.models import Scope
from runs.models import Cluster, Matrix, Run
from runs.models.run import Phase, Status
from runs.plans import PlanError, expand, plan, preview, start_trial, stored_plan, submit
from runs.plans.pages.trial import get_newest_trial
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.queue.remedies import remedy
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_matrix, make_workload
from runs.tests.pages import get_text
from runs.ycsb.command import TAIL_S

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DIGESTS = {"redis": "1" * 64, "postgresql": "2" * 64}
PROPERTIES = {"recordcount": "2000000", "readproportion": "0.5", "updateproportion": "0.5"}


@pytest.fixture
def matrix(team):
    """A plan of hours over Redis and PostgreSQL."""
    cluster = make_cluster(team=team)
    redis, postgresql = (make_database(team=team, cluster=cluster, system=system) for system in DIGESTS)
    return make_matrix(
        team=team, name="Nightly", purpose="measured", entries=[(redis, "always"), (postgresql, "on")],
        workloads=[make_workload(team=team, properties=PROPERTIES)], rungs=[2, 4, 8, 64], repeats=5, bracket=True,
        load_generators=[make_load_generator(bindings=DIGESTS) for _ in range(2)], warmup_s=60, min_measure_s=180,
        max_measure_s=180, submitted_at=None, tags=["lab"], looks=[5, 9],
        overrides=[{"match": {"mode": "on"}, "set": {"rungs": [4, 8, 16], "recordcount": 5000}}],
    )  # fmt: skip


def end(run, *, seconds, throughput_ops_s=5000.0, **fields):
    """The run ends after so many seconds."""
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(
        status=fields.pop("status", Status.SUCCEEDED), started_at=now - dt.timedelta(seconds=seconds), finished_at=now,
        throughput_ops_s=throughput_ops_s, **fields,
    )  # fmt: skip


def test_trial_is_a_small_matrix_of_its_own(matrix, user):
    trial = start_trial(matrix, user)
    assert (trial.trial_of, trial.purpose, trial.tags, trial.bracket) == (matrix, "smoke", ["lab", "trial"], False)
    measured = trial.runs.filter(phase=Phase.MEASURE)
    assert sorted(measured.values_list("mode", "threads")) == [("always", 2), ("always", 64), ("on", 4), ("on", 16)]
    assert trial.runs.filter(phase=Phase.LOAD).count() == 2
    for run in trial.runs.all():
        assert run.spec["dataset"]["records"] == 1000
        assert run.spec["workload"]["properties"]["table"] == "usertable_trial"
        assert (run.spec["window"]["warmup_s"], run.spec["window"]["min_measure_s"]) == (0, 10)
        assert run.load_generators.count() == 2
        assert run.config_key == ""  # Of no history, noise floor or baseline.
    matrix.refresh_from_db()
    assert (matrix.submitted_at, matrix.runs.count()) == (None, 0)
    assert preview(stored_plan(matrix)).runs == (4 + 3) * 5


def test_trial_ends_by_time_whatever_operations_are_due(matrix, user):
    due = [{"match": {"mode": "on"}, "set": {"min_operations": 9000}}]
    Matrix.objects.filter(pk=matrix.pk).update(ladder="target", threads=8, rungs=[10], min_operations=6, overrides=due)
    trial = start_trial(matrix, user)
    windows = trial.runs.filter(phase=Phase.MEASURE).values_list("spec__window__min_measure_s", flat=True)
    assert set(windows) == {10}


def test_external_server_without_tables_is_left_alone(matrix, user):
    """PostgreSQL gets a table of its own; a Redis database holds one data set."""
    Cluster.objects.update(provisioner="external")
    trial = start_trial(matrix, user)
    assert set(trial.runs.values_list("system", flat=True)) == {"postgresql"}
    assert get_newest_trial(matrix)["exclusions"] == [
        "Redis has no tables: a trial would replace the data set of the external server."
    ]
    matrix.entries.filter(mode="on").delete()
    lifecycle.request_cancel_matrix(trial, user)
    with pytest.raises(PlanError, match="Everything is excluded"):
        start_trial(matrix, user)
    assert Matrix.objects.filter(trial_of=matrix).count() == 1


def test_search_is_tried_on_fixed_rungs(matrix, user):
    search = {"width": 0.05, "max_trials": 12, "max_error_rate": 0.01, "slo": None}
    Matrix.objects.filter(pk=matrix.pk).update(search=search, ladder="target", threads=16, rungs=[], overrides=[])
    trial = start_trial(matrix, user)
    measured = trial.runs.filter(phase=Phase.MEASURE)
    assert sorted(measured.values_list("mode", "threads", "target_ops_s")) == [("always", 16, None), ("on", 16, None)]


def test_refuses_what_cannot_be_tried(matrix, user):
    start_trial(matrix, user)
    with pytest.raises(PlanError, match="is running"):
        start_trial(matrix, user)
    submit(matrix, user)
    with pytest.raises(PlanError, match="not submitted yet"):
        start_trial(matrix, user)


def test_measured_durations_replace_assumed_ones(matrix, user):
    assumed = preview(stored_plan(matrix)).seconds
    trial = start_trial(matrix, user)
    for run in trial.runs.filter(mode="always"):
        # 1,000 records in 4 s and 8 s beside them; 10 s measured, 1 s of tail and 6 s beside them.
        end(run, **({"seconds": 12, "throughput_ops_s": 250} if run.phase == Phase.LOAD else {"seconds": 17}))
    for run in trial.runs.filter(mode="on", phase=Phase.LOAD):
        end(run, seconds=3, throughput_ops_s=4000)  # Too short to tell the rate.
    runs = expand(stored_plan(matrix)).runs
    seconds = {(run.sweep.entry.mode, run.phase): run.expected_s for run in runs}
    assert seconds["always", "measure"] == pytest.approx(60 + 180 + TAIL_S + 6, abs=0.01)
    assert seconds["always", "load"] == pytest.approx(8 + 2_000_000 / 250, abs=0.01)
    assert seconds["on", "measure"] == 60 + 180 + TAIL_S + plan.ASSUMED.run_s
    assert seconds["on", "load"] == pytest.approx(2.75 + 5000 / plan.ASSUMED.load_records_s, abs=0.01)
    assert preview(stored_plan(matrix)).seconds > assumed
    submit(matrix, user)
    load = matrix.runs.get(mode="always", phase=Phase.LOAD)
    assert load.expected_s == pytest.approx(8 + 2_000_000 / 250, abs=0.01)


def test_page_lists_failing_cells_and_submits(matrix, user, client_in):
    trial = start_trial(matrix, user)
    load = trial.runs.get(mode="always", phase=Phase.LOAD)
    lifecycle.transition(
        load.pk, Status.FAILED, actor="test", reason=Reason.MODE_NOT_IN_FORCE, reason_detail="appendfsync is no."
    )
    for run in trial.runs.exclude(mode="always"):
        end(run, seconds=20, verdict="pass")
    cells = {cell["run"].mode: cell for cell in get_newest_trial(matrix)["cells"]}
    assert [cell["state"] for cell in cells.values()] == ["failed", "passed"]
    assert cells["always"]["run"] == load
    page = get_text(client_in.get(f"/matrices/{matrix.pk}/"))
    assert "1 of 2 sweeps passed" in page and "appendfsync is no." in page
    assert remedy(Reason.MODE_NOT_IN_FORCE)[:40] in page
    page = get_text(client_in.get(f"/matrices/{trial.pk}/"))
    assert f'of <a href="/matrices/{matrix.pk}/">Nightly</a>' in page
    client_in.post(f"/matrices/{matrix.pk}/submit/", {"submit": "1"})
    matrix.refresh_from_db()
    assert matrix.submitted_at and matrix.runs.count() == 38


def test_rejected_run_fails_its_cell(matrix, user):
    trial = start_trial(matrix, user)
    for run in trial.runs.all():
        end(run, seconds=20, verdict="reject" if run.threads == 64 else "pass")
    assert [cell["state"] for cell in get_newest_trial(matrix)["cells"]] == ["failed", "passed"]


def test_builder_offers_a_trial_of_long_plans(matrix, client_in):
    page = client_in.get("/matrices/new/", {"from": matrix.pk})
    assert "Trial run first" in page.content.decode()
    assert not preview(stored_plan(make_matrix(team=matrix.team, submitted_at=None))).offers_trial
    posted = page.context["form"].as_posted()
    answer = client_in.post("/matrices/new/", {**dict(posted.lists()), "trial": "1"})
    kept = Matrix.objects.get(name="Nightly (again)")
    assert answer.url == f"/matrices/{kept.pk}/"
    assert (kept.submitted_at, kept.trials.get().runs.count()) == (None, 6)


def test_programs_try_a_plan(matrix, user, client):
    token = tokens.make(matrix.team, user, name="CI", scopes=[Scope.MATRICES_RUN])
    headers = {"Authorization": f"Bearer {token}"}
    address = f"/api/v1/matrices/{matrix.pk}/trial"
    assert client.get(address, headers=headers).status_code == 404
    answer = client.post(address, headers=headers)
    assert answer.status_code == 201 and answer.json()["unfinished"] == 2
    refused = client.post(address, headers=headers)
    assert refused.status_code == 422 and "is running" in refused.json()["detail"]
    trial = client.get(f"/api/v1/matrices/{answer.json()['matrix']}", headers=headers).json()
    assert trial["trial_of"] == str(matrix.pk)
    assert {cell["state"] for cell in client.get(address, headers=headers).json()["cells"]} == {"waits"}
