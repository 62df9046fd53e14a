"""Output of scheduled runs with more in it than their one client or run: no statement of it is false and accepted."""

import re
import shutil
from pathlib import Path

import pytest

from runs.tests.importing import DATA
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run
from runs.ycsb.errors import YcsbError

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def outputs(tmp_path: Path) -> list[Path]:
    """The folders of two clients of one run."""
    folders = [tmp_path / number for number in ("0", "1")]
    for folder in folders:
        shutil.copytree(DATA / "two_clients" / folder.name, folder)
    return folders


def prepend(path: Path, content: bytes) -> None:
    path.write_bytes(content + path.read_bytes())


EARLIER = b"""\
[OVERALL], RunTime(ms), 9000
[OVERALL], Throughput(ops/sec), 100.0
[READ], Operations, 450
[READ], AverageLatency(us), 300
[READ], MinLatency(us), 20
[READ], MaxLatency(us), 900
[READ], Return=OK, 450
[UPDATE], Operations, 450
[UPDATE], AverageLatency(us), 300
[UPDATE], MinLatency(us), 20
[UPDATE], MaxLatency(us), 900
[UPDATE], Return=OK, 450
"""


def add_earlier_summary(outputs: list[Path]) -> None:
    """YCSB appends to the file of a run before."""
    prepend(outputs[0] / "summary.txt", EARLIER)


def add_summary_of_the_other(outputs: list[Path]) -> None:
    """A script that starts two clients, whose output is in one file."""
    prepend(outputs[0] / "summary.txt", (outputs[1] / "summary.txt").read_bytes())


def add_log_of_the_other(outputs: list[Path]) -> None:
    prepend(outputs[0] / "READ.hdr", (outputs[1] / "READ.hdr").read_bytes())


def add_earlier_log(outputs: list[Path]) -> None:
    """An hour before."""
    log = outputs[0] / "READ.hdr"
    start = re.search(rb"StartTime: (\d+)", log.read_bytes())
    assert start is not None
    prepend(log, log.read_bytes().replace(start[1], b"%d" % (int(start[1]) - 3600)))


ADDITIONS = [add_earlier_summary, add_summary_of_the_other, add_log_of_the_other, add_earlier_log]


def measure(team, outputs: list[Path]) -> tuple[dict[str, int | None], set[str]]:
    """The successful operations by name, and the checks that reject."""
    try:
        run = recorded_run(team, *map(str, outputs))
    except YcsbError as error:
        return {}, {str(error)}
    measured = run.measurement_sets.get()
    counts = dict(measured.measurements.filter(latency_kind="service").values_list("operation", "ok"))
    return counts, set(measured.findings.filter(severity="reject").values_list("check_id", flat=True))


@pytest.mark.parametrize("add", ADDITIONS, ids=[add.__name__ for add in ADDITIONS])
def test_output_of_more_than_the_run_is_right_or_rejected(team, artifact_folder, outputs, add):
    counts, rejecting = measure(team, outputs)
    add(outputs)
    changed_counts, changed_rejecting = measure(team, outputs)

    assert counts["READ"]
    assert changed_counts == counts or changed_rejecting - rejecting
