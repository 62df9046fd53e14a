"""Another team's runs, matrices and artifacts look like ones that do not exist, by every address and every method."""

import uuid

import pytest
from django.test import Client

from runs.models import Matrix, Run
from runs.results import artifacts
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import artifact_folder

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

OF_A_RUN = ("", "live/", "cancel/", "again/", "annotate/", "exclude/")
OF_A_MATRIX = ("", "live/", "cancel/", "resume/", "add-repeats/", "notes/")
READ = ("", "live/")


@pytest.fixture
def run(team):
    return make_run(make_sweep(team=team, name="secret sweep"), status="queued", tags=["secret-tag"])


def ask(client, url, what):
    """GET where there is something to read, POST where there is something to do."""
    return client.get(url) if what in READ else client.post(url, {"tags": "x", "notes": "x", "reason": "x"})


@pytest.mark.parametrize("what", OF_A_RUN)
def test_a_run_is_not_there(stranger, run, what):
    there = ask(stranger, f"/runs/{run.pk}/{what}", what)
    nowhere = ask(stranger, f"/runs/{uuid.uuid4()}/{what}", what)
    assert there.status_code == nowhere.status_code == 404
    unchanged = Run.objects.get(pk=run.pk)
    assert (unchanged.status, unchanged.tags, unchanged.notes, unchanged.excluded_reason) == (
        "queued",
        ["secret-tag"],
        "",
        "",
    )
    assert Run.objects.count() == 1


@pytest.mark.parametrize("what", OF_A_MATRIX)
def test_a_matrix_is_not_there(stranger, run, what):
    assert ask(stranger, f"/matrices/{run.matrix_id}/{what}", what).status_code == 404
    assert Matrix.objects.get(pk=run.matrix_id).notes == ""
    assert Run.objects.get(pk=run.pk).status == "queued"


def test_an_artifact_is_not_there(stranger, run, artifact_folder):
    kept = artifacts.store(run, "stderr", "a", b"secret")
    assert stranger.get(f"/artifacts/{kept.pk}/").status_code == 404


@pytest.mark.parametrize("what", ["live/"])
def test_a_figure_is_not_there(stranger, run, what):
    assert stranger.get(f"/figures/runs/{run.pk}/{what}").status_code == 404


@pytest.mark.parametrize("url", ["/runs/?phase=any", "/", "/queue/", "/load-generators/", "/runs/?q=secret&phase=any"])
def test_no_list_names_it(stranger, run, url):
    page = stranger.get(url).content.decode()
    assert "secret sweep" not in page
    assert "secret-tag" not in page
    assert str(run.pk) not in page


def test_no_csv_names_it(stranger, run):
    body = b"".join(stranger.get("/runs.csv?phase=any").streaming_content).decode()
    assert "secret" not in body


@pytest.mark.parametrize(
    "url", ["/runs/", "/runs.csv", "/", "/queue/", "/load-generators/", "/runs/{run}/", "/matrices/{matrix}/"]
)
def test_nobody_reads_without_signing_in(run, url):
    response = Client().get(url.format(run=run.pk, matrix=run.matrix_id))
    assert response.status_code == 302
    assert response.url.startswith("/sign-in/")
