"""Raw points whose metrics were not summed up, as with measurement.raw.no_summary, are results as good as metrics."""

import io

import pytest

from runs.ycsb.readers import read_file
from runs.ycsb.readers.tests.samples import read_text

T = 1_458_262_912
HUNDRED_A_SECOND = "[OVERALL], RunTime(ms), 3000\n[OVERALL], Throughput(ops/sec), 100.0\n"


def build_points(**counts: int) -> str:
    """The points of some operations as a client prints them; `READ_MODIFY_WRITE` stands for READ-MODIFY-WRITE."""
    return "".join(
        f"{name} latency raw data: op, timestamp(ms), latency(us)\n"
        + "".join(f"{name},{T}{number % 1000:03},{300 + number}\n" for number in range(count))
        for name, count in ((name.replace("_", "-"), count) for name, count in counts.items())
    )


@pytest.mark.parametrize(
    ("counts", "phase"),
    [
        ({"CLEANUP": 2, "READ": 200, "UPDATE": 100}, "measure"),
        ({"READ": 300, "UPDATE": 100, "READ_MODIFY_WRITE": 100}, "measure"),
        ({"CLEANUP": 2, "INSERT": 300}, "load"),
        ({"Join": 300}, None),
    ],
)
@pytest.mark.parametrize("collected", ["", "[TOTAL_GCs], Count, 4\n"])
def test_points_without_a_summary_count_as_one(counts: dict[str, int], phase: str | None, collected: str):
    (file,) = read_file("points.txt", io.BytesIO((build_points(**counts) + HUNDRED_A_SECOND + collected).encode()))
    (run,) = file.runs
    assert (run.phase, run.complete, run.warnings) == (phase, True, ())
    assert sum(log.total for log in run.logs) == sum(counts.values())


def test_points_that_are_too_few_are_told():
    lines = "YCSB Client 0.17.0\nStarting test.\n" + build_points(READ=200) + HUNDRED_A_SECOND
    (run,) = read_text(lines)
    assert not run.complete
    assert [note.text[:72] for note in run.warnings] == [
        "Throughput and run time tell of 300 operations, the metrics of 200: some"
    ]


def test_metrics_of_counts_alone_are_a_whole_summary():
    """With measurement.raw.no_summary a client prints how many there were and how they ended, and nothing else."""
    counts = {"CLEANUP": 2, "READ": 200, "UPDATE": 100}
    text = build_points(**counts) + HUNDRED_A_SECOND + "[TOTAL_GCs], Count, 4\n[CLEANUP], Total Operations, 2\n"
    text += "[READ], Total Operations, 200\n[READ], Return=OK, 200\n[UPDATE], Total Operations, 100\n"
    (run,) = read_text(text + "[UPDATE], Return=OK, 100\n")
    assert (run.phase, run.complete, run.warnings) == ("measure", True, ())
    (cut,) = read_text(text)
    assert not cut.complete


def test_each_run_of_a_file_of_points_has_its_own_phase():
    points = build_points(INSERT=5) + build_points(READ=5, UPDATE=5).replace(str(T), str(T + 4000))
    (file,) = read_file("points.txt", io.BytesIO(points.encode()))
    assert [run.phase for run in file.runs] == ["load", "measure"]
