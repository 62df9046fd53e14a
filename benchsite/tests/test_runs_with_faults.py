"""A run whose server pauses and crashes as planned, from the queue to its recovery."""

import pytest

from benchsite.tests.live_site import get_servers, shared_site  # noqa: F401
from runs.models import Deployment
from runs.models.run import Status
from runs.results.pages.recovery import applied_faults

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240), pytest.mark.long]

PAUSE = {"kind": "pause", "at_s": 4.0, "duration_s": 2.0, "node": None, "value": None}
CRASH = {"kind": "crash", "at_s": 10.0, "duration_s": 1.0, "node": 1, "value": None}
# A load that a busy machine sustains too, so that what falls is the fault's.
PLAN = {"ladder": "target", "rungs": [300], "threads": 4, "search": None, "repeats": 1, "stops_early": False}


def test_pause_and_crash_are_measured(shared_site):  # noqa: F811
    matrix = shared_site.submit(("redis", "always"), measure_s=18, **PLAN, faults=[PAUSE, CRASH])
    load, run = shared_site.until_ended(matrix)
    assert (load.status, run.status) == (Status.SUCCEEDED, Status.SUCCEEDED), run.reason_detail
    assert "faults" not in load.spec and run.spec["faults"] == [PAUSE, CRASH]
    pause, crash = applied_faults(run)
    for entry, fault in ((pause, PAUSE), (crash, CRASH)):
        assert entry["error"] == "" and entry["began_s"] == pytest.approx(fault["at_s"], abs=0.8)
        assert entry["recovery"] is not None and entry["recovery"].depth > 0.5 and entry["recovery"].below_s >= 1
        assert entry["recovery"].recovered_s is not None
        assert fault["duration_s"] <= entry["recovery"].recovered_s <= fault["duration_s"] + 5
    assert pause["lasted_s"] == pytest.approx(2.0, abs=0.5)
    assert pause["recovery"].catch_up_operations > 100  # What was due in the pause is done after it.
    assert pause["recovery"].errors == 0 < crash["recovery"].errors
    texts = list(run.events.filter(kind="note", text__startswith="Fault").values_list("text", flat=True))
    assert [text.split(":")[0] for text in texts] == [
        "Fault 1 began", "Fault 1 ended", "Fault 2 began", "Fault 2 ended",
    ]  # fmt: skip
    assert run.excluded_reason.startswith("Run with faults") and run.config_key == ""
    findings = run.measurement_sets.get(is_current=True).findings
    assert findings.get(check_id="V07").severity == "not_assessed"
    # The data set survived in this mode, so the next run would find it.
    deployment = Deployment.objects.get(matrix=matrix)
    assert deployment.rows_loaded == run.spec["dataset"]["records"] or deployment.state == Deployment.State.GONE
    shared_site.until(lambda: not get_servers(matrix), 30, "the server to be gone")
