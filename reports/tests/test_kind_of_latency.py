"""Which latency is shown where nobody chooses: one kind for a whole ladder, and overload never hidden."""

from dataclasses import replace

import pytest

from reports.compare.analysis.ceiling import Rung
from reports.compare.analysis.knee import power_knee
from reports.compare.curves import detect_kind
from reports.compare.pages.charts import latency_pictures
from reports.compare.selection import Selection
from reports.compare.views.compare import build_controls
from reports.tests.curves import curve, operation, point

pytestmark = pytest.mark.slow

TARGETS = ((1000, 1000.0, 1.0), (2000, 2000.0, 1.2), (3000, 2990.0, 2.0), (4000, 3100.0, 500.0), (5000, 3100.0, 900.0))


def at_target(target, achieved, response_ms):
    parts = (operation("READ", 800.0), operation("READ", response_ms * 1e3, kind="response"))
    return point(8, achieved, target_ops_s=target, operations=parts if response_ms else parts[:1])


def targets(rungs=TARGETS, **changes):
    return curve(points=[at_target(*rung) for rung in rungs], ladder="target", **changes)


def test_target_ladder_needs_response_time_at_every_point():
    """Otherwise it is read by service time."""
    assert targets().latency_kind == "response"
    assert targets((*TARGETS[:4], (5000, 3100.0, 0))).latency_kind == "service"
    assert curve().latency_kind == "service"
    assert curve(points=[]).latency_kind == "service"


def test_comparison_needs_response_times_of_all_sides():
    """Otherwise it is read by service time."""
    assert detect_kind([targets(), targets()]) == "response"
    assert detect_kind([targets(), curve()]) == "service"
    assert detect_kind([]) == "service"


def test_who_chooses_a_kind_gets_it():
    both = [targets()]
    assert Selection().kind_for(both) == "response"
    assert Selection(kind="service").kind_for(both) == "service"
    assert Selection(kind="service").query() == "?v=1&kind=service"
    assert [value for value, _ in build_controls(Selection(), both)["kinds"]] == ["service", ""]
    assert [value for value, _ in build_controls(Selection(), [*both, curve()])["kinds"]] == ["", "response"]


def test_the_knee_never_mixes_kinds():
    mixed = [
        Rung(8, x, 0.0008, float(target), response_s=ms / 1e3 if target > 1000 else None) for target, x, ms in TARGETS
    ]
    service = [replace(rung, response_s=None) for rung in mixed]
    assert power_knee(mixed) == power_knee(service)
    found = targets()
    assert found.knee.latency_s == pytest.approx(0.0012)
    lacking = targets((*TARGETS[:4], (5000, 3100.0, 0)))
    assert lacking.knee.latency_s == pytest.approx(0.0008)


def test_target_ladders_label_their_points_with_targets():
    assert latency_pictures(Selection(), [targets()], ["READ"])[0].says == "numbers at the points: targets"
    assert latency_pictures(Selection(), [curve()], ["READ"])[0].says == "numbers at the points: client threads"
