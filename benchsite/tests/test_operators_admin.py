"""The operators' admin: every list and page opens, and what happened cannot be rewritten there."""

import pytest
from django.contrib import admin
from django.test import Client

from runs.models import Run
from runs.tests.factories import make_client_run, make_load_generator, make_run, make_sweep, make_user
from runs.tests.pages import count_queries

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def operator(team):
    client = Client()
    client.force_login(make_user(team=team, username="olga", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def run(team):
    generator = make_load_generator()
    run = make_run(make_sweep(team=team), generators=[generator], status="queued")
    make_client_run(run, generator=generator)
    return run


@pytest.mark.parametrize("model", [m._meta.label_lower for m in admin.site._registry])
def test_every_list_and_every_row_opens(operator, run, model):
    app, name = model.split(".")
    assert operator.get(f"/admin/{app}/{name}/?q=x").status_code == 200 or not admin.site._registry
    assert operator.get(f"/admin/{app}/{name}/").status_code == 200
    row = next(m for m in admin.site._registry if m._meta.label_lower == model)._default_manager.first()
    if row is not None:
        assert operator.get(f"/admin/{app}/{name}/{row.pk}/change/").status_code == 200


def test_status_cannot_be_written(operator, run):
    page = operator.get(f"/admin/runs/run/{run.pk}/change/").content.decode()
    assert 'name="status"' not in page
    assert 'name="verdict"' not in page
    form = {
        "status": "succeeded", "verdict": "pass", "priority": "7", "tags": "a,b", "notes": "seen",
        "client_runs-TOTAL_FORMS": "0", "client_runs-INITIAL_FORMS": "0",
        "events-TOTAL_FORMS": "0", "events-INITIAL_FORMS": "0",
    }  # fmt: skip
    operator.post(f"/admin/runs/run/{run.pk}/change/", form)
    after = Run.objects.get(pk=run.pk)
    assert (after.status, after.verdict) == ("queued", "")
    assert (after.priority, after.tags, after.notes) == (7, ["a", "b"], "seen")


def test_runs_are_neither_made_nor_deleted_there(operator, run):
    assert operator.get("/admin/runs/run/add/").status_code == 403
    assert operator.post(f"/admin/runs/run/{run.pk}/delete/").status_code == 403


def test_a_list_makes_no_more_queries_for_more_runs(operator, run, team):
    few = count_queries(operator, "/admin/runs/run/")
    for _ in range(10):
        make_run(make_sweep(team=team))
    assert count_queries(operator, "/admin/runs/run/") == few


def test_members_who_are_no_operators_have_no_admin(client_in):
    assert client_in.get("/admin/").status_code == 302
