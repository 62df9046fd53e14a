"""The migration that removed runs by hand: results stay as uploads, and cells without outputs go."""

from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from runs.models import Matrix, Run, Sweep, Upload
from runs.tests.factories import make_matrix, make_run, make_sweep, make_team

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def matrix() -> Matrix:
    """As the previous release stored it: one filled cell, one that waits, and a sweep of which all wait."""
    team = make_team()
    matrix = make_matrix(team=team, notes="Two laptops.")
    filled, waiting = make_sweep(team=team, matrix=matrix), make_sweep(team=team, matrix=matrix)
    measured = make_run(filled, threads=2)
    make_run(filled, threads=4, status="queued")
    make_run(waiting, threads=2, status="queued")
    upload = Upload.objects.create(team=team, state=Upload.State.SAVED, saved_at=timezone.now())
    Run.objects.filter(pk=measured.pk).update(upload=upload)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_matrix SET by_hand = true, plan = 'format = 1' WHERE id = %s", [matrix.pk])
        cursor.execute("UPDATE runs_run SET source = 'by_hand' WHERE matrix_id = %s", [matrix.pk])
        cursor.execute("UPDATE runs_upload SET matrix_id = %s WHERE id = %s", [matrix.pk, upload.pk])
    return matrix


def convert() -> None:
    with connection.cursor() as cursor:
        for statement in import_module("runs.migrations.0048_no_runs_by_hand").CONVERT:
            cursor.execute(statement)


def test_results_stay_as_an_uploaded_sweep(matrix):
    convert()

    run = Run.objects.get()
    assert (run.source, run.matrix, run.status) == ("uploaded", None, "succeeded")
    assert run.measurement_sets.count() == 1
    assert Sweep.objects.get().matrix is None
    assert not Upload.objects.exists()


def test_matrix_stays_as_a_draft(matrix):
    convert()

    draft = Matrix.objects.get()
    assert (draft.submitted_at, draft.notes) == (None, "Two laptops.")


def test_nothing_else_changes(matrix):
    scheduled = make_run(make_sweep())

    convert()

    scheduled.refresh_from_db()
    assert scheduled.source == "scheduled" and scheduled.matrix is not None
    assert scheduled.sweep.matrix.submitted_at is not None
