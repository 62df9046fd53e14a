"""Runs whose operations do not wait for each other, from the queue to the report's numbers, on real servers."""

from typing import Any

import pytest

from benchsite.tests.live_site import LiveSite, shared_site as site
from runs.models import Artifact, Finding, Matrix, MeasurementSet, Phase, Run
from runs.models.run import Status

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
RATE = 400
OPEN = {"ladder": Matrix.Ladder.TARGET, "threads": 16, "repeats": 1, "arrivals": "poisson"}


def measure_run(site: LiveSite, system: str, mode: str, **changes: Any) -> tuple[Run, MeasurementSet]:
    fields: dict[str, Any] = {**OPEN, **changes}
    matrix = site.submit((system, mode), rungs=[RATE], measure_s=4, **fields)
    runs = site.until_ended(matrix)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    return run, run.measurement_sets.get(is_current=True)


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "off"), pytest.param("postgresql", "on", marks=pytest.mark.long)]
)
def test_arrivals_are_counted_and_stored(site: LiveSite, system: str, mode: str) -> None:
    run, measured = measure_run(site, system, mode, never_drops=True)

    arrivals = measured.arrivals
    assert arrivals["offered"] == arrivals["started"] > 0
    assert arrivals["dropped"] == 0
    assert arrivals["offered_ops_s"] == pytest.approx(RATE, rel=0.15)
    assert measured.throughput_ops_s == pytest.approx(arrivals["offered_ops_s"], rel=0.1)
    assert set(arrivals["operations"]) == {"READ", "UPDATE"}
    assert arrivals["operations"]["READ"]["offered_percentiles_us"]["99"] > 0
    assert {row.latency_kind for row in measured.measurements.filter(operation="READ")} == {"service", "response"}
    assert Artifact.objects.filter(run=run, kind="arrivals").count() == run.client_runs.count()
    findings = {finding.check_id: finding.severity for finding in measured.findings.all()}
    assert findings["V37"] == Finding.Severity.PASS
    assert findings["V38"] == Finding.Severity.PASS
    assert findings["V36"] != Finding.Severity.NOT_ASSESSED


def test_threads_that_are_busy_drop_what_comes(site: LiveSite) -> None:
    """Two threads and a patience of 1 µs: of arrivals close to each other the later ones find no thread in time."""
    run, measured = measure_run(site, "redis", "off", threads=2, patience_ms=0.001)

    arrivals = measured.arrivals
    assert arrivals["dropped"] > 0
    assert arrivals["offered"] == arrivals["started"] + arrivals["dropped"]
    low, high = arrivals["dropped_interval"]
    assert low < arrivals["dropped"] / arrivals["offered"] < high
    target = measured.findings.get(check_id="V09")
    assert target.severity == Finding.Severity.WARN
    assert run.throughput_ops_s is not None and run.throughput_ops_s < RATE


def test_clients_share_the_rate_and_have_seeds_of_their_own(site: LiveSite) -> None:
    run, _ = measure_run(site, "redis", "off")

    orders = [client.order["properties"] for client in run.client_runs.order_by("number")]
    assert sum(float(order["open.rate"]) for order in orders) == pytest.approx(RATE)
    assert len({order["open.seed"] for order in orders}) == len(orders) == 2
    assert all("target" not in order for order in orders)
