"""The clocks of load generators and of stock clients are set while these run: the runs count, and the step is stated.

libfaketime sets the clock of a JVM as well, but Python's `time.sleep` fails with it (EINVAL): a few lines of C do it.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.tests.live_site import GENERATORS, LiveSite
from runs.catalog import load_catalog
from runs.checks.clients import signed_seconds
from runs.models import Run
from runs.models.run import Phase, Status
from runs.tests.test_fabricated_uploads import judged
from runs.uploads.inline import read_at_once
from runs.uploads.reads import runs_in
from runs.ycsb.clients import merge_run
from workers.provision.servers import Server
from workers.systems.build import build
from workers.tests.conftest import started_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(900),
    pytest.mark.needs("cc"),
]
SOURCE = Path(__file__).with_name("stepped_clock.c")
MEASURE_S = 8
MAX_GUESS_S = 0.15
REDIS_CLASS = "org.benchsite.redis.RedisDB"


class SteppedClocks:
    """The clocks of some load generators and their clients; the monotonic ones go on."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
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


def site_with(clocks, folder, generators):
    build(settings.YCSB_DIR)
    live = LiveSite(folder)
    live.variables = dict.fromkeys(generators, clocks.variables)
    return live


LONG = pytest.mark.long
STEPS_S = (-2.0, 2.0, -0.2, 0.2, -60.0, 60.0, -4000.0, 4000.0)


@pytest.mark.parametrize(
    ("generators", "steps"),
    [
        pytest.param(GENERATORS[:1], (-2.0,), id="one back 2 s"),
        pytest.param(GENERATORS[:1], STEPS_S[1:], id="one", marks=LONG),
        pytest.param(GENERATORS, STEPS_S, id="all", marks=LONG),
    ],
)
def test_runs_count_while_clocks_are_set(tmp_path, generators, steps):
    clocks = SteppedClocks(tmp_path)
    with site_with(clocks, tmp_path, generators) as site:
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


# Kinds of output of a stock client: its measurement type and properties.
OUTPUTS = {
    "summary": ("hdrhistogram", {}),
    "histogram logs": ("hdrhistogram", {"hdrhistogram.fileoutput": "true", "hdrhistogram.output.path": "hdr/"}),
    "time series": ("timeseries", {"timeseries.granularity": "1000"}),
    "raw points": ("raw", {"measurement.raw.output_file": "raw.txt"}),
}
CLIENT_S = 12
TARGET_OPS_S = 300


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    build(settings.YCSB_DIR)
    with started_server(load_catalog().system("redis"), "off") as server:
        yield server


def start_client(server, clocks, folder, output, phase="-t"):
    """Stock YCSB's own main, with its own measurements."""
    measurement_type, more = OUTPUTS[output]
    properties = {
        "workload": "site.ycsb.workloads.CoreWorkload", "recordcount": "1000", "operationcount": "1000000",
        "measurementtype": measurement_type, "status.interval": "1", "maxexecutiontime": str(CLIENT_S),
        "target": str(TARGET_OPS_S), **server.client_properties(), **more,
    }  # fmt: skip
    (folder / "hdr").mkdir(parents=True)
    arguments = [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
    jars = settings.YCSB_DIR / "redis/lib/*"
    command = [f"{clocks.variables['JAVA_HOME']}/bin/java", "-cp", jars, "site.ycsb.Client", "-db", REDIS_CLASS]
    with (folder / "summary.txt").open("wb") as stdout, (folder / "stderr.txt").open("wb") as stderr:
        return subprocess.Popen([*command, phase, "-s", *arguments], cwd=folder, stdout=stdout, stderr=stderr)


@pytest.mark.parametrize(
    ("count", "stepped"),
    [
        pytest.param(2, (0,), id="one"),
        pytest.param(2, (0, 1), id="all", marks=LONG),
        pytest.param(1, (0,), id="alone", marks=LONG),
    ],
)
@pytest.mark.parametrize(
    ("output", "steps"),
    [
        pytest.param("summary", (-2.0,), id="summary, back 2 s"),
        *(pytest.param(output, STEPS_S, id=output, marks=LONG) for output in OUTPUTS),
    ],
)
def test_output_of_stock_clients_is_read(redis_server, tmp_path, count, stepped, output, steps):
    """Throughputs are right where a step can be taken out; where it cannot, the check rejects the run."""
    loader = start_client(redis_server, SteppedClocks(tmp_path / "load"), tmp_path / "data", "summary", "-load")
    assert loader.wait() == 0
    for by_s in steps:
        folder = tmp_path / f"by{by_s:g}"
        clocks = [SteppedClocks(folder / f"clock{number}") for number in range(count)]
        clients = [start_client(redis_server, clocks[at], folder / f"client{at}", output) for at in range(count)]
        for at in range(count):
            until_printed(folder / f"client{at}/stderr.txt")
        for number in stepped:
            clocks[number].step(by_s)
        assert [client.wait() for client in clients] == [0] * count

        names = ("stderr.txt", "summary.txt", "raw.txt", "*.hdr")
        paths = [path for name in names for path in folder.rglob(name) if path.stat().st_size]
        files = {str(path.relative_to(folder)): path.read_text() for path in paths}
        findings = judged(files, grouping="together", system="redis", mode="off", properties={"recordcount": "1000"})
        (run,) = runs_in(read_at_once([(name, text.encode()) for name, text in files.items()]), "together")

        printed = [client.evidence.clock_steps for client in merge_run(run).clients]
        assert all(any(abs(size_s - by_s) < MAX_GUESS_S for _, size_s in printed[at]) for at in stepped), printed
        if output == "raw points":
            assert findings["V35"].severity == ("reject" if abs(by_s) > 1 else "warn")
            continue
        assert findings["V35"].severity == "warn"
        assert merge_run(run).throughput_ops_s == pytest.approx(count * TARGET_OPS_S, rel=0.1)


def until_printed(path):
    """Until there are some status lines, whose pace is to be known."""
    end = time.monotonic() + 60
    while path.read_text().count(" sec: ") < 6:
        assert time.monotonic() < end, path.read_text()
        time.sleep(0.1)
