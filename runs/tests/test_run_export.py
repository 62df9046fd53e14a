"""All runs in one answer: CSV and JSON that PostgreSQL writes."""

import csv
import datetime as dt
import io
import json

import pytest
from django.urls import reverse

from benchsite.core.formatting import not_a_formula
from runs.models import Run
from runs.tests.factories import make_run, make_sweep
from runs.tests.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FORMULAS = (
    "=HYPERLINK(1)", "-2+3", "\t=1", "a;=1", " @x", "plain - text", "\uff1d1", '"=1"', "a\n+1", "50 % of 1,000", "",
)  # fmt: skip


@pytest.fixture
def sweep(team):
    return make_sweep(team=team)


def export(program, query=""):
    response = program.get(f"/api/v1/runs/export{query}")
    assert response.status_code == 200
    return response, response.getvalue().decode()


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_has_the_numbers_of_the_runs(program, sweep):
    first = make_run(sweep, threads=4, throughput=1900, evidence={"server_version": "7.0.15"})
    second = make_run(sweep, threads=8, throughput=3000, tags=["nightly", "b"], evidence={})
    make_run(sweep, threads=16, throughput=3000, phase="load")

    response, text = export(program)
    rows = read_csv(text)
    lines = [json.loads(line) for line in export(program, "?form=jsonl")[1].splitlines()]

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert [row["id"] for row in rows] == [line["id"] for line in lines] == [str(first.pk), str(second.pk)]
    assert [float(row["throughput_ops_s"]) for row in rows] == [1900, 3000]
    assert [row["version"] for row in rows] == ["7.0.15", sweep.version]
    assert rows[1]["tags"] == "nightly, b" and lines[1]["tags"] == ["nightly", "b"]
    assert lines[0]["finished_at"] is None or lines[0]["finished_at"].startswith("20")
    for measurement in first.measurement_sets.get().measurements.filter(latency_kind="service"):
        for name in ("mean_us", "p99_us"):
            column = f"{measurement.operation}_{name}"
            expected = getattr(measurement, name)
            assert lines[0][column] == expected
            assert rows[0][column] == ("" if expected is None else repr(expected).removesuffix(".0"))


def test_open_loads_have_what_was_offered_and_dropped(program, sweep):
    run = make_run(sweep, threads=4, throughput=970)
    run.measurement_sets.update(arrivals={"offered_ops_s": 1000.5, "dropped_share": 0.03})
    make_run(sweep, threads=8, throughput=3000)

    rows = read_csv(export(program)[1])
    lines = [json.loads(line) for line in export(program, "?form=jsonl")[1].splitlines()]

    assert [(row["offered_ops_s"], row["dropped_share"]) for row in rows] == [("1000.5", "0.03"), ("", "")]
    assert [(line["offered_ops_s"], line["dropped_share"]) for line in lines] == [(1000.5, 0.03), (None, None)]


def test_unknown_threads_are_empty(program, sweep):
    make_run(sweep, threads=0, target_ops_s=1000)

    assert read_csv(export(program)[1])[0]["threads"] == ""
    assert json.loads(export(program, "?form=jsonl")[1])["threads"] is None


def test_file_of_the_list_has_arrivals_and_leaves_unknown_out(client_in, sweep):
    """The list names the loads that it leaves out, beside its files."""
    committed_at = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    run = make_run(sweep, threads=0, target_ops_s=1000, commit="3f2a91c", committed_at=committed_at)
    run.measurement_sets.update(arrivals={"offered_ops_s": 1000.5, "dropped_share": 0.03})

    row = read_csv(client_in.get(reverse("runs-csv")).getvalue().decode())[0]
    page = client_in.get(reverse("runs")).content.decode()

    assert (row["threads"], row["offered_ops_s"], row["dropped_share"]) == ("", "1000.5", "0.03")
    assert row["committed_at"].startswith("2026-03-02")
    assert "without loads, in CSV and JSON too" in page and "?phase=any" in page


def test_filters_as_the_list_does(program, sweep):
    make_run(sweep, threads=4, throughput=1900)
    make_run(sweep, threads=8, throughput=3000, branch="main", commit="3f2a91c")

    assert [row["threads"] for row in read_csv(export(program, "?commit=3f2a&branch=main")[1])] == ["8"]
    assert read_csv(export(program, "?system=none")[1]) == []


def test_has_no_run_of_another_team(program, stranger):
    from benchsite.accounts.models import Team

    theirs = make_run(make_sweep(team=Team.objects.get(name="Elsewhere")), threads=4, throughput=1900)

    assert Run.objects.filter(pk=theirs.pk).exists()
    assert read_csv(export(program, "?phase=any")[1]) == []


def test_needs_the_scope_and_a_known_form(team, user):
    assert Program(team, user, "reports:write").get("/api/v1/runs/export").status_code == 403
    assert Program(team, user).get("/api/v1/runs/export?form=xml").status_code == 400


def test_marks_formulas_in_csv_alone(program, sweep):
    for number, text in enumerate(FORMULAS, 1):
        make_run(sweep, threads=number, throughput=1, notes=text, branch=text[:9])

    rows, raw = (read_csv(export(program, query)[1]) for query in ("", "?form=raw"))
    lines = [json.loads(line) for line in export(program, "?form=jsonl")[1].splitlines()]

    assert [row["notes"] for row in raw] == [line["notes"] for line in lines] == list(FORMULAS)
    assert [row["notes"] for row in rows] == [not_a_formula(text) for text in FORMULAS]


def test_takes_any_name_of_an_operation(program, sweep):
    """Operations have the names that an output gave them."""
    run = make_run(sweep, threads=4, throughput=1900)
    measurement = run.measurement_sets.get().measurements.first()
    measurement.operation = 'READ" %s; DROP'
    measurement.save()

    assert "READ' %s; DROP_p99_us" in read_csv(export(program)[1])[0]
