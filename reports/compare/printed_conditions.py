"""Which sides were measured under the conditions of a number that a study printed, and what they did of it. Pure."""

from collections.abc import Sequence
from typing import Final

from reports.compare.curves import COMPOSITE, Curve, Point
from runs.plans.studies import Fact, Study
from runs.ycsb.properties import DISTRIBUTION, read_shares

MAX_DIFFERENCE_PERCENT: Final = 0.5


def list_alike(fact: Fact, study: Study, curves: Sequence[Curve]) -> list[Curve]:
    """The sides of the fact's phase, mix, distribution and number of records.

    What the study or a side does not state excludes nothing. Where none of the study's numbers of records was measured,
    but as many others, they correspond in their order: the study was made smaller.
    """
    alike = [curve for curve in curves if _has_mix(fact, curve)]
    if not fact.records:
        return alike
    mix = (fact.phase, fact.reads_percent, fact.distribution)
    facts = [other for other in study.facts if (other.phase, other.reads_percent, other.distribution) == mix]
    printed = sorted({int(other.records) for other in facts if other.records})
    measured = sorted({curve.setup.records for curve in alike if curve.setup.records})
    records = _match_records(printed, measured).get(int(fact.records))
    return [curve for curve in alike if records is None or curve.setup.records in (None, records)]


def measure_printed(fact: Fact, curve: Curve) -> float | None:
    """The quantity of the fact as the side has it at its ceiling, in the fact's unit; None where it has none."""
    point = curve.ceiling_rung
    if not fact.statistic or point is None:
        return None
    if fact.statistic == "throughput":
        return curve.ceiling_ops_s * _compute_part(point, fact.operation)
    if fact.statistic == "knee":
        knee = curve.knee
        return fact.from_microseconds(knee.latency_s * 1e6) if knee and knee.reached else None
    latency = point.latency(fact.operation, fact.statistic)
    return fact.from_microseconds(latency.geomean) if latency else None


def _compute_part(point: Point, operation: str) -> float:
    """The share of an operation in all of a point; 1 of all together."""
    if not operation:
        return 1.0
    done = {row.operation: row.ok or 0 for row in point.of_kind("service") if row.operation != COMPOSITE}
    return done.get(operation, 0) / max(sum(done.values()), 1)


def _match_records(printed: Sequence[int], measured: Sequence[int]) -> dict[int, int]:
    """The measured number of records by the printed one; empty where they do not correspond."""
    if set(printed) & set(measured):
        return {records: records for records in printed}
    if len(printed) == len(measured):
        return dict(zip(printed, measured, strict=True))
    return {}


def _has_mix(fact: Fact, curve: Curve) -> bool:
    properties = curve.setup.workload_properties
    if (fact.phase == "load") != (curve.phase == "load"):
        return False
    if fact.phase == "load":
        return True
    if fact.distribution and properties.get(DISTRIBUTION) not in (None, fact.distribution):
        return False
    if not fact.reads_percent or "readproportion" not in properties:
        return True
    reads = float(fact.reads_percent)
    shares = read_shares(properties)
    expected = {"READ": reads, "UPDATE": 100 - reads}
    return all(abs(100 * shares.get(name, 0.0) - share) <= MAX_DIFFERENCE_PERCENT for name, share in expected.items())
