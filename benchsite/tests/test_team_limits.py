"""A team holds no more than the operator allows: refused with the limit's name, nothing stored, visible to admins."""

import pytest

from benchsite.accounts.models import ApiToken, Role, Team
from benchsite.tests.asking import make_program, problem
from conftest import signed_in
from runs.models import Run, Upload
from runs.models.run import Status
from runs.queue import lifecycle
from runs.tests.factories import make_run, make_sweep, make_user
from runs.tests.importing import import_folder, summary
from runs.tests.planning_world import a_matrix
from runs.tests.programs import Program

__all__ = ["import_folder"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def limit(settings):
    """Sets one limit."""

    def to(name, number):
        settings.LIMITS = {**settings.LIMITS, name: number}

    return to


def refused(response, name):
    assert response.status_code == 403
    assert f"The limit {name} is reached" in response.content.decode()


def test_teams_of_a_person_are_limited(team, admin, limit):
    limit("teams-per-person", 2)
    browser = signed_in(admin)
    assert browser.post("/team/new/", {"name": "Second"}).status_code == 302
    refused(browser.post("/team/new/", {"name": "Third"}), "teams-per-person")
    assert not Team.objects.filter(name="Third").exists()


def test_tokens_of_a_team_are_limited(team, admin, limit):
    limit("tokens-per-team", 1)
    fields = {"name": "ci", "scopes": ["runs:read"], "days": 30}
    browser = signed_in(admin)
    assert browser.post("/team/tokens/", fields).status_code == 200
    refused(browser.post("/team/tokens/", fields), "tokens-per-team")
    ApiToken.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert browser.post("/team/tokens/", fields).status_code == 200


def test_queued_runs_of_a_team_are_limited(team, admin, limit):
    matrix = a_matrix(team)
    limit("queued-runs-per-team", 5)
    refused(signed_in(admin).post(f"/matrices/{matrix.pk}/submit/"), "queued-runs-per-team")
    answer = problem(make_program(team).ask("POST", f"/matrices/{matrix.pk}/submit"), 403, "limit-reached")
    assert answer["limit"] == "queued-runs-per-team"
    assert not Run.objects.filter(matrix=matrix).exists()


def test_repeating_a_run_is_limited_too(team, admin, limit):
    ended = make_run(make_sweep(team=team), throughput=1000.0)
    limit("queued-runs-per-team", 1)
    lifecycle.run_again(ended, admin)
    refused(signed_in(admin).post(f"/runs/{ended.pk}/again/"), "queued-runs-per-team")
    assert Run.objects.filter(team=team, status=Status.QUEUED).count() == 1


@pytest.mark.usefixtures("import_folder")
def test_storage_of_a_team_is_limited(team, admin, limit):
    program = Program(team, admin)
    limit("storage-per-team", 100)
    answer = program.post(("a.txt", summary()))
    assert problem(answer, 403, "limit-reached")["limit"] == "storage-per-team"
    assert not Upload.objects.filter(team=team).exists()
    limit("storage-per-team", 0)
    assert program.post(("a.txt", summary())).status_code == 201


def test_uploads_of_all_tokens_are_limited(team, limit):
    """Another token of the team does not help; another team is not concerned."""
    limit("uploads-per-team", 2)
    programs = [make_program(team) for _ in range(3)]
    uploads = [program.ask("POST", "/runs", b"", content_type="multipart/form-data") for program in programs]
    assert [upload.status_code == 429 for upload in uploads] == [False, False, True]
    assert problem(uploads[2], 429, "quota-exceeded")["limit"] == "uploads-per-team"
    assert 1 <= int(uploads[2]["Retry-After"]) <= 3600
    other = make_program(Team.objects.create(name="Other", slug="other"))
    assert other.ask("POST", "/runs", b"", content_type="multipart/form-data").status_code != 429


def test_admins_see_what_is_used(team, admin, limit, django_assert_max_num_queries):
    limit("storage-per-team", 0)
    make_run(make_sweep(team=team), status="queued")
    make_program(team)
    browser = signed_in(admin)
    browser.get("/team/limits/")
    with django_assert_max_num_queries(12):
        page = browser.get("/team/limits/").content.decode()
    assert "20,000" in page and "no limit" in page and "tokens-per-team" in page
    viewer = make_user(team=team, role=Role.VIEWER, username="viola")
    assert signed_in(viewer).get("/team/limits/").status_code == 403
