"""What a comparison found and how sure it is, as codes and numbers. Pure; `answer_messages` has the English.

A cost or a ratio is stated only where both ceilings are bracketed and their repeats decide it. Databases are compared
where they promise the same for a write. What is left is what was measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from reports.analysis.ceiling import CLIENT_LIMITED, Status
from reports.analysis.repeat_comparison import THRESHOLD, Comparison, Outcome
from reports.curves import Curve, durability_key
from reports.durability_costs import list_trades
from reports.pages.baseline_ratios import Judging, against

MAX_FINDINGS: Final = 3


class Code(StrEnum):
    """What a finding states, of its sides in their order."""

    NOTHING_MEASURED = "nothing measured"
    NOTHING_COUNTS = "nothing counts"
    COST = "cost"  # of the first side's promise, as a share of the second side's throughput
    SMALL_COST = "small cost"  # less than the threshold
    FASTER = "faster"  # the first side than the second, so many times
    SAME = "same"  # within the threshold
    VALUES = "values"  # what each side did
    KNEE = "knee"  # of the side, at this throughput


class Doubt(StrEnum):
    """What limits the findings, the most important first."""

    CLIENTS = "clients"
    SHORT_LADDERS = "short ladders"
    UNDECIDED = "undecided"
    ONE_MACHINE = "one machine"
    DEMONSTRATION = "demonstration"


@dataclass(frozen=True, slots=True)
class Side:
    database: str
    mode: str
    label: str  # differs from that of every other side
    ops_s: float
    is_bound: bool  # it may be higher


@dataclass(frozen=True, slots=True)
class Finding:
    code: Code
    sides: tuple[Side, ...] = ()
    value: float = 0.0  # COST: a share; FASTER: a factor; KNEE: ops/s; NOTHING_COUNTS: points
    loss_s: float | None = None  # what the first side's promise may lose at a power cut; None: any, or unknown
    workload: str = ""  # where the comparison has several


@dataclass(frozen=True, slots=True)
class Answer:
    findings: tuple[Finding, ...]  # at least one
    repeats: tuple[int, int]  # the fewest and the most runs of a ceiling
    doubts: tuple[Doubt, ...]

    @property
    def is_decided(self) -> bool:
        return Doubt.UNDECIDED not in self.doubts and self.repeats[0] > 1


def answer_of(curves: Sequence[Curve], judging: Judging | None, labels: Mapping[UUID, str]) -> Answer:
    """`labels` are the names of the sides by sweep; without `judging` nothing is compared."""
    measured = [curve for curve in curves if curve.ceiling and curve.ceiling_ops_s > 0]
    if not measured:
        points = sum(len(curve.points) for curve in curves)
        code = Code.NOTHING_COUNTS if points else Code.NOTHING_MEASURED
        return Answer((Finding(code, value=points),), (0, 0), ())
    runs = [len(curve.ceiling.repeats_ops_s) or 1 for curve in measured if curve.ceiling]
    findings = tuple(_findings(measured, judging, labels))[:MAX_FINDINGS]
    return Answer(findings, (min(runs), max(runs)), tuple(_doubts(measured, findings)))


def _findings(curves: Sequence[Curve], judging: Judging | None, labels: Mapping[UUID, str]) -> Iterator[Finding]:
    workloads = dict.fromkeys(curve.workload for curve in curves)
    for workload in workloads:
        group = [curve for curve in curves if curve.workload == workload]
        yield from _findings_of_workload(group, judging, labels, workload if len(workloads) > 1 else "")


def _findings_of_workload(
    curves: Sequence[Curve], judging: Judging | None, labels: Mapping[UUID, str], workload: str
) -> Iterator[Finding]:
    compared: set[UUID] = set()
    pairs = [*_costs(curves), *_rivals(curves)]
    for first, second, is_cost in pairs:
        comparison = _compare(first, second, judging)
        sides = _side(first, labels), _side(second, labels)
        compared |= {first.sweep_id, second.sweep_id}
        code, value = _judge(comparison, is_cost=is_cost)
        yield Finding(code, sides, value, _loss_s(first), workload)
    rest = [curve for curve in curves if curve.sweep_id not in compared]
    if rest:
        highest = sorted(rest, key=lambda curve: -curve.ceiling_ops_s)
        yield Finding(Code.VALUES, tuple(_side(curve, labels) for curve in highest), workload=workload)
    strongest = min(curves, key=lambda curve: (durability_key(curve.durability), -curve.ceiling_ops_s))
    if strongest.knee and strongest.knee.reached:
        yield Finding(
            Code.KNEE, (_side(strongest, labels),), strongest.knee.throughput_ops_s, _loss_s(strongest), workload
        )


def _costs(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Curve, bool]]:
    """Of each database the best ceilings of its strongest and of its weakest promise, where these differ."""
    for trade in list_trades(curves):
        if len(trade.best) > 1:
            yield trade.best[-1], trade.best[0], True


def _rivals(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Curve, bool]]:
    """The two highest ceilings of each promise that several databases or versions give, the strongest first."""
    known = [curve for curve in curves if curve.durability]
    for key in sorted({durability_key(curve.durability) for curve in known}):
        group = [curve for curve in known if durability_key(curve.durability) == key]
        if len(group) > 1:
            first, second, *_ = sorted(group, key=lambda curve: -curve.ceiling_ops_s)
            yield first, second, False


def _compare(first: Curve, second: Curve, judging: Judging | None) -> Comparison | None:
    """Their ceilings; None where these are not both bracketed, or may not be compared."""
    if judging is None or not all(
        curve.ceiling and curve.ceiling.status is Status.BRACKETED for curve in (first, second)
    ):
        return None
    table = against((first, second), judging, None, baseline=second.sweep_id)
    row = next((row for row in table.rows if not row.is_baseline), None) if table else None
    if row is None or row.refused or not row.ratios or row.ratios[0].at:
        return None
    return row.ratios[0].comparison


def _judge(comparison: Comparison | None, *, is_cost: bool) -> tuple[Code, float]:
    """The code, and its share or factor."""
    if comparison is None or comparison.ratio is None or comparison.low is None or comparison.bound:
        return Code.VALUES, 0.0
    if is_cost and comparison.outcome is Outcome.SLOWER:
        return Code.COST, 1 - comparison.ratio
    if comparison.outcome is Outcome.EQUIVALENT:
        return (Code.SMALL_COST, THRESHOLD) if is_cost else (Code.SAME, THRESHOLD)
    if comparison.outcome is Outcome.FASTER:
        return Code.FASTER, comparison.ratio
    return Code.VALUES, 0.0


def _side(curve: Curve, labels: Mapping[UUID, str]) -> Side:
    is_bound = curve.ceiling is not None and curve.ceiling.is_lower_bound
    label = labels.get(curve.sweep_id, curve.label)
    return Side(curve.database_name, curve.mode, label, curve.ceiling_ops_s, is_bound)


def _loss_s(curve: Curve) -> float | None:
    window = curve.durability.get("loss_window_s")
    return float(window) if isinstance(window, int | float) else None


def _doubts(curves: Sequence[Curve], findings: Sequence[Finding]) -> Iterator[Doubt]:
    bounds = [curve.ceiling for curve in curves if curve.ceiling and curve.ceiling.is_lower_bound]
    if any(CLIENT_LIMITED in ceiling.notes for ceiling in bounds):
        yield Doubt.CLIENTS
    elif bounds:
        yield Doubt.SHORT_LADDERS
    elif any(finding.code is Code.VALUES and len(finding.sides) > 1 for finding in findings):
        yield Doubt.UNDECIDED
    machines = [{machine.id for machine in curve.setup.cluster_machines} for curve in curves]
    generators = [{machine.id for machine in curve.setup.generator_machines} for curve in curves]
    if any(servers & clients for servers, clients in zip(machines, generators, strict=True)):
        yield Doubt.ONE_MACHINE
    if not all(curve.publishable for curve in curves):
        yield Doubt.DEMONSTRATION
