"""What a small upload asks of PostgreSQL: each statement costs as much as reading some hundred lines."""

import pytest

from runs.models import Artifact, Finding, Measurement, Run, Series
from runs.results.recording.bulk_insert import insert_together
from runs.tests.importing import import_folder, summary
from runs.tests.programs import Program

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder")]
# The token, the key and its lock, the workload of that name, thresholds, the content's locks, all rows together; around
# them a savepoint and its end, which outside of a test are the transaction's.
STATEMENTS = 8


def test_it_takes_few_statements_however_many_files(team, user, django_assert_max_num_queries):
    program = Program(team, user)
    assert program.post().status_code == 201  # what is remembered for the next ones
    for clients in (1, 4):
        files = [(f"client-{number}.txt", summary(reads=50_000 + number)) for number in range(1, clients + 1)]
        with django_assert_max_num_queries(STATEMENTS):
            assert program.post(*files).status_code == 201
    assert Artifact.objects.filter(run=Run.objects.latest("created_at")).count() == 4


def test_rows_inserted_together_are_as_django_makes_them(team, user):
    assert Program(team, user).post().status_code == 201
    run = Run.objects.get()
    for model, rows in (
        (Finding, Finding.objects.filter(measurement_set__run=run)),
        (Measurement, Measurement.objects.filter(measurement_set__run=run)),
        (Series, Series.objects.filter(run=run)),
    ):
        before = list(rows.order_by("pk").values())
        again = [model(**{name: value for name, value in one.items() if name != "id"}) for one in before]
        rows.delete()
        insert_together(again)
        assert [{**row, "id": None} for row in rows.order_by("pk").values()] == [{**one, "id": None} for one in before]
