"""A plan that lets its runs settle: the warm-up ends when a run is steady, and what is left is measured."""

import pytest

from benchsite.tests.live_site import LiveSite, shared_site as site
from runs.models import Phase
from runs.models.run import Status
from runs.ycsb.command import TAIL_S

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
WARMUP_S, SETTLE_S, MEASURE_S = 1, 12, 12


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "off"), pytest.param("postgresql", "off", marks=pytest.mark.long)]
)
def test_a_run_is_measured_once_it_is_steady(site: LiveSite, system: str, mode: str) -> None:
    matrix = site.submit(
        (system, mode), rungs=[4], warmup_s=WARMUP_S, settle_s=SETTLE_S, measure_s=MEASURE_S, repeats=1
    )

    runs = site.until_ended(matrix)

    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    measured = run.measurement_sets.get(is_current=True)
    assert WARMUP_S <= measured.warmup_s <= WARMUP_S + SETTLE_S
    assert measured.window_s == pytest.approx(WARMUP_S + SETTLE_S - measured.warmup_s + MEASURE_S, abs=1.5)
    assert run.evidence["settled"]["waited_s"] <= SETTLE_S + 2
    assert {order["duration_s"] for order in run.client_runs.values_list("order", flat=True)} == {
        WARMUP_S + SETTLE_S + MEASURE_S + TAIL_S
    }
