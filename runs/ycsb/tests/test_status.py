"""Status lines of live clients are understood, and nothing a client writes makes the reader raise."""

import pytest
from hypothesis import given, strategies as st

from runs.ycsb.status import StatusOperation, parse_status
from runs.ycsb.tests.samples import DATA, corpus

LINE = (
    "2026-11-21 03:49:02:245 1 sec: 2961 operations; 2917.5 current ops/sec; est completion in 8 days 9 hours "
    "[READ: Count=1477, Max=4085, Min=0, Avg=567.77, 90=1112, 99=1800, 99.9=3463, 99.99=4085] "
    "[READ-MODIFY-WRITE: Count=2, Max=9, Min=1, Avg=5, 90=9, 99=9, 99.9=9, 99.99=9] "
)


def test_it_reads_every_field():
    status = parse_status(LINE)
    assert status is not None
    assert (status.elapsed_s, status.operations_done, status.rate_ops_s) == (1, 2961, 2917.5)
    assert status.operations["READ"] == StatusOperation(1477, 4085, 0, 567.77, 1800)
    assert list(status.operations) == ["READ", "READ-MODIFY-WRITE"]


@pytest.mark.parametrize("name", ["two_clients/0", "two_clients/1", "target/0", "not_loaded/0", "stock_v1/0"])
def test_it_reads_all_lines_of_a_real_client(name):
    text = (DATA / name / "stderr.txt").read_text()
    found = [status for line in text.splitlines() if (status := parse_status(line))]
    assert len(found) == text.count("current ops/sec")
    assert [status.operations_done for status in found] == sorted(status.operations_done for status in found)
    assert found[0].rate_ops_s is None, "the first interval has no length, and its rate is infinite"
    counted = sum(
        operation.count or 0
        for status in found
        for name, operation in status.operations.items()
        if name in ("READ", "UPDATE", "READ-FAILED")
    )
    modified = sum((status.operations.get("READ-MODIFY-WRITE") or StatusOperation(0)).count or 0 for status in found)
    # The threads go on while a line is put together, so it is a few operations behind or ahead.
    assert counted - modified == pytest.approx(found[-1].operations_done, abs=40)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (
            "[READ: Count=0, Max=0, Min=9223372036854775807, Avg=\ufffd, 90=0, 99=0, 99.9=0, 99.99=0]",
            StatusOperation(0),
        ),
        ("[READ: Count=0, Max=0, Min=9223372036854775807, Avg=NaN, 90=0]", StatusOperation(0)),
        ("[READ: Count=3, Max=7, Min=1, Avg=4.5, 50=4, 90=7, 99=7]", StatusOperation(3, 7, 1, 4.5, 7, p50=4)),
        ("[READ AverageLatency(us)=12.5]", StatusOperation(avg=12.5)),
    ],
)
def test_it_reads_intervals_of_other_versions(operation, expected):
    status = parse_status(f" 10 sec: 5 operations; 0,5 current ops/sec; {operation} ")
    assert status is not None
    assert status.rate_ops_s == 0.5
    assert status.operations["READ"] == expected


def test_it_reads_a_clock_that_went_back_and_a_label():
    status = parse_status("mine2019-05-02 10:00:00:123 -5 sec: 1 operations; est completion in 0 second ")
    assert status is not None
    assert (status.elapsed_s, status.operations_done, status.rate_ops_s) == (-5, 1, None)


@pytest.mark.parametrize("line", ["", "Starting test.", "[READ], Operations, 5", "1 sec: many operations;"])
def test_it_leaves_other_lines_alone(line):
    assert parse_status(line) is None


@given(st.text())
def test_it_never_raises(line):
    parse_status(line)


@pytest.mark.slow
@given(st.text(), st.text(alphabet="0123456789,.NaE=∞\ufffd-:[] CountMaxMinAvg"))
def test_it_never_raises_on_a_damaged_status_line(label, damage):
    assert parse_status(f"{label} 7 sec: 1 operations; [READ: Count={damage}] [{damage}") is not None


@pytest.mark.parametrize(
    ("start", "lines", "elapsed", "operations"),
    [("012", 12, 10, 16699), ("013", 12, 10, 15407), ("015", 6, 47, 100000), ("024", 3, 10, 100000), ("027", 2, -5, 1)],
)
def test_it_reads_what_others_published(start, lines, elapsed, operations):
    path = next(corpus().glob(f"{start}_*"))
    found = [status for line in path.read_text(errors="replace").splitlines() if (status := parse_status(line))]
    assert len(found) == lines
    assert (found[-1].elapsed_s, found[-1].operations_done) == (elapsed, operations)
