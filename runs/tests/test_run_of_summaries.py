"""The page of an uploaded run of which only summaries exist: bounds are called bounds, and nothing is made up."""

import pytest

from benchsite.core import formatting
from runs.checks import CheckResult
from runs.models import Run
from runs.results.recording.rows import write_set
from runs.tests.factories import finding, make_run, make_sweep
from runs.tests.pages import get_text
from runs.ycsb.bounds import Bounds
from runs.ycsb.summary_run import SummarisedClient, SummarisedOperation, SummarisedRun

pytestmark = pytest.mark.django_db


def summarised(**changes):
    """Two clients' summaries: p99 between 10 and 100 ms (the example of analysis.md 6)."""
    read = SummarisedOperation(
        operation="READ", kind="service", ok=10_750, failed=None, failures={}, returns={"OK": 10_750},
        is_composite=False, mean_us=2022.8, min_us=900.0, max_us=100_000.0,
        percentiles_us={
            "50": Bounds(1000.0, 1000.0), "75": Bounds(1000.0, 1000.0), "95": Bounds(1000.0, 10_000.0),
            "99": Bounds(10_000.0, 100_000.0), "99.9": Bounds(100_000.0, None),
        },
        resolution_us=1000.0,
    )  # fmt: skip
    clients = tuple(
        SummarisedClient(
            number=number, operations=5000, ok=5000, failed=None, busy_us=None, throughput_ops_s=900.0,
            runtime_ms=10_000.0, threads=None, printed_counts={"READ": 5000},
        )
        for number in (0, 1)
    )  # fmt: skip
    fields = {
        "phase": "measure", "operations": (read,), "clients": clients, "missing": (), "total_operations": 10_750,
        "ok_operations": 10_750, "failed_operations": None, "throughput_ops_s": 1800.0, "basis": "sum",
        "throughput_sum_ops_s": 1800.0, "throughput_wall_ops_s": None, "overlap": None, "window": None,
    }  # fmt: skip
    return SummarisedRun(**{**fields, **changes})


@pytest.fixture
def run(team):
    """As an import leaves it: no cluster, no generators, and a spec in which most is unknown."""
    made = make_run(make_sweep(team=team))
    made.measurement_sets.all().delete()
    spec = made.spec
    spec["window"] = {"warmup_s": 0, "min_measure_s": None, "max_measure_s": None, "min_operations": 0}
    spec["cluster"] = {"id": "", "name": "", "provisioner": "", "machines": []}
    spec["generators"] = []
    spec["dataset"] = {"records": None, "record_bytes": None, "fingerprint": ""}
    spec["database"] |= {"version": "", "replication_factor": None}
    spec["client"] |= {"digest": "", "binding": "", "ycsb_version": "0.17.0"}
    return Run.objects.create(
        team=team, sweep=made.sweep, source=Run.Source.UPLOADED, name="redis somewhere 8t r2", spec=spec,
        system=made.system, mode="unknown", workload_name="A", purpose="demo", threads=8, repeat=2,
        status="succeeded", finished_at=made.finished_at, verdict="warn", throughput_ops_s=1800.0,
    )  # fmt: skip


def found(check_id, severity, **more):
    texts = {**finding(check_id, severity), "measured": "", "threshold": "", **more}
    return CheckResult(**texts)


@pytest.mark.slow
def test_bounds_are_called_bounds(client_in, run):
    write_set(run, 1, summarised(), [found("V05", "warn")])
    page = get_text(client_in.get(f"/runs/{run.pk}/")).replace(formatting.THIN, " ")
    assert "10.0\N{EN DASH}100 ms" in page
    assert "bounds, histograms missing" in page
    assert "10.0\N{EN DASH}100</span>" in page  # in the table, whose header has the unit
    assert "≥ 100" in page
    assert "in steps of" in page
    assert "the sum of what the clients stated" in page


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"basis": "window", "throughput_ops_s": 900.0}, "successful operations in the window"),
        ({"basis": "stated"}, "what the client stated"),
        (
            {"basis": "stated", "throughput_ops_s": 72.0},
            "</span>, failed ones included",
        ),
        ({"basis": "stated", "throughput_sum_ops_s": None}, "counted, the client states none"),
    ],
)
def test_says_what_a_throughput_is(client_in, run, numbers, words):
    write_set(run, 1, summarised(**numbers), [])
    page = " ".join(get_text(client_in.get(f"/runs/{run.pk}/")).split())
    assert words in page
    assert ("what the client stated" in page) == (words == "what the client stated")


def test_they_are_stored_without_a_point(run):
    kept = write_set(run, 1, summarised(), [])
    (read,) = kept.measurements.all()
    assert (read.p50_us, read.p95_us, read.p99_us) == (1000.0, None, None)
    assert read.bounds == {
        "p75": [1000.0, 1000.0], "p95": [1000.0, 10_000.0], "p99": [10_000.0, 100_000.0], "p99.9": [100_000.0, None],
    }  # fmt: skip
    assert (read.count, read.ok, read.failed) == (10_750, 10_750, None)
    assert (kept.basis, kept.window_from, kept.failed) == ("sum", None, None)


def test_what_nobody_stated_is_not_made_up(client_in, run):
    write_set(run, 1, summarised(), [])
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert "failed ones not stated" in page
    assert "None" not in page.split("<main")[1]
    assert "only summaries exist" in page
    assert 'id="cut"' not in page


@pytest.mark.slow
def test_a_run_without_a_throughput_is_no_point(client_in, run):
    write_set(run, 1, summarised(throughput_ops_s=None, operations=()), [])
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert "None" not in page.split("<main")[1]
    assert client_in.get(f"/sweeps/{run.sweep_id}/").status_code == 200


def test_checks_that_were_not_assessed_are_a_group_of_their_own(client_in, run):
    missing = found("V03", "not_assessed", title="Client CPU", message="Nobody measured the clients' processors.")
    write_set(run, 1, summarised(), [missing, found("V23", "pass", title="Arithmetic"), found("V05", "warn")])
    response = client_in.get(f"/runs/{run.pk}/")
    page = get_text(response)
    assert "1 check not assessed, and what is missing: no pass" in page
    assert "Nobody measured the clients&#x27; processors." in page
    assert "1 check that passed" in page
    assert "2 of 3 checks assessed, 1 warn" in page  # what was not assessed is not counted
    shown = response.context["page"]
    assert [len(group) for group in (shown["telling"], shown["not_assessed"], shown["pass"])] == [1, 1, 1]


@pytest.mark.slow
def test_figures_and_tables_of_comparisons_show_the_bounds(client_in, run):
    run.sweep.runs.exclude(pk=run.pk).update(excluded_reason="another")
    write_set(run, 1, summarised(), [])
    figure = client_in.get(f"/figures/runs/{run.pk}/percentiles/").json()
    assert "bars are bounds" in figure["caption"]
    assert [trace["mode"] for trace in figure["figure"]["data"]] == ["markers", "lines+markers"]
    page = get_text(client_in.get(f"/sweeps/{run.sweep_id}/")).replace(formatting.THIN, " ")
    assert "10.0\N{EN DASH}100 ms" in page
