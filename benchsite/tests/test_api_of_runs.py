"""Runs by the API: lists by pages and filters, numbers, histograms, series, files; annotated, cancelled, deleted."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchsite.tests.asking import make_program, problem
from reports.models import Baseline, BaselineRun
from runs.models import Finding, Run
from runs.results import artifacts
from runs.tests.factories import finding, make_run, make_sweep
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# Token, its use, and what the endpoint itself asks.
QUERIES = {
    "/runs": 3, "/runs/{run}": 3, "/runs/{run}/measurements": 6, "/runs/{run}/findings": 5, "/runs/{run}/events": 4,
    "/runs/{run}/artifacts": 4, "/runs/{run}/series": 5,
}  # fmt: skip


@pytest.fixture(autouse=True)
def as_often_as_one_likes(settings):
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def program(team):
    return make_program(team)


def ids(answer):
    return [item["id"] for item in answer["items"]]


def test_pages_hold_every_run_once_while_others_are_added(program, team):
    sweep = make_sweep(team=team)
    kept = [make_run(sweep, threads=threads) for threads in range(1, 8)]
    found, where = [], "/runs?limit=3"
    while where:
        page = program.said(where)
        found += ids(page)
        make_run(sweep, threads=100 + len(found))  # newer than every page to come
        where = page["next"]
    assert found == [str(run.pk) for run in reversed(kept)]


@pytest.mark.parametrize("cursor", ["x", "WyJhIl0", "W10", "bnVsbA", "é", "WyIyMDI2LTAxLTAxIiwiMSJd", "A" * 400])
def test_a_cursor_of_another_list_is_refused(program, cursor):
    refusal = problem(program.get(f"/runs?cursor={cursor}"), 400, "validation-error")
    assert refusal["errors"][0]["pointer"] == "query.cursor"


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "status=gone", "since=yesterday", "system=%00"])
def test_a_filter_that_cannot_be_meant_is_refused(program, query):
    refusal = problem(program.get(f"/runs?{query}"), 400, "validation-error")
    assert refusal["errors"][0]["pointer"] == f"query.{query.partition('=')[0]}"


@pytest.mark.parametrize(
    "query",
    [
        "system=postgresql", "mode=on", "database=Pg", "workload=W", "branch=main", "commit=3f2a", "label=Nightly",
        "status=failed", "matrix={matrix}", "sweep={sweep}", "until=2020-01-01T00:00:00Z", "verdict=warn",
    ],
)  # fmt: skip
def test_each_filter_finds_its_run_and_no_other(program, team, query):
    from runs.tests.factories import make_database, make_workload

    make_run(make_sweep(team=team))
    database = make_database(team=team, name="Pg", system="postgresql")
    sweep = make_sweep(team=team, database=database, workload=make_workload(team=team, name="W"))
    wanted = make_run(
        sweep, branch="main", commit="3f2a91c", tags=["nightly"], status="failed", verdict="warn",
    )  # fmt: skip
    Run.objects.filter(pk=wanted.pk).update(created_at=dt.datetime(2019, 1, 1, tzinfo=dt.UTC))
    filled = query.format(matrix=sweep.matrix_id, sweep=sweep.pk)
    assert ids(program.said(f"/runs?{filled}")) == [str(wanted.pk)]


def test_loads_are_left_out_unless_asked_for(program, team):
    make_run(make_sweep(team=team, phase="load"))
    assert ids(program.said("/runs")) == []
    assert len(ids(program.said("/runs?phase=any"))) == len(ids(program.said("/runs?phase=load"))) == 1


@pytest.mark.parametrize("where", QUERIES)
def test_it_asks_the_database_as_often_whatever_there_is(program, team, where):
    sweep = make_sweep(team=team)
    run = make_run(sweep, findings=[finding()])
    program.said("/runs")  # The use of the token is written down.
    for more in range(2):
        with CaptureQueriesContext(connection) as asked:
            program.said(where.format(run=run.pk))
        assert len(asked) <= QUERIES[where], [query["sql"][:90] for query in asked.captured_queries]
        make_run(sweep, threads=64 + more)


def test_a_run_says_what_it_is_and_where_to_read_on(program, team):
    run = make_run(make_sweep(team=team), threads=16, tags=["nightly"])
    answer = program.said(f"/runs/{run.pk}")
    assert (answer["system"], answer["mode"], answer["threads"], answer["labels"]) == (
        "redis",
        "always",
        16,
        ["nightly"],
    )
    assert answer["permalink"] == f"http://testserver/runs/{run.pk}/"
    for name in ("self", "measurements", "findings", "events", "artifacts", "series", "sweep", "matrix"):
        assert program.get(answer["links"][name]).status_code == 200, name


def test_numbers_of_any_cut(program, team):
    run = make_run(make_sweep(team=team), threads=4, throughput=2000.0)
    answer = program.said(f"/runs/{run.pk}/measurements")
    assert answer["throughput_ops_s"] == 2000.0
    assert [measurement["operation"] for measurement in answer["measurements"]] == ["READ", "UPDATE"]
    assert answer["cut"]["number"] == 1
    assert answer["key_shares"] == pytest.approx({"hottest_percent": 0.229, "hottest_ten": 0.122}, abs=0.0005)
    problem(program.get(f"/runs/{run.pk}/measurements?cut=2"), 404, "not-found")


def test_a_run_that_was_not_measured_has_no_numbers(program, team):
    run = make_run(make_sweep(team=team), status="queued")
    for what in ("measurements", "findings", "histogram/READ"):
        assert "has not been measured" in problem(program.get(f"/runs/{run.pk}/{what}"), 404, "not-found")["detail"]
    assert program.said(f"/runs/{run.pk}/series")["series"] == []


def test_the_merged_histogram_is_that_of_the_stored_numbers(program, team, artifact_folder):
    run = recorded_run(team)
    for row in program.said(f"/runs/{run.pk}/measurements")["measurements"]:
        where = f"/runs/{run.pk}/histogram/{row['operation']}?latency_kind={row['latency_kind']}"
        answer = program.said(where)
        assert answer["count"] == sum(answer["counts"]) == row["ok"]
        assert answer["percentiles_us"]["p99"] == row["p99_us"]
        assert answer["mean_us"] == pytest.approx(row["mean_us"])
        assert len(answer["from_us"]) == len(answer["to_us"]) == len(answer["counts"])
    assert "READ" in problem(program.get(f"/runs/{run.pk}/histogram/SCAN"), 404, "not-found")["detail"]


def test_of_a_long_run_a_coarser_level_is_given(program, team, artifact_folder):
    run = recorded_run(team)
    fine, coarse = (program.said(f"/runs/{run.pk}/series?points={points}") for points in (20_000, 1))
    assert fine["interval_s"] == 1
    assert coarse["interval_s"] >= fine["interval_s"]
    first = fine["series"][0]
    assert all(len(column) == len(first["second"]) for column in first["columns"].values())
    assert {series["operation"] for series in program.said(f"/runs/{run.pk}/series?operation=READ")["series"]} == {
        "READ"
    }


def test_a_file_is_downloaded_only_by_its_run(program, team, artifact_folder):
    run, other = (make_run(make_sweep(team=team)) for _ in range(2))
    kept = artifacts.store(run, "summary", "../a\r\nb.txt", b"[OVERALL], RunTime(ms), 10\n")
    (item,) = program.said(f"/runs/{run.pk}/artifacts")["items"]
    answer = program.get(item["download"])
    assert b"".join(answer.streaming_content) == b"[OVERALL], RunTime(ms), 10\n"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="..ab.txt"'
    problem(program.get(f"/runs/{other.pk}/artifacts/{kept.sha256}"), 404, "not-found")
    artifacts.remove(kept.sha256)
    problem(program.get(item["download"]), 404, "not-found")


def test_people_annotate_and_numbers_stay(program, team):
    run = make_run(make_sweep(team=team), throughput=1000.0)
    change = {"labels": ["Nightly", "quiet host"], "notes": "x", "excluded_reason": "another job ran"}
    said = program.ask("PATCH", f"/runs/{run.pk}", change).json()
    assert (said["labels"], said["notes"], said["excluded_reason"]) == (
        ["nightly", "quiet host"],
        "x",
        "another job ran",
    )
    said = program.ask("PATCH", f"/runs/{run.pk}", {"excluded_reason": ""}).json()
    assert (said["excluded_reason"], said["notes"], said["throughput_ops_s"]) == ("", "x", 1000.0)
    assert run.events.filter(kind__in=["tags", "notes", "excluded", "included"]).count() == 4
    refused = problem(program.ask("PATCH", f"/runs/{run.pk}", {"throughput_ops_s": 5}), 400, "validation-error")
    assert refused["errors"][0]["pointer"] == "#/throughput_ops_s"
    refused = problem(program.ask("PATCH", f"/runs/{run.pk}", {"labels": ["a", "\0"]}), 400, "validation-error")
    assert refused["detail"] == "#/labels/1: text without NUL characters, please."


def test_a_body_that_is_too_large_is_refused_as_such(program, team, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    run = make_run(make_sweep(team=team))
    answer = program.ask("PATCH", f"/runs/{run.pk}", {"notes": "x" * 100})
    assert "more than 100 bytes" in problem(answer, 413, "payload-too-large")["detail"]


def test_of_a_change_that_is_refused_nothing_is_kept(program, team):
    run = make_run(make_sweep(team=team), status="queued")
    answer = program.ask("PATCH", f"/runs/{run.pk}", {"labels": ["a"], "excluded_reason": "why"})
    assert "has not ended yet" in problem(answer, 400, "validation-error")["detail"]
    assert Run.objects.get().tags == []


def test_a_run_is_cancelled_once(program, team):
    run = make_run(make_sweep(team=team), status="queued")
    said = program.ask("POST", f"/runs/{run.pk}/cancel").json()
    assert (said["run"]["status"], said["cancel_requested_at"]) == ("cancelled", None)
    problem(program.ask("POST", f"/runs/{run.pk}/cancel"), 409, "conflict")


def test_a_running_run_is_asked_to_stop(program, team):
    run = make_run(make_sweep(team=team), status="running")
    said = program.ask("POST", f"/runs/{run.pk}/cancel").json()
    assert said["run"]["status"] == "running"
    assert dt.datetime.fromisoformat(said["cancel_requested_at"]) <= timezone.now()


def test_a_run_is_deleted_unless_something_pins_it(program, team):
    pinned, free, waiting = (
        make_run(make_sweep(team=team), status=status) for status in ("succeeded", "succeeded", "queued")
    )
    baseline = Baseline.objects.create(team=team, name="nightly", chosen="by hand", set_at=timezone.now())
    BaselineRun.objects.create(baseline=baseline, run=pinned)
    assert program.ask("DELETE", f"/runs/{free.pk}").status_code == 204
    problem(program.get(f"/runs/{free.pk}"), 404, "not-found")
    assert "the baseline “nightly”" in problem(program.ask("DELETE", f"/runs/{pinned.pk}"), 409, "run-pinned")["detail"]
    problem(program.ask("DELETE", f"/runs/{waiting.pk}"), 409, "conflict")
    assert Run.objects.count() == 2


def test_a_matrix_is_deleted_once_its_runs_have_ended(program, team):
    waiting = make_run(make_sweep(team=team), status="queued")
    matrix = waiting.matrix
    refused = problem(program.ask("DELETE", f"/matrices/{matrix.pk}"), 409, "conflict")
    assert waiting.name in refused["detail"]
    assert program.ask("POST", f"/matrices/{matrix.pk}/cancel").status_code == 200
    assert program.ask("DELETE", f"/matrices/{matrix.pk}").status_code == 204
    problem(program.get(f"/matrices/{matrix.pk}"), 404, "not-found")
    assert not Run.objects.exists()


def test_a_run_says_which_checks_reject_it(program, team):
    run = make_run(make_sweep(team=team), verdict="reject")
    Finding.objects.create(
        measurement_set=run.measurement_sets.get(), check_id="V25", severity="reject", title="Other processes",
        measured="1.07 of 2 cores", threshold="0.5 cores",
    )  # fmt: skip
    expected = {"check_id": "V25", "title": "Other processes", "measured": "1.07 of 2 cores", "limit": "0.5 cores"}
    assert program.get(f"/runs/{run.pk}").json()["rejected_by"] == [expected]
    assert program.get("/runs").json()["items"][0]["rejected_by"] == [expected]
