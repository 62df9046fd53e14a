"""The headline of a comparison: what each guarantee sustains, and what durability costs each database. Pure.

It names no winner across guarantees: a database that may lose writes is not compared with one that may not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from benchsite.core.formatting import latency, listed, throughput
from reports.curves import STATISTICS, Curve, durability_key, operations_of, promise_of
from reports.durability_costs import list_trades
from reports.ladder_text import ceiling_text, status_sentences
from reports.pages.baseline_ratios import Judging, against
from reports.pages.equal_load import equal_load, percentiles_of

MAX_SIDES: Final = 3  # that a sentence names


@dataclass(frozen=True, slots=True)
class Headline:
    guarantees: tuple[tuple[str, str], ...]  # guarantee and what its sides sustain, the strongest first
    costs: tuple[str, ...]  # one for each database with several guarantees
    bounds: tuple[str, ...]  # what is known of ceilings that are not bracketed
    certainty: str  # that ceilings are single runs; empty where every ceiling has repeats

    @property
    def shown(self) -> int:
        """How many guarantees and costs are stated at once: all of up to three, of more two."""
        return 3 if len(self.guarantees) <= 3 and len(self.costs) <= 3 else 2


def headline_of(curves: Sequence[Curve], judging: Judging, labels: Mapping[UUID, str]) -> Headline | None:
    """None where no side has a ceiling. `labels` are the names of the sides by sweep."""
    measured = [curve for curve in curves if curve.ceiling and curve.ceiling_ops_s > 0]
    if not measured:
        return None
    single = sum(not curve.ceiling_rung or curve.ceiling_rung.throughput_ops_s.n < 2 for curve in measured)
    which = "every ceiling" if single == len(measured) else f"{single} of {len(measured)} ceilings"
    return Headline(
        guarantees_of(measured, labels),
        tuple(_costs(measured, judging)),
        tuple(f"{sentence}." for sentence in status_sentences(measured, labels)),
        f"n = 1 for {which}: indicative only." if single else "",
    )


def guarantees_of(curves: Sequence[Curve], labels: Mapping[UUID, str]) -> tuple[tuple[str, str], ...]:
    """Each guarantee with what its sides sustain, the strongest first; of curves with a ceiling."""
    groups: dict[tuple[tuple[float, ...], str], list[Curve]] = {}
    for curve in sorted(curves, key=lambda curve: (not curve.durability, durability_key(curve.durability))):
        acknowledged, _, loss = promise_of(curve.durability).partition(", ")
        # "Loses none (disk)", "May lose 1 s (memory)".
        guarantee = f"{loss[:1].upper()}{loss[1:]} ({acknowledged})" if loss else "Guarantee unknown"
        groups.setdefault((durability_key(curve.durability), guarantee), []).append(curve)
    return tuple((guarantee, _sides(group, labels)) for (_, guarantee), group in groups.items())


def _sides(curves: Sequence[Curve], labels: Mapping[UUID, str]) -> str:
    """ "Redis · always at least 23.9k ops/s, PostgreSQL · on 13.6k ops/s", the highest first."""
    ordered = sorted(curves, key=lambda curve: curve.ceiling_ops_s, reverse=True)
    texts = [
        f"{labels.get(curve.sweep_id, curve.label)} {ceiling_text(curve.ceiling)}" for curve in ordered if curve.ceiling
    ]
    return listed(texts, MAX_SIDES)


def _costs(curves: Sequence[Curve], judging: Judging) -> Iterator[str]:
    """Each database's strongest guarantee against its weakest, as a ratio with its interval."""
    for trade in list_trades(curves):
        weakest, strongest = trade.best[0], trade.best[-1]
        if strongest is weakest:
            continue
        table = against((weakest, strongest), judging, None, baseline=weakest.sweep_id)
        ratios = next((row.ratios for row in table.rows if not row.is_baseline), ()) if table else ()
        if not ratios:
            continue
        ratio, pair = ratios[0], f"{trade.label} {strongest.mode}"
        if ratio.times:
            at = f" at {ratio.at}" if ratio.at else ""
            interval = f" {ratio.interval}" if ratio.interval else ""
            note = f" ({ratio.outcome})" if ratio.outcome.startswith("inconclusive") else ""
            yield f"{pair} does {ratio.times}{interval} of {weakest.mode}{at}{note}"
        else:
            bounds = all(curve.ceiling and curve.ceiling.is_lower_bound for curve in (weakest, strongest))
            why = "both ceilings are lower bounds" if bounds else ratio.why
            yield f"{pair} against {weakest.mode} is open: {why}{_at_common_load(weakest, strongest, judging)}"


def _at_common_load(weakest: Curve, strongest: Curve, judging: Judging) -> str:
    """ ". At 15.0k ops/s READ p99 is 15.1 ms against 8.73 ms (1.7x [1.5, 2.0])"; empty where they share no load."""
    sides = (weakest, strongest)
    equal = equal_load(sides, operations_of(sides)[:1], kind=judging.kind)
    table = against(sides, judging, equal, baseline=strongest.sweep_id) if equal else None
    row = next((row for row in table.rows if not row.is_baseline), None) if table else None
    if equal is None or row is None or len(row.ratios) < 2 or not (ratio := row.ratios[1]).comparison:
        return ""
    column = percentiles_of(equal.statistic).index(equal.statistic)
    low, high = (latency(side.operations[0].at[column].latency_us) for side in equal.sides)
    at = f"At {throughput(equal.load_ops_s)} {ratio.quantity} {STATISTICS[equal.statistic]}"
    note = f"; {ratio.outcome}" if ratio.outcome.startswith("inconclusive") else ""
    return f". {at} is {high} against {low} ({ratio.times}{f' {ratio.interval}' if ratio.interval else ''}{note})"
