"""The pages that ask before runs are deleted: for admins, naming the runs, saying what stays and why."""

import pytest

from benchsite.accounts.models import Role
from conftest import signed_in
from runs.models import Run
from runs.tests.factories import make_run, make_sweep, make_user
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def admin(team):
    return signed_in(make_user(team=team, role=Role.ADMIN, username="ada"))


def test_it_asks_naming_the_run_and_deletes_it(admin, team):
    run = make_run(make_sweep(team=team, name="redis always A"))
    assert f"/runs/{run.pk}/delete/" in get_text(admin.get(f"/runs/{run.pk}/"))
    page = get_text(admin.get(f"/runs/{run.pk}/delete/"))
    assert "Delete the run “redis always A 2t r1”?" in page
    assert Run.objects.exists()
    answer = admin.post(f"/runs/{run.pk}/delete/", follow=True)
    assert "“redis always A 2t r1” was deleted." in get_text(answer)
    assert not Run.objects.exists()


def test_it_says_why_a_run_stays(admin, team):
    load = make_run(make_sweep(team=team, phase="load", name="the load"))
    make_run(make_sweep(team=team, name="the measure"), needs=load)
    page = get_text(admin.get(f"/runs/{load.pk}/delete/"))
    assert "Nothing can be deleted now." in page
    assert "the measure 2t r1" in page
    admin.post(f"/runs/{load.pk}/delete/")
    assert Run.objects.filter(pk=load.pk).exists()


def test_the_ticked_runs_are_asked_about_and_deleted(admin, team):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, threads=threads) for threads in (2, 4)]
    waiting = make_run(sweep, threads=8, status="queued")
    keys = [str(run.pk) for run in [*runs, waiting]]
    page = get_text(admin.post("/runs/bulk/", {"action": "delete", "run": keys}))
    assert "Delete 2 runs?" in page
    assert "has not ended yet" in page
    assert Run.objects.count() == 3
    answer = admin.post("/runs/delete/", {"run": [str(run.pk) for run in runs]}, follow=True)
    assert "2 runs were deleted." in get_text(answer)
    assert list(Run.objects.all()) == [waiting]


def test_nothing_ticked_is_said(admin):
    assert "Select runs first" in get_text(admin.post("/runs/bulk/", {"action": "delete"}, follow=True))


def test_only_admins_are_offered_it_and_may_do_it(client_in, team):
    run = make_run(make_sweep(team=team))
    assert "Delete …" not in get_text(client_in.get("/runs/"))
    assert "Delete …" not in get_text(client_in.get(f"/runs/{run.pk}/"))
    assert client_in.get(f"/runs/{run.pk}/delete/").status_code == 403
    assert client_in.post(f"/runs/{run.pk}/delete/").status_code == 403
    assert client_in.post("/runs/delete/", {"run": str(run.pk)}).status_code == 403
    assert Run.objects.exists()


def test_a_run_of_another_team_is_not_there(stranger, team):
    run = make_run(make_sweep(team=team))
    assert stranger.get(f"/runs/{run.pk}/delete/").status_code == 404
    assert stranger.post(f"/runs/{run.pk}/delete/").status_code == 404
    stranger.post("/runs/delete/", {"run": str(run.pk)})
    assert Run.objects.exists()
