"""A run that is too long to keep every interval by itself: stored in tens of seconds, cut again and recomputed so."""

import numpy as np
import pytest

from runs.results.recording.intervals import stored_intervals
from runs.results.recording.recompute import rebuild
from runs.results.recording.recut import recut
from runs.tests import recorded
from runs.tests.factories import make_user
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run
from runs.ycsb import ingest
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.series import unpack
from runs.ycsb.tests.hdrlogs import build_file, get_lines
from runs.ycsb.tests.samples import made_log

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SECONDS = 150


def log(operation: str, seed: int) -> IntervalLog:
    dice = np.random.default_rng(seed)
    return made_log(
        operation, [(float(second), 1.0, dice.integers(100, 9_000, 30).tolist()) for second in range(SECONDS)]
    )


@pytest.fixture
def run(team, artifact_folder, monkeypatch, tmp_path):
    monkeypatch.setattr(ingest, "MAX_FINE_S", 60)
    monkeypatch.setattr(recorded, "DATA", tmp_path)
    for number in ("0", "1"):
        (tmp_path / number).mkdir()
        for operation in ("READ", "UPDATE"):
            lines = get_lines(log(operation, int(number)))
            (tmp_path / number / f"{operation}.hdr").write_bytes(build_file(lines))
    return recorded_run(team, "0", "1", warmup_s=20, measure_s=100)


def test_its_numbers_are_those_of_single_seconds(run):
    kept = run.measurement_sets.get()
    assert (kept.warmup_s, kept.window_s, kept.operations) == (20, 100, 2 * 2 * 30 * 100)


def test_its_series_have_every_level(run):
    rows = run.series.order_by("operation", "interval_s")
    assert [(row.operation, row.interval_s, row.points) for row in rows] == [
        (operation, every, points)
        for operation in ("READ", "UPDATE")
        for every, points in ((1, 150), (10, 15), (60, 3))
    ]
    assert unpack(bytes(rows[1].data)).points["count"].tolist() == [600] * 15


def test_it_is_cut_again_in_tens_of_seconds(run):
    assert [len(interval.kept) for interval in stored_intervals(run)] == [30, 30]
    kept = recut(run, warmup_s=40, tail_s=30, user=make_user())
    assert (kept.number, kept.window_s, kept.operations) == (2, 80, 2 * 2 * 30 * 80)
    assert {client["operations"] for client in kept.clients} == {2 * 30 * 80}


def test_recomputing_finds_nothing_new(run):
    assert rebuild(run).differences == []
    recut(run, warmup_s=37.5, tail_s=11, user=make_user())
    assert rebuild(run).differences == []
