"""The tables of a comparison, for its page and for reports: whole numbers, units in the names of the columns. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

from benchsite.core import formatting
from benchsite.core.table import Cell, Columns, Table, tabulated
from reports.compare.analysis.differences import differences
from reports.compare.analysis.repeat_comparison import ALGORITHM, Comparison, Outcome, finite
from reports.compare.curves import STATISTICS, Curve
from reports.compare.figures.ceilings import Ranking, describe_rank
from reports.compare.figures.latency import points_table
from reports.compare.ladder_text import bracket_says, ladder_says, threads_text, why_none
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.baseline_ratios import Against, Ratio, Row
from reports.compare.pages.equal_load import EqualLoad, list_percentiles
from reports.compare.printed_conditions import list_alike, measure_printed
from runs.plans.studies import Study, studies

Labels = Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class Item:
    """A figure or a table of a comparison."""

    name: str
    title: str
    says: str
    table: Callable[[], Table] | None = None  # None: a figure

    @property
    def is_table(self) -> bool:
        return self.table is not None


def list_tables(
    curves: Sequence[Curve], labels: Labels, against: Against | None, equal: EqualLoad | None, kind: str
) -> Iterator[Item]:
    """The tables, the most important first."""
    says = "what each side sustains, and what a write waits for"
    yield Item("table-sustained", "Ceilings", says, partial(sustained_table, curves, labels))
    if against:
        load = ""
        if against.load_ops_s:
            load = f"; latencies at {formatting.throughput(against.load_ops_s)} for every side"
        table = partial(against_table, against, equal, labels)
        title = f"Against {labels[against.baseline.sweep_id]}"
        yield Item("table-against", title, f"what varies: {against.axes}{load}", table)

    if equal:
        says = plain_text("compare/equal_load.txt", equal=equal)
        yield Item("table-equal-load", "Latency at equal load", says, partial(equal_table, equal, labels))
    if len(curves) > 1:
        table = partial(differences_table, curves, labels)
        yield Item("table-differences", "What the sides differ in", "beside what is compared", table)

    table = partial(points_table, curves, kind=kind)
    yield Item("table-points", "All points", "every rung of every side, geometric mean of its runs", table)


def list_published(slugs: Collection[str], curves: Sequence[Curve], labels: Labels) -> Iterator[Item]:
    """The numbers of each of these studies."""
    for study in studies():
        if study.slug in slugs:
            says = "as printed, in its order, beside what was measured here of the same system and mix; not comparable"
            table = partial(published_table, study, curves, labels)
            yield Item(f"table-published-{study.slug}", f"Printed by {study.name}", says, table)


PUBLISHED_COLUMNS: Final[Columns] = {
    "of": "fact.database",
    "metric": lambda row: row.fact.metric.replace("_", " "),
    "conditions": "fact.conditions",
    "bound": lambda row: row.fact.mark or None,
    "printed": "fact.value",
    "measured": "measured",
    "unit": "fact.unit",
    "measured / printed": lambda row: row.measured and _rounded(row.measured / row.fact.value, 3),
    "by side": "side",
    "disputed because": lambda row: row.fact.disputed or None,
}


def published_table(study: Study, curves: Sequence[Curve], labels: Labels) -> Table:
    """Every number of the study in its own unit, once for each side that measured the same."""
    return tabulated(PUBLISHED_COLUMNS, _pair_published(study, curves, labels))


def _pair_published(study: Study, curves: Sequence[Curve], labels: Labels) -> Iterator[SimpleNamespace]:
    for fact in study.facts:
        sides = [curve for curve in list_alike(fact, study, curves) if curve.system == fact.database.lower()]
        measured = [(measure_printed(fact, curve), curve) for curve in sides]
        rows = [
            SimpleNamespace(fact=fact, measured=_rounded(value, 4), side=labels.get(curve.sweep_id, curve.label))
            for value, curve in measured
            if value
        ]
        yield from rows or [SimpleNamespace(fact=fact, measured=None, side=None)]


def sustained_table(curves: Sequence[Curve], labels: Labels) -> Table:
    """The sustained throughput of each side, its load, and its promise."""
    ranking = Ranking(curves)
    return Table(
        (
            "side", "a write waits for", "bound", "ceiling (ops/s)", "95 % interval from (ops/s)",
            "95 % interval to (ops/s)", "runs", "of the highest", "not distinguishable from the best", "at",
            "what the ladder shows", "knee (ops/s)",
        ),
        tuple(_sustained(curve, labels, ranking) for curve in curves),
    )  # fmt: skip


def _sustained(curve: Curve, labels: Labels, ranking: Ranking) -> tuple[Cell, ...]:
    ceiling = curve.ceiling
    side = (labels.get(curve.sweep_id, curve.label), curve.promise or "not known")
    if ceiling is None:
        return (*side, *[None] * 8, why_none(curve), None)

    return (
        *side,
        "≥" if ceiling.is_lower_bound else None,
        ceiling.throughput_ops_s,
        ceiling.low_ops_s,
        ceiling.high_ops_s,
        len(ceiling.repeats_ops_s) or None,
        ranking.share_text(curve),
        describe_rank(ranking.ranks[curve.sweep_id]),
        bracket_says(ceiling) or threads_text(ceiling.plateau),
        ladder_says(ceiling),
        curve.knee.throughput_ops_s if curve.knee and curve.knee.reached else None,
    )


def against_table(against: Against, equal: EqualLoad | None, labels: Labels) -> Table:
    """Every side against the baseline: how many times better, with the interval and what follows from it."""
    latency = "latency"
    if equal:
        latency = equal.statistic_label
    names = [("ceiling", "higher"), *((f"{operation} {latency}", "lower") for operation in against.latency_operations)]
    interval = "interval" if against.has_looks else "95 % interval"
    columns: list[str] = []
    for label, better in names:
        columns += (f"{label}, times {better}", f"{label}: {interval}", f"{label}: outcome")
    rows = [(labels.get(row.curve.sweep_id, row.curve.label), *_against(row, len(columns))) for row in against.rows]
    return Table(("side", *columns), tuple(rows))


def _against(row: Row, width: int) -> list[Cell]:
    blank: list[Cell] = [None] * (width - 3)
    if row.is_baseline:
        return [None, None, "the baseline", *blank]
    if not row.ratios:
        return [None, None, f"not comparable: {' '.join(row.gate.stops) if row.gate else ''}", *blank]
    return list(chain.from_iterable(map(_ratio, row.ratios)))


def _ratio(ratio: Ratio) -> tuple[Cell, Cell, Cell]:
    if ratio.comparison is None:
        return None, None, ratio.why
    measured = ""
    if ratio.at:  # Both sides at one rung: no number of a column of ceilings.
        measured = f"{ratio.times} {ratio.interval}".rstrip() + f" at {ratio.at}"
    notes = "; ".join(
        part for part in (measured, ratio.outcome, ratio.counts, ratio.why, ratio.comparison.note) if part
    )
    if measured:
        return None, None, notes
    return _rounded(ratio.comparison.ratio, 4), ratio.interval, notes


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None:
        return None
    return float(f"{value:.{digits}g}")


def _metric(ratio: Ratio, equal: EqualLoad | None) -> str:
    if ratio.quantity != "throughput":
        at = "latency"
        if equal:
            at = f"{equal.statistic_label} at {formatting.throughput(equal.load_ops_s)}"
        return f"{ratio.quantity} {at}"
    if not ratio.at:
        return "throughput"
    return f"throughput at {ratio.at}"


def collect_verdicts(against: Against | None, equal: EqualLoad | None, labels: Labels) -> list[dict[str, Any]]:
    """Each comparison with its numbers, for programs: which algorithm said what, of how many runs."""
    if against is None:
        return []

    baseline = labels.get(against.baseline.sweep_id, against.baseline.label)
    verdicts = []
    for row in against.rows:
        if row.gate is None:
            continue
        side = labels.get(row.curve.sweep_id, row.curve.label)
        for ratio in row.ratios or (Ratio("throughput", None, " ".join(row.gate.stops)),):
            verdict = _verdict(ratio.comparison, ratio.why, refused=row.refused)
            verdicts.append({"side": side, "baseline": baseline, "metric": _metric(ratio, equal), **verdict})
    return verdicts


def _verdict(comparison: Comparison | None, why: str, *, refused: bool) -> dict[str, Any]:
    if comparison is None:
        outcome = Outcome.NOT_COMPARABLE if refused else Outcome.INCONCLUSIVE
        return {
            "ratio": None, "low": None, "high": None, "outcome": outcome.value, "reason": why,
            "algorithm": ALGORITHM, "runs": 0, "runs_of_baseline": 0,
        }  # fmt: skip
    return {
        "ratio": comparison.ratio,
        "low": finite(comparison.low),
        "high": finite(comparison.high),
        "bound": comparison.bound,
        "outcome": comparison.outcome.value,
        "reason": " ".join(
            part for part in (comparison.reason, f"{why[0].upper()}{why[1:]}." if why else "", comparison.note) if part
        ),
        "algorithm": ALGORITHM,
        "analysis": comparison.analysis,
        "runs": comparison.n_a,
        "runs_of_baseline": comparison.n_b,
        "level": comparison.level,
        "p": comparison.p,
        "adjusted_p": comparison.adjusted_p,
        "threshold": comparison.threshold,
        "noise_floor": comparison.noise_floor,
        "runs_lacking": comparison.needs_more,
    }


def equal_table(equal: EqualLoad, labels: Labels) -> Table:
    """Latencies where every side does the same work."""
    statistics = list_percentiles(equal.statistic)
    columns = ["side"]
    for name in equal.operations:
        columns += [f"{name} {STATISTICS[statistic]} (µs)" for statistic in statistics]
        if equal.limit_us:
            limit = formatting.latency(equal.limit_us)
            columns.append(f"{name} with {equal.statistic_label} ≤ {limit} (ops/s)")

    rows = []
    for side in equal.sides:
        row: list[Cell] = [labels.get(side.curve.sweep_id, side.curve.label)]
        for name in equal.operations:
            row += [_rounded(side.latencies[name, statistic].latency_us, 5) for statistic in statistics]
            if equal.limit_us:
                row.append(_rounded(side.within[name].throughput_ops_s, 5))
        rows.append((*row, side.how))

    return Table((*columns, "read off"), tuple(rows))


def differences_table(curves: Sequence[Curve], labels: Labels) -> Table:
    """The differences between the sides beside the compared axes."""
    rows: list[tuple[Cell, ...]] = []
    for difference in differences(curves, labels):
        rows += [(difference.label, value, ", ".join(sides)) for value, sides in difference.sides]
    return Table(("what", "value", "sides"), tuple(rows))
