"""What a comparison found and how sure it is, as codes and numbers. Pure; `answer_messages` has the English.

A cost or a ratio is stated only where both ceilings are bracketed and their repeats decide it; where the higher one is
a lower bound, that it is higher. Databases are compared where they promise the same for a write. Of single runs their
ratio is stated without a verdict. What is left is what was measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final
from uuid import UUID

from reports.compare.analysis.ceiling import CLIENT_LIMITED, Status
from reports.compare.analysis.multiple import adjusted
from reports.compare.analysis.repeat_comparison import THRESHOLD, Comparison, Outcome
from reports.compare.curves import Curve, Standing, durability_key
from reports.compare.durability_costs import list_trades
from reports.compare.figures.theme import get_labels
from reports.compare.pages.baseline_ratios import (
    Against,
    Judging,
    Row,
    against,
    choose_baseline,
    collect_comparisons,
)
from reports.compare.pages.equal_load import EqualLoad
from reports.compare.selection import Selection

MAX_FINDINGS: Final = 3


class Code(StrEnum):
    """What a finding states, of its sides in their order."""

    NOTHING_MEASURED = "nothing measured"
    NOTHING_COUNTS = "nothing counts"
    ONLY_STAND_INS = "only stand-ins"  # no server that was measured was the product
    ONLY_ACCEPTED = "only accepted"  # every ceiling has points that were rejected and that a person counts
    UNSUSTAINED = "unsustained"  # every rate of an open load dropped too much; the most that was done
    COST = "cost"  # of the first side's promise, as a share of the second side's throughput
    SMALL_COST = "small cost"  # less than the threshold
    FASTER = "faster"  # the first side than the second, so many times
    MORE = "more"  # the first side, whose value is a lower bound, than the second
    SAME = "same"  # within the threshold
    SINGLE = "single"  # a run of the first side did so many times what one of the second, the reference, did
    VALUES = "values"  # what each side did
    KNEE = "knee"  # of the side, at this throughput


class Doubt(StrEnum):
    """What limits the findings. Of the limits of comparisons one is stated, that of the first finding before others."""

    CLIENTS = "clients"  # values are lower bounds: the clients were at their limit
    SHORT_LADDERS = "short ladders"  # values are lower bounds: the load ended below the ceiling
    OPEN_ENDS = "open ends"  # repeats do not show whether throughput ends there
    FEW_RUNS = "few runs"
    OTHER_DIFFERENCES = "other differences"  # what else differs forbids a ratio
    PROMISES = "promises"  # what sides promise differs or is not known
    ONE_MACHINE = "one machine"
    DEMONSTRATION = "demonstration"
    UNPUBLISHABLE = "unpublishable"  # tuning and other purposes that claim no numbers


INVERSE: Final = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
LIMITS: Final = (
    Doubt.CLIENTS, Doubt.SHORT_LADDERS, Doubt.OPEN_ENDS, Doubt.FEW_RUNS, Doubt.OTHER_DIFFERENCES, Doubt.PROMISES,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    database: str
    mode: str
    label: str  # differs from that of every other side
    ops_s: float
    is_bound: bool  # it may be higher
    sweep_id: UUID


@dataclass(frozen=True, slots=True)
class Finding:
    code: Code
    sides: tuple[Side, ...] = ()
    value: float = 0.0  # COST: a share; FASTER, SINGLE: a factor; KNEE, UNSUSTAINED: ops/s
    interval: tuple[float, float] | None = None  # COST: where it lies with 95 %
    loss_s: float | None = None  # what the first side may lose at a power cut at worst; None: any, or unknown
    workload: str = ""  # where the comparison has several
    limit: Doubt | None = None  # why VALUES are all that can be stated
    comparison: Comparison | None = None  # of the first side with the second one, with its verdict

    @property
    def share(self) -> float:
        """The value in whole per cent."""
        return round(self.value, 2)

    @property
    def least_percent(self) -> int | None:
        """The lower end of the interval in per cent."""
        return round(100 * self.interval[0]) if self.interval else None

    @property
    def is_of_one_database(self) -> bool:
        return len({side.database for side in self.sides}) == 1 < len({side.mode for side in self.sides})


@dataclass(frozen=True, slots=True)
class Answer:
    findings: tuple[Finding, ...]  # at least one
    repeats: tuple[int, int]  # the fewest and the most runs of a ceiling
    doubts: tuple[Doubt, ...]

    @property
    def has_decided(self) -> bool:
        """Whether some comparison has no limit."""
        return any(finding.limit is None for finding in self.findings if len(finding.sides) > 1)

    @property
    def has_others(self) -> bool:
        """Whether the stated limits are none of some comparison."""
        return any(finding.limit not in self.doubts for finding in self.findings if len(finding.sides) > 1)


def judge_selection(
    selection: Selection,
    curves: Sequence[Curve],
    judging: Judging | None,
    equal: EqualLoad | None,
    address: Callable[[UUID], str] = str,
) -> tuple[Answer, Against | None]:
    """The answer, and the ratios as the selection asks for them; `address` is that of the page with another baseline.

    Without `judging` nothing is compared.
    """
    table = None
    if judging:
        table = against(
            curves,
            judging,
            equal,
            baseline=selection.baseline,
            vary=selection.vary,
            anyway=selection.anyway,
            address=address,
        )
    return find_answer(curves, judging, table=table), table


def find_answer(curves: Sequence[Curve], judging: Judging | None, *, table: Against | None = None) -> Answer:
    """Without `judging` nothing is compared.

    `table` is that beside the answer: its verdicts are those of the answer, and its comparisons are of one family with
    those of pairs that it lacks.
    """
    measured = [curve for curve in curves if curve.ceiling and curve.ceiling_ops_s > 0 and not curve.is_accepted]
    if not measured:
        points = list(chain.from_iterable(curve.points for curve in curves))
        rejected = sum(point.standing is Standing.REJECTED for point in points)
        code = Code.NOTHING_COUNTS if points else Code.NOTHING_MEASURED
        if points and all(curve.is_stand_in for curve in curves if curve.points):
            code = Code.ONLY_STAND_INS
        if any(curve.is_accepted for curve in curves):
            code = Code.ONLY_ACCEPTED
        unsustained = max((curve.goodput_ops_s for curve in curves if curve.is_unsustained), default=0.0)
        if unsustained and code is not Code.ONLY_ACCEPTED:
            return Answer((Finding(Code.UNSUSTAINED, value=unsustained),), (0, 0), ())
        return Answer((Finding(code, value=rejected),), (0, 0), ())
    runs = [len(curve.ceiling.repeats_ops_s) or 1 for curve in measured if curve.ceiling]
    findings = tuple(_findings(measured, judging, table))[:MAX_FINDINGS]
    return Answer(findings, (min(runs), max(runs)), tuple(_doubts(measured, findings)))


def find_differing_pair(answer: Answer, table: Against | None) -> tuple[UUID, UUID] | None:
    """The sweeps of the first finding, the reference of the two first; None where it is about one."""
    sides = answer.findings[0].sides[:2]
    if table is None or len(sides) < 2:
        return None
    second, first = sorted(sides, key=lambda side: side.sweep_id == table.baseline.sweep_id)
    return first.sweep_id, second.sweep_id


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a comparison says of one side against another."""

    comparison: Comparison | None  # None: there is no ratio
    stops: Sequence[str] = ()  # why they may not be compared


def find_pair_verdict(answer: Answer, table: Against, first: UUID, second: UUID) -> PairVerdict | None:
    """That of the second side against the first, in the table or the findings; None where neither compares them so."""
    if table.baseline.sweep_id == first:
        row = next(row for row in table.rows if row.curve.sweep_id == second)
        stops = row.gate.stops if row.gate and row.refused else ()
        return PairVerdict(row.ratios[0].comparison if row.ratios else None, stops)
    for finding in answer.findings:
        if finding.comparison and [side.sweep_id for side in finding.sides] == [second, first]:
            return PairVerdict(finding.comparison)
    return None


def _findings(curves: Sequence[Curve], judging: Judging | None, table: Against | None) -> Iterator[Finding]:
    workloads = dict.fromkeys(curve.workload for curve in curves)
    for workload in workloads:
        group = [curve for curve in curves if curve.workload == workload]
        title = workload if len(workloads) > 1 else ""
        yield from _findings_of_workload(group, judging, title, table)


def _findings_of_workload(
    curves: Sequence[Curve], judging: Judging | None, workload: str, table: Against | None
) -> Iterator[Finding]:
    labels = get_labels(curves)
    pairs = [*_costs(curves), *_rivals(curves)]
    rows = [_find_row(table, first, second) for first, second, _ in pairs]
    compared = [
        _compare(first, second, judging, row, is_cost=is_cost)
        for (first, second, is_cost), row in zip(pairs, rows, strict=True)
    ]
    # Those that have no row are judged together with all rows.
    listed = collect_comparisons(table.rows) if table else []
    unlisted = [
        comparison
        for comparison, row in zip(compared, rows, strict=True)
        if isinstance(comparison, Comparison) and row is None
    ]
    verdicts = iter(adjusted([*listed, *unlisted])[len(listed) :])
    for (first, second, is_cost), row, comparison in zip(pairs, rows, compared, strict=True):
        sides, loss_s = (_side(first, labels), _side(second, labels)), _loss_s(first)
        if isinstance(comparison, Doubt):
            yield Finding(Code.VALUES, sides, loss_s=loss_s, workload=workload, limit=comparison)
            continue

        verdict = comparison if row else next(verdicts)
        code, value = _judge(verdict, is_cost=is_cost)
        interval = None
        if code is Code.COST:
            interval = _cost_interval(verdict)
        limit = Doubt.FEW_RUNS if code in (Code.VALUES, Code.SINGLE) else None
        if code is Code.SINGLE and first is choose_baseline([c for c in curves if c is first or c is second], None):
            yield Finding(code, sides[::-1], 1 / value, interval, loss_s, workload, limit)
            continue
        yield Finding(code, sides, value, interval, loss_s, workload, limit, verdict)

    paired = {curve.sweep_id for first, second, _ in pairs for curve in (first, second)}
    rest = [curve for curve in curves if curve.sweep_id not in paired]
    if rest:
        highest = sorted(rest, key=lambda curve: -curve.ceiling_ops_s)
        limit = Doubt.PROMISES if len(rest) > 1 else None
        yield Finding(Code.VALUES, tuple(_side(curve, labels) for curve in highest), workload=workload, limit=limit)
    bending = [curve for curve in curves if curve.knee and curve.knee.reached]
    strongest = min(bending, key=lambda curve: (durability_key(curve.durability), -curve.ceiling_ops_s), default=None)
    if strongest and strongest.knee:
        yield Finding(Code.KNEE, (_side(strongest, labels),), strongest.knee.throughput_ops_s, workload=workload)


def _costs(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Curve, bool]]:
    """Of each database the best ceilings of its strongest and of its weakest promise, where these differ."""
    for best, _ in list_trades(curves):
        if len(best) > 1:
            yield best[-1], best[0], True


def _rivals(curves: Sequence[Curve]) -> Iterator[tuple[Curve, Curve, bool]]:
    """The two highest ceilings of each promise that several databases or versions give, the strongest first."""
    described = [curve for curve in curves if curve.durability]
    for key in sorted({durability_key(curve.durability) for curve in described}):
        group = [curve for curve in described if durability_key(curve.durability) == key]
        if len(group) > 1:
            first, second, *_ = sorted(group, key=lambda curve: -curve.ceiling_ops_s)
            yield first, second, False


def _find_row(table: Against | None, first: Curve, second: Curve) -> Row | None:
    """The row that compares both; None where the table compares each with another side."""
    sides = {first.sweep_id, second.sweep_id}
    if table is None or table.baseline.sweep_id not in sides:
        return None
    return next((row for row in table.rows if not row.is_baseline and row.curve.sweep_id in sides), None)


def _take_verdict(comparison: Comparison, row: Row, first: Curve) -> Comparison | Doubt:
    """The comparison of the first side with another one with the verdict of the row that compares both."""
    verdict = row.ratios[0].comparison if row.ratios and not row.refused else None
    if verdict is None:
        return Doubt.OTHER_DIFFERENCES
    outcome = verdict.outcome
    if row.curve.sweep_id != first.sweep_id:
        outcome = INVERSE.get(outcome, outcome)
    return replace(comparison, outcome=outcome, adjusted_p=verdict.adjusted_p)


def _compare(
    first: Curve, second: Curve, judging: Judging | None, listed: Row | None, *, is_cost: bool
) -> Comparison | Doubt:
    """Of their ceilings, or why these are not compared. Of rivals the first, which is the higher, may be a bound.

    `listed` is the row of the table beside the answer that compares both.
    """
    ceilings = [curve.ceiling for curve in (first, second) if curve.ceiling]
    unbracketed = [ceiling for ceiling in ceilings if ceiling.status is not Status.BRACKETED]
    if _have_one_load((first, second)):
        unbracketed = []  # Of one test, measured at one load, no ladder has to show more.
    bounds = [ceiling for ceiling in unbracketed if ceiling.is_lower_bound]
    if bounds and (is_cost or unbracketed != ceilings[:1]):
        return Doubt.SHORT_LADDERS
    if unbracketed and not bounds:
        if all(ceiling.is_confirmed for ceiling in ceilings):
            return Doubt.OPEN_ENDS
        return Doubt.FEW_RUNS
    table = None
    if judging:
        table = against((first, second), judging, None, baseline=second.sweep_id)
    row = next((row for row in table.rows if not row.is_baseline), None) if table else None
    ratio = None
    if row and row.ratios and not row.refused:
        ratio = row.ratios[0]
    if ratio and ratio.at and not _have_one_load((first, second)):  # At a common load, as the bound does not decide it.
        return Doubt.SHORT_LADDERS
    comparison = ratio.comparison if ratio else None
    if comparison and listed:
        return _take_verdict(comparison, listed, first)
    return comparison or Doubt.OTHER_DIFFERENCES


def _have_one_load(curves: Sequence[Curve]) -> bool:
    return len(curves) > 1 and len(curves[0].rungs) == 1 and len({curve.rungs for curve in curves}) == 1


def _cost_interval(comparison: Comparison) -> tuple[float, float]:
    assert comparison.low is not None and comparison.high is not None
    return round(1 - comparison.high, 2), round(1 - comparison.low, 2)


def _judge(comparison: Comparison, *, is_cost: bool) -> tuple[Code, float]:
    """The code, and its share or factor."""
    if comparison.ratio is None:
        return Code.VALUES, 0.0
    if comparison.low is None:
        return (Code.VALUES, 0.0) if comparison.bound else (Code.SINGLE, comparison.ratio)
    if comparison.bound:
        return (Code.MORE if comparison.outcome is Outcome.FASTER else Code.VALUES), 0.0
    if is_cost and comparison.outcome is Outcome.SLOWER:
        return Code.COST, 1 - comparison.ratio
    if comparison.outcome is Outcome.EQUIVALENT:
        if is_cost:
            return (Code.SMALL_COST, THRESHOLD)
        return (Code.SAME, THRESHOLD)
    if comparison.outcome is Outcome.FASTER:
        return Code.FASTER, comparison.ratio
    return Code.VALUES, 0.0


def _side(curve: Curve, labels: Mapping[UUID, str]) -> Side:
    label = labels[curve.sweep_id]
    return Side(curve.database_name, curve.mode, label, curve.ceiling_ops_s, curve.is_lower_bound, curve.sweep_id)


def _loss_s(curve: Curve) -> float | None:
    """At worst, where the record states more than what is usual."""
    windows = [curve.durability.get(name) for name in ("worst_loss_window_s", "loss_window_s")]
    return next((float(window) for window in windows if isinstance(window, int | float)), None)


def _shares_machines(curve: Curve) -> bool:
    servers = {machine.id for machine in curve.setup.cluster_machines}
    return not servers.isdisjoint(machine.id for machine in curve.setup.generator_machines)


def _doubts(curves: Sequence[Curve], findings: Sequence[Finding]) -> Iterator[Doubt]:
    limits = {finding.limit for finding in findings[:1]} - {None, Doubt.SHORT_LADDERS}
    bounds = [curve.ceiling for curve in curves if curve.ceiling and curve.is_lower_bound]
    if bounds and not limits and not _have_one_load(curves):
        limits = {Doubt.CLIENTS if any(CLIENT_LIMITED in ceiling.notes for ceiling in bounds) else Doubt.SHORT_LADDERS}
    limits = limits or {finding.limit for finding in findings}
    yield from [limit for limit in LIMITS if limit in limits][:1]
    if any(map(_shares_machines, curves)):
        yield Doubt.ONE_MACHINE
    unpublishable = {curve.purpose for curve in curves if not curve.publishable}
    if unpublishable:
        yield Doubt.DEMONSTRATION if "demo" in unpublishable else Doubt.UNPUBLISHABLE
