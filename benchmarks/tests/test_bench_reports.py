"""`make bench`: what its tables and JSON say, and that the binding really is measured."""

import json
from pathlib import Path

import pytest
from django.conf import settings

from benchmarks.speed import driver
from benchmarks.speed.report import Report
from workers.systems.build import build


def report(**fields) -> Report:
    known = {
        "name": "overhead",
        "title": "By hand and driven",
        "columns": ("pair", "by hand ops/s", "ratio"),
        "rows": [[1, 41234.5, 0.991], [2, 40000.0, 0.987]],
        "figure": 0.989,
        "unit": "ratio",
        "wanted": "at least 0.98",
        "met": True,
    }
    return Report(**{**known, **fields})


def test_the_table_is_aligned_and_ends_with_the_verdict():
    title, head, first, second, verdict = report().table().splitlines()
    assert title == "By hand and driven"
    assert [line.split() for line in (first, second)] == [["1", "41,234", "0.991"], ["2", "40,000", "0.987"]]
    assert len(head) == len(first) == len(second)
    assert verdict == "  median 0.989, wanted at least 0.98: met"


def test_what_is_not_met_is_said():
    assert report(met=False).table().endswith("wanted at least 0.98: NOT met")
    assert "median 0.989 s," in report(unit="s").table()


def test_the_json_holds_every_measurement_and_the_machine(tmp_path: Path):
    path = report(raw={"pairs": [[1.0, 2.0]]}).write(tmp_path / "bench")
    assert path == tmp_path / "bench" / "overhead.json"
    content = json.loads(path.read_text())
    assert content["rows"] == [[1, 41234.5, 0.991], [2, 40000.0, 0.987]]
    assert (content["figure"], content["met"], content["raw"]) == (0.989, True, {"pairs": [[1.0, 2.0]]})
    assert content["machine"]["cores"]["value"] > 0
    assert content["measured_at"]


@pytest.mark.slow
def test_a_binding_and_its_driver_are_measured_in_turn(monkeypatch: pytest.MonkeyPatch):
    build(settings.YCSB_DIR)
    short = {"THREADS": (2,), "ROUNDS": 2, "WARMUP_ROUNDS": 1, "ROUND_S": 0.2, "PEER_OPERATIONS": 200}
    for name, value in short.items():
        monkeypatch.setattr(driver, name, value)
    reports = driver.measure(["redis", "postgresql"])  # of which the second has no bare loop
    assert [report.name for report in reports] == ["driver-redis", "ledger"]
    for report in reports:
        [[threads, pairs, *rates]] = report.rows
        assert (threads, pairs) == (2, 2)
        assert all(float(rate) > 0 for rate in rates)
