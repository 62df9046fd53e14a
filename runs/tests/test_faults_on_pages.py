"""What the page of a run, its figure and the API say of its faults."""

import datetime as dt
import re

import numpy as np
import pytest
from django.urls import reverse

from benchsite.core.formatting import NOTHING
from runs.models import MeasurementSet, Series as SeriesRow
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import get_text
from runs.tests.test_plan_files_over_rest import program
from runs.ycsb.series import POINT, Series, pack

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAUSE = {"kind": "pause", "at_s": 5.0, "duration_s": 2.0, "node": None, "value": None}


@pytest.fixture
def run(team):
    """12 s of window after 2 s of warm-up; the server pauses from second 7 to 9 of the run."""
    run = make_run(make_sweep(team=team))
    cut = MeasurementSet.objects.get(run=run)
    base = cut.window_from - dt.timedelta(seconds=2)
    MeasurementSet.objects.filter(pk=cut.pk).update(warmup_s=2, window_s=12)
    points = np.zeros(14, dtype=POINT)
    points["second"] = np.arange(14)
    points["rate_ops_s"] = points["count"] = [500.0] * 7 + [0, 0] + [500.0] * 5
    points["failed"][8] = 3
    points["p99_us"] = 1000.0
    packed = pack(Series("READ", "service", base.timestamp(), 1, 1, points))
    SeriesRow.objects.create(
        run=run, operation="READ", latency_kind="service", interval_s=1, points=points.size, data=packed
    )
    began = base.timestamp() + 7
    late = {**PAUSE, "at_s": 11.0}
    run.evidence |= {
        "faults": [
            {"fault": PAUSE, "began_at": began, "ended_at": began + 2, "error": ""},
            {"fault": late, "began_at": None, "ended_at": None, "error": ""},
        ]
    }
    run.save(update_fields=["evidence"])
    return run


def test_page_shows_each_fault_with_its_recovery(client_in, run):
    page = get_text(client_in.get(reverse("run", args=[run.pk])))
    table = page[page.index('id="recovery"') : page.index("</section>", page.index('id="recovery"'))]
    assert "pause of all nodes at second 5 for 2 s" in table and "The run ended before." in table
    cells = [re.sub(r"<[^>]*>", "", cell).replace("\u202f", " ") for cell in re.findall(r"<td.*?</td>", table)]
    assert cells[:11] == ["5 s", "2 s", "500 ops/s", "0 ops/s", "100 %", "2 s", "0 ops/s", NOTHING, "3", "3 s", "3 s"]


def test_page_explains_silence_after_a_network_cut(client_in, run):
    note = "connections may stay silent for as long again as the cut"
    assert note not in get_text(client_in.get(reverse("run", args=[run.pk])))
    run.evidence["faults"][0]["fault"] = {**PAUSE, "kind": "network_cut"}
    run.save(update_fields=["evidence"])
    assert note in get_text(client_in.get(reverse("run", args=[run.pk])))


def test_page_of_other_runs_has_no_table(client_in, team):
    assert 'id="recovery"' not in get_text(client_in.get(reverse("run", args=[make_run(make_sweep(team=team)).pk])))


def test_programs_read_faults_and_recovery(team, user, run):
    client = program(team, user)
    answer = client.get(f"/api/v1/runs/{run.pk}/faults").json()
    pause, late = answer["faults"]
    assert (pause["number"], pause["fault"], pause["error"]) == (1, PAUSE, "")
    assert pause["began_s"] == pytest.approx(5.0, abs=0.001)
    recovery = pause["recovery"]
    assert recovery["level_ops_s"] == 500 and recovery["depth"] == 1 and recovery["errors"] == 3
    assert (recovery["below_s"], recovery["catch_up_s"]) == (2, 0)
    assert recovery["first_success_s"] == recovery["recovered_s"] == pytest.approx(3.0, abs=0.001)
    assert late["began_at"] is None and late["recovery"] is None
    other = make_run(make_sweep(team=team))
    assert client.get(f"/api/v1/runs/{other.pk}/faults").json()["faults"] == []


def test_figure_has_a_band_for_each_fault_that_was_applied(client_in, run):
    answer = client_in.get(f"/figures/runs/{run.pk}/series/").json()
    shapes = [shape for shape in answer["figure"]["layout"]["shapes"] if shape["type"] == "rect"]
    *_, band = shapes
    assert len(shapes) == 2  # of the warm-up, and of the fault that was applied
    assert (band["x0"], band["x1"]) == (pytest.approx(7.0, abs=0.001), pytest.approx(9.0, abs=0.001))
    assert "Coloured bands are planned faults: 1 pause" in answer["caption"]
