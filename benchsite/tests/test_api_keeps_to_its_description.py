"""Requests that the description allows, and such that it does not, meet no failure and nothing undescribed."""

import pytest

from benchsite.accounts import tokens
from benchsite.accounts.models import Role, Scope, Webhook
from benchsite.tests.describing import ask_each, described, walk
from runs.results import artifacts
from runs.tests.factories import (
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_schedule,
    make_sweep,
    make_team,
    make_user,
    make_workload,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning"),
]
SEED = 20_260_301


@pytest.fixture
def token(settings):
    settings.API_REQUESTS_PER_MINUTE = settings.API_UPLOADS_PER_MINUTE = 0
    team = make_team(name="Asked")
    return tokens.make(team, make_user(team=team, role=Role.ADMIN), name="all", scopes=list(Scope.values))


@pytest.fixture
def known(token):
    """Keys of what is there, by the name of the parameter that takes them."""
    team = tokens.find_bearer(token).team
    database, workload = make_database(team=team), make_workload(team=team)
    generator = make_load_generator()
    sweep = make_sweep(team=team, database=database, workload=workload)
    runs = [make_run(sweep, threads=2**n, findings=[{}]) for n in range(3)]
    kept = artifacts.store(runs[0], "summary", "client-0.txt", b"[OVERALL], RunTime(ms), 10\n")
    waiting = make_matrix(
        team=team,
        entries=[(database, "always")],
        workloads=[workload],
        load_generators=[generator],
        submitted_at=None,
    )
    hooks = [Webhook.objects.create(team=team, name=f"{n}", url="https://127.0.0.1/", kinds=[]) for n in range(2)]
    return {
        "webhook_id": [str(hook.pk) for hook in hooks],
        "schedule_id": [str(make_schedule(team, sweep.matrix).pk) for _ in range(2)],
        "run_id": [str(run.pk) for run in runs],
        "sweep_id": [str(sweep.pk)],
        "matrix_id": [str(waiting.pk), str(sweep.matrix_id)],
        "operation": ["READ"],
        "name": [database.name, workload.name, database.cluster.name, "bench-01"],
        "sha256": [kept.sha256],
    }


def test_every_endpoint_keeps_to_the_description(token, known):
    answered = ask_each(described(), token, known, examples=2, seed=SEED)
    assert all(statuses for statuses in answered.values())
    assert not any(status >= 500 for statuses in answered.values() for status in statuses - {503})
    assert 200 in answered["GET /api/v1/runs/{run_id}"]


def test_it_is_kept_to_from_one_request_to_the_next(token, known):
    walk(described(), token, examples=4, steps=8, seed=SEED)


@pytest.mark.long
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_kept_to_for_long(token, known, seed):
    ask_each(described(), token, known, examples=150, seed=seed)
    walk(described(), token, examples=60, steps=20, seed=seed)
