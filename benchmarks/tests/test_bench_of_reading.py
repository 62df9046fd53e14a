"""`make bench`: reading is measured on outputs that every side reads alike."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from benchmarks.speed import corpus, outputs, reading
from benchmarks.speed.report import BenchmarkFailed
from runs.ycsb.readers import read_file
from runs.ycsb.tests.hdrlogs import each_interval, read_logs

pytestmark = pytest.mark.slow


def test_the_logs_hold_what_the_library_reads_too(tmp_path):
    assert outputs.write_logs(tmp_path, 3) == 3 * 4 * 4
    path = tmp_path / "2" / "Intended-UPDATE.hdr"
    (log,) = read_logs([path.read_bytes()])
    assert (log.operation, len(log)) == ("Intended-UPDATE", 3)
    for line, interval in zip(path.read_bytes().splitlines()[4:], each_interval(log), strict=True):
        library = HdrHistogram.decode(line.rpartition(b",")[2])
        assert library.get_total_count() == interval.histogram.count
        assert library.get_value_at_percentile(100) == interval.histogram.max


def test_the_texts_are_read_as_what_they_are(tmp_path):
    outputs.write_text(tmp_path / "text", 1)
    with (tmp_path / "text").open("rb") as file:
        (text,) = read_file("text", file)
    assert len(text.runs[0].status) > 2000 and text.runs[0].operations["UPDATE"].count
    number = outputs.write_points(tmp_path / "raw", 1)
    with (tmp_path / "raw").open("rb") as file:
        (raw,) = read_file("raw", file)
    assert sum(log.total for log in raw.runs[0].logs) == number


@pytest.mark.long
def test_every_side_is_measured():
    ingest, recut = reading.measure_logs(hours=0.02, sample=32)
    assert [row[1] for row in ingest.rows] == [72 * 16] * 4 and ingest.figure > 0, ingest.table()
    assert len(recut.rows) == 3
    (text,) = reading.measure_text(megabytes=1)
    (points,) = reading.measure_points(megabytes=1)
    for report in (text, points):
        assert np.all(np.array([row[1:] for row in report.rows], dtype=float) > 0), report.table()


@pytest.mark.long
@pytest.mark.needs("history")
def test_reads_beside_another_commit():
    reports = list(corpus.measure("HEAD", rounds=2, megabytes=1))

    assert {report.name for report in reports} >= {"outputs-status-lines", "outputs-raw-points"}
    assert all(0.2 < report.figure < 5 for report in reports), [report.table() for report in reports]


@pytest.mark.needs("history")
def test_names_commit_that_is_not_there():
    with pytest.raises(BenchmarkFailed, match="git archive 0000000"):
        list(corpus.measure("0000000"))
