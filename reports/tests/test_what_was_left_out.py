"""What does not count in a comparison is listed with its reasons and its effect on the ceiling."""

import uuid

from reports.compare.curves import LeftOut, Standing
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.exclusions import left_out
from reports.tests.curves import curve, point


def excluded(throughput, reason="the disk was full"):
    return LeftOut(uuid.uuid4(), Standing.EXCLUDED, reason, throughput, ())


def describe_effect(side):
    return plain_text("compare/exclusion_effect.txt", curve=side)


def test_nothing_left_out_is_nothing_said():
    assert left_out([curve()]) == [] and describe_effect(curve()) == ""


def test_the_effect_on_the_ceiling_is_said():
    rungs = [
        point(2, 1000.0),
        point(4, 1500.0, left_out=(excluded(2500.0),), excluded=("the disk was full",)),
    ]
    side = curve(points=rungs)
    exclusion = left_out([side])[0]
    assert (exclusion["excluded"], exclusion["rejected"], exclusion["reasons"]) == (1, 0, ["the disk was full"])
    assert describe_effect(side) == (
        "Highest measured: 1.94k\u202fops/s with what people left out, 1.50k\u202fops/s without it "
        "(\N{MINUS SIGN}22.5\u202f%)."
    )


def test_an_exclusion_without_effect_says_so():
    rungs = [point(2, 1000.0, left_out=(excluded(1000.0),), excluded=("twice",)), point(4, 2000.0)]
    assert "does not change the highest measured: 2.00k" in describe_effect(curve(points=rungs))


def test_effect_of_excluding_every_run_is_no_ceiling():
    rungs = [point(2, 1000.0, standing=Standing.EXCLUDED, excluded=("wrong binding",))]
    assert "1.00k\u202fops/s is the highest measured" in describe_effect(curve(points=rungs))


def test_many_reasons_are_counted():
    reasons = (*(f"reason {number}" for number in range(5)), "reason 0")
    exclusion = left_out([curve(points=[point(2, 1000.0, excluded=reasons)])])[0]
    assert (
        exclusion["reasons"][0] == "reason 0 (2 runs)"
        and len(exclusion["reasons"]) == 3
        and exclusion["more_reasons"] == 2
    )


def test_a_rejected_point_is_listed_with_its_finding():
    rungs = [
        point(2, 1000.0, standing=Standing.REJECTED, verdict="reject", rejected=1, worst_finding="V05 reject: short")
    ]
    exclusion = left_out([curve(points=rungs)])[0]
    assert (exclusion["excluded"], exclusion["rejected"], exclusion["reasons"]) == (0, 1, ["V05 reject: short"])
