"""A query sees the rows of one team, and raises where no team is known; what crosses teams says so."""

import subprocess
import sys
import threading

import pytest
from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Prefetch

from benchsite.accounts import tenancy
from benchsite.accounts.models import Role, Team
from benchsite.accounts.tenancy import TeamManager, TeamRequired, all_teams
from conftest import signed_in
from runs.models import Matrix, Run, Sweep
from runs.results import artifacts
from runs.tests.factories import make_matrix, make_run, make_sweep, make_team, make_user
from runs.tests.pages import artifact_folder

__all__ = ["artifact_folder"]
pytestmark = pytest.mark.django_db
# Membership decides which team is entered; the audit log also has entries of no team.
ACROSS_TEAMS = {"teams.Membership", "teams.AuditEntry"}
CONTENT = b"[OVERALL], RunTime(ms), 10\n"


@pytest.fixture
def others():
    return make_team(name="Others")


@pytest.fixture
def request_begins():
    tenancy.begin_request()
    yield
    tenancy.leave()


def has_team(model):
    try:
        return model._meta.get_field("team").related_model is Team
    except FieldDoesNotExist:
        return False


def test_every_model_with_a_team_is_isolated():
    plain = {
        model._meta.label
        for model in apps.get_models()
        if has_team(model) and not isinstance(model._default_manager, TeamManager)
    }
    assert plain == ACROSS_TEAMS


@pytest.mark.parametrize(
    "query",
    [
        lambda: Run.objects.count(),
        lambda: Run.objects.exists(),
        lambda: Run.objects.exclude(name=""),
        lambda: Run.objects.in_bulk(),
        lambda: Run.objects.all(),
        lambda: Run.objects.update(notes=""),
        lambda: Run.objects.raw("SELECT * FROM runs_run").query,
        lambda: Matrix.objects.prefetch_related(Prefetch("runs", Run.objects.order_by("pk"))),
    ],
)
def test_query_without_a_team_raises(request_begins, query):
    with pytest.raises(TeamRequired, match="no team was entered"):
        query()


def test_reverse_relation_without_a_team_raises(team, request_begins):
    with pytest.raises(TeamRequired):
        team.matrices.count()
    assert not Run.objects.none()


def test_request_sees_the_rows_of_its_team_only(team, others, request_begins):
    with all_teams():
        mine, theirs = make_matrix(team=team), make_matrix(team=others)
    tenancy.enter(team.pk)
    assert list(Matrix.objects.all()) == [mine]
    assert not Matrix.objects.filter(pk=theirs.pk).update(notes="changed")
    assert not others.matrices.exists()
    assert list(Team.objects.prefetch_related("matrices").get(pk=others.pk).matrices.all()) == []
    with all_teams():
        assert Matrix.objects.count() == 2
    assert Matrix.objects.count() == 1


def test_scope_returns_after_an_error(team, request_begins):
    tenancy.enter(team.pk)
    with pytest.raises(ValueError, match="inside"), all_teams():
        raise ValueError("inside")
    assert not Matrix.objects.exists()


def test_scope_ends_with_the_request(team, others, client_in):
    make_matrix(team=others)
    assert client_in.get("/matrices/").status_code == 200
    assert Matrix.objects.count() == 1


def test_streamed_body_has_the_rows_of_the_team(team, others, client_in):
    make_run(make_sweep(team=team, name="of the team"))
    make_run(make_sweep(team=others, name="of others"))
    body = b"".join(client_in.get("/runs.csv?phase=any").streaming_content).decode()
    assert "of the team" in body and "of others" not in body


def test_threads_of_other_processes_see_all_teams(team):
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(Sweep.objects.all())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2


def test_requests_in_threads_keep_their_teams(team, others):
    """Two requests that go on at the same time, each in its thread."""
    entered, seen = threading.Barrier(2, timeout=10), {}

    def serve(key):
        tenancy.begin_request()
        tenancy.enter(key)
        entered.wait()
        seen[key] = str(Matrix.objects.all().query)
        tenancy.leave()

    threads = [threading.Thread(target=serve, args=[row.pk]) for row in (team, others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert str(team.pk.hex) in seen[team.pk].replace("-", "") and str(others.pk.hex) not in seen[team.pk]
    assert seen[team.pk] != seen[others.pk]


@pytest.mark.slow
def test_web_server_begins_without_a_team():
    """It loads all its pages, so none of them has made a query of rows."""
    code = (
        "import benchsite.wsgi\n"
        "from benchsite.accounts.tenancy import TeamRequired\n"
        "from runs.models import Run\n"
        "try: Run.objects.count()\n"
        "except TeamRequired as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no team was entered" in done.stdout


@pytest.mark.django_db(transaction=True)
def test_content_of_another_team_survives_a_deletion(artifact_folder):
    """The same file of two teams is stored once. It is deleted after the commit, while the request still goes on."""
    team, others = make_team(), make_team()
    mine, theirs = make_run(make_sweep(team=team)), make_run(make_sweep(team=others))
    for run in (mine, theirs):
        kept = artifacts.store(run, "summary", "client-0.txt", CONTENT)
    admin = signed_in(make_user(team=team, role=Role.ADMIN))
    assert admin.post(f"/runs/{mine.pk}/delete/").status_code == 302
    assert not Run.objects.filter(pk=mine.pk).exists()
    assert b"".join(artifacts.chunks(kept.sha256)) == CONTENT


def test_administration_shows_all_teams(team, others, client):
    operator = make_user(team=team, username="operator", is_staff=True, is_superuser=True)
    client.force_login(operator)
    make_matrix(team=others, name="of others")
    assert "of others" in client.get("/admin/runs/matrix/").content.decode()
