"""The clocks of load generators are set while their clients run: runs count, and the step is stated.

libfaketime sets the clock of a JVM as well, but Python's `time.sleep` fails with it (EINVAL): a few lines of C do it.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from benchsite.tests.live_site import GENERATORS, LiveSite
from runs.checks.clients import signed_seconds
from runs.models import Run
from runs.models.run import Phase, Status
from workers.systems.build import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.needs("cc"),
]
SOURCE = Path(__file__).with_name("stepped_clock.c")
MEASURE_S = 12
MAX_GUESS_S = 0.1


class SteppedClocks:
    """The clocks of some load generators and their clients; the monotonic ones go on."""

    def __init__(self, folder):
        self.file = folder / "clock"
        self.step(0)
        library = folder / "stepped_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True)
        self.variables = {"LD_PRELOAD": str(library), "CLOCK_STEP": str(self.file)}
        # A client's environment has none of these variables.
        java = folder / "jdk/bin/java"
        java.parent.mkdir(parents=True)
        exports = "".join(f"export {name}={value}\n" for name, value in self.variables.items())
        java.write_text(f'#!/bin/sh\n{exports}exec {shutil.which("java")} "$@"\n')
        java.chmod(0o755)
        self.variables["JAVA_HOME"] = str(java.parent.parent)

    def step(self, by_s):
        draft = self.file.with_suffix(".new")
        draft.write_text(str(round(by_s * 1000)))
        draft.replace(self.file)


def site_with(clocks, folder, generators, settings):
    build(settings.YCSB_DIR)
    live = LiveSite(folder)
    live.variables = dict.fromkeys(generators, clocks.variables)
    return live


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("generators", "steps"),
    [
        pytest.param(GENERATORS[:1], (-2.0,), id="one back 2 s", marks=LONG),
        pytest.param(GENERATORS[:1], (-0.2, 0.2), id="one 0.2 s", marks=LONG),
        pytest.param(GENERATORS, (2.0, 60.0, -4000.0), id="all", marks=LONG),
        pytest.param(GENERATORS[:1], (2.0, -60.0, 4000.0), id="one", marks=LONG),
    ],
)
def test_runs_count_while_clocks_are_set(tmp_path, settings, generators, steps):
    clocks = SteppedClocks(tmp_path)
    with site_with(clocks, tmp_path, generators, settings) as site:
        total_s = 0.0
        for by_s in steps:
            matrix = site.submit(("redis", "off"), rungs=[2], measure_s=MEASURE_S)
            run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
            site.until_measured(run, "UPDATE")
            total_s += by_s
            clocks.step(total_s)
            site.until_ended(matrix)
            check_run(run, by_s, len(generators))


def check_run(run, by_s, stepped):
    run.refresh_from_db()
    measured = run.measurement_sets.get()
    findings = {finding.check_id: finding for finding in measured.findings.all()}
    steps = [client.facts.get("clock_steps", []) for client in run.client_runs.order_by("number")]

    assert (run.status, run.reason_detail) == (Status.SUCCEEDED, "")
    assert [[pytest.approx(by_s, abs=MAX_GUESS_S)]] * stepped == [[step[1] for step in each] for each in steps if each]
    assert findings["V35"].severity == "warn"
    assert f"by {signed_seconds(by_s)} after" in findings["V35"].message
    assert measured.window_s == pytest.approx(MEASURE_S, abs=1.5)
    assert not {"V09", "V13", "V14", "E01"} & {name for name, each in findings.items() if each.severity == "reject"}
    print(by_s, {name: (each.severity, each.measured) for name, each in findings.items() if each.severity != "pass"})
