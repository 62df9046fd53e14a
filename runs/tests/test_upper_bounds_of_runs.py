"""The upper bounds of a run's percentiles: stored with its numbers, on its page, and in the API."""

import pytest

from runs.tests.pages import artifact_folder, get_text
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_shows_upper_bounds_on_the_page(client_in, team, artifact_folder):
    run = recorded_run(team)
    line = run.measurement_sets.get().measurements.get(operation="READ", latency_kind="service")
    assert line.upper_bounds == {}  # The recorded run has too few seconds for one.
    line.upper_bounds = {"p95": line.p95_us + 1000, "p99": line.p99_us + 1000}
    line.save()
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert page.count("upper bound with 99") == 2
    assert "(99 %) in this run" in page
    assert "verdicts use the variation between runs" in page
