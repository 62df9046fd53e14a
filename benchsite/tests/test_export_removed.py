"""`manage.py export_removed` saves what people wrote for features that this release no longer has."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from runs.tests.factories import make_matrix, make_team

pytestmark = pytest.mark.django_db


def export(folder) -> str:
    output = StringIO()
    call_command("export_removed", folder, stdout=output)
    return output.getvalue()


def test_exports_matrices_that_were_run_by_hand(tmp_path):
    matrix = make_matrix(team=make_team(name="Durability"), name="Laptops")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runs_matrix SET by_hand = true, plan = 'format = 1', notes = 'Two laptops.'")

    printed = export(tmp_path / "removed")

    assert "matrices-run-by-hand: 1" in printed
    assert json.loads((tmp_path / "removed" / "matrices-run-by-hand.json").read_text()) == [
        {"id": str(matrix.pk), "team": "Durability", "name": "Laptops", "notes": "Two laptops.", "plan": "format = 1"}
    ]


def test_exports_which_studies_matrices_followed(tmp_path):
    matrix = make_matrix(team=make_team(name="Durability"), name="As Vari")
    with connection.cursor() as cursor:
        cursor.execute("""UPDATE runs_matrix SET template = '{"study": "vari-2013"}'""")

    export(tmp_path)

    assert json.loads((tmp_path / "matrices-of-published-studies.json").read_text()) == [
        {"id": str(matrix.pk), "team": "Durability", "name": "As Vari", "template": {"study": "vari-2013"}}
    ]


def test_writes_no_file_where_nothing_was_removed(tmp_path):
    make_matrix()

    assert "matrices-run-by-hand: 0" in export(tmp_path)
    assert not list(tmp_path.iterdir())
