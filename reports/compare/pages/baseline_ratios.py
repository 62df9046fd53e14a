"""Every side against one baseline: how many times faster, how sure, and where that may not be asked at all."""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from benchsite.core import formatting
from reports.compare.analysis.blocks import Blocks
from reports.compare.analysis.ceiling import ALIKE, MIN_REPEATS, NEAR_CEILING, Ladder
from reports.compare.analysis.comparability import EnvironmentAnswer, gate, implied_axes
from reports.compare.analysis.looks import Look
from reports.compare.analysis.multiple import adjusted
from reports.compare.analysis.ratios import Noise
from reports.compare.analysis.repeat_comparison import (
    LATENCY_THRESHOLD,
    THRESHOLD,
    Comparison,
    Outcome,
    compare_values,
    hidden_text,
    interval_text,
    not_comparable,
    times_text,
    widen,
)
from reports.compare.analysis.top_estimate import rung_noise
from reports.compare.curves import Curve, Point, durability_key, find_newest_look
from reports.compare.ladder_text import LADDER_SAYS, bound_reason
from reports.compare.messages import (
    BLOCKED,
    BLOCKED_AND_WELCH,
    BOTH_CEILINGS_OPEN,
    CEILING_OPEN,
    NO_DIFFERENCE_FOUND,
    NO_END,
    RATIO_IS_BOUND,
    WELCH,
)
from reports.compare.pages.equal_load import EqualLoad, latencies_at, rung_label
from reports.compare.pages.filter_menus import AXIS_SAYS
from reports.trends.analysis.sessions import SessionSpread, largest_spread
from runs.checks import Profile, SideFacts, judge_pair

# Statistics that vary more from run to run than a mean or a throughput.
TAILS = frozenset({"p95", "p99", "p999", "p9999", "max"})
# Where larger differences would not show, "no difference found" would say too much.
MAX_HIDDEN_DIFFERENCE = 0.25


@dataclass(frozen=True, slots=True)
class Ratio:
    """One number of one side against the baseline's; above 1 this side is the better one."""

    quantity: str  # "throughput", or the operation whose latency it is
    comparison: Comparison | None
    why: str  # there is none, or what has to be known beside it
    at: str = ""  # the rung that both sides are compared at, in place of their ceilings: "4 threads"
    values: tuple[float, float] | None = None  # ops/s of both sides there, or in the repeats that both have

    @property
    def tone(self) -> str:
        """The class of colour: only what is settled has one."""
        outcome = None
        if self.comparison:
            outcome = self.comparison.outcome
        if not outcome:
            return ""
        return {Outcome.FASTER: "better", Outcome.SLOWER: "worse"}.get(outcome, "")

    @property
    def arrow(self) -> str:
        return {"better": "▲ ", "worse": "▼ "}.get(self.tone, "")

    @property
    def times(self) -> str:
        """ "3.6" or "≥ 1.7" times."""
        if not self.comparison:
            return ""
        return times_text(self.comparison)

    @property
    def interval(self) -> str:
        """ "[3.57, 3.68]"; empty without one."""
        if not self.comparison:
            return ""
        return interval_text(self.comparison)

    @property
    def outcome(self) -> str:
        """The verdict in a few words."""
        comparison = self.comparison
        if not comparison:
            return ""
        text = str(comparison.outcome.value)
        if comparison.outcome is not Outcome.INCONCLUSIVE:
            return text
        if not comparison.needs_more:
            reason = f"{comparison.reason[:1].lower()}{comparison.reason[1:].rstrip('.')}"
            return reason if self.hidden else f"{text}: {reason}"
        if self.hidden:
            text = NO_DIFFERENCE_FOUND.format(share=self.hidden)
        return f"{text}: needs {formatting.counted(comparison.needs_more, 'more run')}"

    @property
    def hidden(self) -> str:
        """The difference that would not show, where none was found: "6.4 %"; else empty, too where any would not."""
        comparison = self.comparison
        if not comparison or comparison.outcome is not Outcome.INCONCLUSIVE:
            return ""
        difference = comparison.hidden_difference
        if not difference or difference > MAX_HIDDEN_DIFFERENCE:
            return ""
        return hidden_text(difference)

    @property
    def counts(self) -> str:
        """ "1 run each: no interval"; empty where there is one."""
        comparison = self.comparison
        if comparison is None or comparison.low is not None:
            return ""
        if comparison.outcome is Outcome.INCONCLUSIVE and not comparison.needs_more:
            return ""  # The outcome says why.
        others = "each"
        if comparison.n_a != comparison.n_b:
            others = f"against {comparison.n_b}"
        return f"{formatting.counted(comparison.n_a, 'run')} {others}: no interval"

    @property
    def has_few_runs(self) -> bool:
        """Whether there is no interval because a side has a single run, and not because the sides are not compared."""
        if self.comparison is None or self.comparison.outcome is Outcome.NOT_COMPARABLE:
            return False
        return bool(self.counts) and min(self.comparison.n_a, self.comparison.n_b) < 2

    @property
    def effects(self) -> str:
        """How far the repeats lie apart without a unit, for those who hold the pointer still; empty where unknown."""
        comparison = self.comparison
        if comparison is None or comparison.hedges_g is None or comparison.cliffs_delta is None:
            return ""
        g, delta = (formatting.grouped(value, 2) for value in (comparison.hedges_g, comparison.cliffs_delta))
        return f"Hedges' g {g}, Cliff's delta {delta}"

    @property
    def change(self) -> str:
        """The ratio as signed per cent; above two times the factor alone says more."""
        ratio = None
        if self.comparison and not self.comparison.bound:
            ratio = self.comparison.ratio
        if ratio and ratio <= 2:
            return formatting.signed_percent(ratio - 1)
        return ""


@dataclass(frozen=True, slots=True)
class Row:
    curve: Curve
    gate: EnvironmentAnswer | None  # None: the baseline itself
    ratios: tuple[Ratio, ...]  # throughput first; none where the gate is shut and nobody opened it

    baseline_href: str = ""  # that makes it the baseline
    pair: tuple[uuid.UUID, uuid.UUID] | None = None  # the baseline's sweep and its own, where both have a ceiling

    @property
    def comparisons(self) -> list[Comparison]:
        return [ratio.comparison for ratio in self.ratios if ratio.comparison]

    @property
    def is_baseline(self) -> bool:
        return self.gate is None

    @property
    def refused(self) -> bool:
        return self.gate is not None and not self.gate.comparable


@dataclass(frozen=True, slots=True)
class Against:
    """The ratio table."""

    baseline: Curve
    pinned: bool
    varying: tuple[str, ...]
    declared: bool
    anyway: bool
    load_ops_s: float | None
    latency_operations: tuple[str, ...]
    rows: tuple[Row, ...]
    tests: int  # comparisons with a p-value, all adjusted together
    noise_floor: float | None  # of sessions, the largest of the sides' clusters; None: nobody knows it
    sessions_unknown: bool  # sides of different sessions are compared, and how sessions vary there is not known

    @property
    def columns(self) -> int:
        """One for throughput and one for each latency."""
        return 1 + len(self.latency_operations)

    @property
    def axes(self) -> str:
        return ", ".join(AXIS_SAYS[axis] for axis in self.varying) or "nothing but chance"

    @property
    def short(self) -> bool:
        """Whether a ladder ends below its ceiling, so that some ratio is a bound or none of ceilings."""
        ratios = chain.from_iterable(row.ratios for row in self.rows)
        return any(ratio.at or (ratio.comparison and ratio.comparison.bound) for ratio in ratios)

    @property
    def analyses(self) -> str:
        """Which analyses its intervals are by."""
        kinds = {comparison.is_blocked for comparison in collect_comparisons(self.rows) if comparison.p}
        if True not in kinds:
            return WELCH
        if False in kinds:
            return BLOCKED_AND_WELCH
        return BLOCKED

    @property
    def has_looks(self) -> bool:
        """Whether some interval has the level of a look in place of 5 %."""
        return any(comparison.look for comparison in collect_comparisons(self.rows))

    @property
    def refused(self) -> int:
        return sum(row.refused for row in self.rows)


def collect_comparisons(rows: Iterable[Row]) -> list[Comparison]:
    return list(chain.from_iterable(row.comparisons for row in rows))


def choose_baseline(curves: Sequence[Curve], chosen: uuid.UUID | None) -> Curve | None:
    """The chosen side; else, of those with a ceiling, the strongest promise, and of equals the oldest.

    So a ratio says what a weaker promise or a newer version buys. None where nothing has a ceiling.
    """
    standing = [curve for curve in curves if curve.ceiling]
    if named := next((curve for curve in standing if curve.sweep_id == chosen), None):
        return named
    return min(standing, key=_rank_as_baseline, default=None)


def _rank_as_baseline(curve: Curve) -> tuple[object, ...]:
    made_at = math.inf
    if curve.created_at:
        made_at = curve.created_at.timestamp()
    return (not curve.durability, durability_key(curve.durability), made_at)


@dataclass(frozen=True, slots=True)
class Judging:
    """What sides are judged by, beside their curves."""

    sides: Mapping[uuid.UUID, SideFacts]
    profile: Profile
    spreads: Mapping[str, SessionSpread]  # of sessions, by the name of the cluster


def against(
    curves: Sequence[Curve],
    judging: Judging,
    equal: EqualLoad | None,
    *,
    baseline: uuid.UUID | None = None,
    vary: Sequence[str] = (),
    anyway: bool = False,
    address: Callable[[uuid.UUID], str] = str,
) -> Against | None:
    """None for fewer than two sides, or where no side has a ceiling.

    `address` is that of the page with another baseline.
    """
    chosen = choose_baseline(curves, baseline)
    if len(curves) < 2 or chosen is None:
        return None

    varying = tuple(vary) or tuple(implied_axes(curves))
    rows = []
    for curve in curves:
        if curve is chosen:
            rows.append(Row(curve, None, ()))
            continue
        pair = [judging.sides[side.sweep_id] for side in (curve, chosen) if side.sweep_id in judging.sides]
        findings = judge_pair(pair[0], pair[1], judging.profile) if len(pair) == 2 else ()
        judged = gate(curve, chosen, findings, varying, declared=bool(vary))
        ratios = _ratios(curve, chosen, judging, equal) if judged.comparable or anyway else ()
        href = ""
        if curve.ceiling:
            href = address(curve.sweep_id)
        rows.append(Row(curve, judged, ratios, href, (chosen.sweep_id, curve.sweep_id) if curve.ceiling else None))

    # Sides that are not comparable have ratios at most, never a winner.
    rows = [
        _rejudged(row, partial(not_comparable, stops=row.gate.stops)) if row.gate and row.refused else row
        for row in rows
    ]
    # Every comparison of the table is judged among all of them.
    among = iter(adjusted(collect_comparisons(rows)))
    rows = [_rejudged(row, lambda _: next(among)) for row in rows]
    compared = collect_comparisons(rows)
    spread = get_spread(curves, judging.spreads)
    load_ops_s = None
    if equal:
        load_ops_s = equal.load_ops_s
    noise_floor = None
    if spread:
        noise_floor = spread.relative

    return Against(
        baseline=chosen,
        pinned=chosen.sweep_id == baseline,
        varying=varying,
        declared=bool(vary),
        anyway=anyway,
        load_ops_s=load_ops_s,
        latency_operations=equal.operations if equal else (),
        rows=tuple(rows),
        tests=sum(comparison.adjusted_p is not None for comparison in compared),
        noise_floor=noise_floor,
        sessions_unknown=any(
            row.ratios and not row.curve.same_session(chosen) and not get_spread((row.curve, chosen), judging.spreads)
            for row in rows
        ),
    )


def _rejudged(row: Row, judgement: Callable[[Comparison], Comparison]) -> Row:
    ratios = (
        replace(ratio, comparison=judgement(ratio.comparison)) if ratio.comparison else ratio for ratio in row.ratios
    )
    return replace(row, ratios=tuple(ratios))


def _ratios(curve: Curve, baseline: Curve, judging: Judging, equal: EqualLoad | None) -> tuple[Ratio, ...]:
    spread = None
    if not curve.same_session(baseline):
        spread = get_spread((curve, baseline), judging.spreads)
    ratios = [throughput_ratio(curve, baseline, spread)]
    if equal:
        ratios += [latency_ratio(curve, baseline, spread, equal, name) for name in equal.operations]
    return tuple(ratios)


def get_spread(curves: Sequence[Curve], spreads: Mapping[str, SessionSpread]) -> SessionSpread | None:
    """The largest of the clusters that the sides ran on; None where none of them is known."""
    return largest_spread((curve.setup.cluster_name for curve in curves), spreads)


# The side and its baseline as sentences name them: as subjects and as owners.
SideNames = tuple[tuple[str, str], tuple[str, str]]
BESIDE_BASELINE: SideNames = (("this side", "its"), ("the baseline", "the baseline's"))


def throughput_ratio(
    curve: Curve, baseline: Curve, spread: SessionSpread | None, names: SideNames = BESIDE_BASELINE
) -> Ratio:
    """The ratio of the ceilings, where the ladders show it; else that at the highest rung that both measured.

    A ceiling that is a lower bound leaves the ratio open on one side. It is "at least" so much where the slower side's
    ceiling is bracketed, and its repeats decide that; where they do not, ceilings are compared only if the side with
    the bracketed ceiling has fallen at the common rung, which does not show what it can do.
    """
    curve, baseline, look = up_to_look(curve, baseline)
    a, b = curve.ceiling_rung, baseline.ceiling_rung
    if a is None or b is None or curve.ceiling is None or baseline.ceiling is None:
        return Ratio("throughput", None, "no point counts")

    # The points of both sides at the highest number of threads that both measured without a target. A target that both
    # sustained compares nothing: both do what they are asked to.
    points = curve.counted_by_threads, baseline.counted_by_threads
    threads = max(points[0].keys() & points[1].keys(), default=None)
    above = curve.ceiling.headroom * curve.ceiling.selection
    below = 1 / (baseline.ceiling.headroom * baseline.ceiling.selection)
    if not (curve.is_unbounded and baseline.is_unbounded):
        blocks = build_blocks(curve, baseline, curve.ceiling.by_repeat, baseline.ceiling.by_repeat)
        comparison = compare_values(
            curve.ceiling.repeats_ops_s or _values(a),
            baseline.ceiling.repeats_ops_s or _values(b),
            higher_is_better=True,
            spread=spread,
            blocks=blocks,
            look=look,
            noises=(curve.ceiling.noise, baseline.ceiling.noise),
        )
        comparison = extended(widen(comparison, below, above), curve, baseline)
        bracketed = baseline if curve.is_unbounded else curve
        if not comparison.bound or _decides(comparison) or _has_fallen(bracketed, threads):
            values = None
            if blocks and comparison.is_blocked and curve.has_other_repeats_than(baseline):
                values = blocks.common_means
            why = _bound_says(comparison, curve, baseline, names)
            return Ratio("throughput", comparison, why, values=values)

    why = f"ceilings are not compared: {_open_says(curve, baseline, names)}"
    if threads is None:
        return Ratio("throughput", None, f"{why}, and they have no load in common")

    own, other = points[0][threads], points[1][threads]
    comparison = compare_values(
        _values(own),
        _values(other),
        higher_is_better=True,
        spread=spread,
        blocks=build_blocks(curve, baseline, own.as_rung().by_repeat, other.as_rung().by_repeat),
        look=look,
        noises=(_noise_at(curve, own), _noise_at(baseline, other)),
    )
    comparison = extended(comparison, curve, baseline)
    # A side that leads at the common load may have the lower maximum.
    if comparison.ratio is not None and abs(comparison.ratio - 1) > comparison.threshold:
        leads, trails = (curve, baseline) if comparison.ratio > 1 else (baseline, curve)
        if trails.ceiling_ops_s > leads.ceiling_ops_s:
            (side, _), (beside, _) = names
            higher, lower = (beside, side) if trails is baseline else (side, beside)
            why += (
                f"; at another load {higher} reached {formatting.throughput(trails.ceiling_ops_s)}, more than {lower}"
            )

    values = (own.throughput_ops_s.geomean, other.throughput_ops_s.geomean)
    return Ratio("throughput", comparison, why, at=rung_label(own), values=values)


def up_to_look(a: Curve, b: Curve) -> tuple[Curve, Curve, Look | None]:
    """Both with the repeats up to the newest look of the plan that made them; later ones wait for the next look."""
    look = find_newest_look((a, b))
    if look and look.after:
        return (a.first_repeats(look.after), b.first_repeats(look.after), look)
    return (a, b, look)


def extended(comparison: Comparison, curve: Curve, baseline: Curve) -> Comparison:
    """Marked where a side has more runs than its plan, and no look is planned for them; blocks are the plan's alone."""
    sides = (curve, comparison.n_a), (baseline, comparison.n_b)
    added = any(0 < side.repeats < n for side, n in sides)
    return replace(comparison, is_extended=added and not comparison.look and not comparison.is_blocked)


def build_blocks(a: Curve, b: Curve, own: Mapping[int, float], other: Mapping[int, float]) -> Blocks | None:
    """The blocks of two sides, by their values of each repeat; None where no plan interleaves two or more of both.

    Residuals are pooled over the rungs with at least half of the compared throughput: the others vary otherwise.
    """
    if not a.interleaved_with(b):
        return None
    ours, theirs = (_without_copies(side, a.last_repeat) for side in (own, other))
    if min(len(ours), len(theirs)) < MIN_REPEATS:
        return None
    return Blocks(ours, theirs, (_list_cells(a, ours), _list_cells(b, theirs)))


def _without_copies(values: Mapping[int, float], last_repeat: float) -> dict[int, float]:
    """Those of repeats of the plan; copies of runs have higher numbers."""
    return {repeat: ops_s for repeat, ops_s in values.items() if repeat <= last_repeat}


def _list_cells(curve: Curve, values: Mapping[int, float]) -> list[dict[int, float]]:
    least_ops_s = ALIKE * min(values.values())
    return [rung.by_repeat for rung in curve.counted_rungs if rung.throughput_ops_s >= least_ops_s]


def _noise_at(curve: Curve, point: Point) -> Noise | None:
    """The noise of one repeat of the point, by all rungs of threads with at least half of its throughput."""
    values = _values(point)
    least = ALIKE * point.throughput_ops_s.geomean
    alike = [rung.by_repeat for rung in curve.counted_rungs if not rung.target_ops_s and rung.throughput_ops_s >= least]
    common = []
    if alike:
        common = sorted(set.intersection(*map(set, alike)))
    if len(common) < MIN_REPEATS or min(*values, *(min(rung.values()) for rung in alike)) <= 0:
        return None
    return rung_noise([[math.log(rung[j]) for j in common] for rung in alike], list(map(math.log, values)))


def _decides(comparison: Comparison) -> bool:
    """Whether the side that is known to be the faster is so by its repeats; of single runs, by their ratio."""
    if comparison.low is None:
        return comparison.ratio is not None and (comparison.ratio >= 1) == (comparison.bound == "at least")
    return comparison.outcome in (Outcome.FASTER, Outcome.SLOWER)


def _has_fallen(curve: Curve, threads: int | None) -> bool:
    """Whether the side does clearly less with so many threads than with the fewer ones of its ceiling."""
    if threads is None or curve.ceiling is None or threads <= max(curve.ceiling.plateau):
        return False
    return curve.counted_by_threads[threads].throughput_ops_s.geomean < NEAR_CEILING * curve.ceiling_ops_s


def _bound_says(comparison: Comparison, curve: Curve, baseline: Curve, names: SideNames) -> str:
    """Why a ratio is a bound: whose ceiling is one, and why."""
    sides = {"at least": (names[0][1], curve), "at most": (names[1][1], baseline)}
    whose, side = sides.get(comparison.bound, ("", curve))
    if not whose:
        return ""
    return RATIO_IS_BOUND.format(bound=comparison.bound, whose=whose, reason=_open_reason(side))


def _open_says(curve: Curve, baseline: Curve, names: SideNames) -> str:
    """Which of two ceilings have no upper bound, and why."""
    both = ((names[0][1], curve), (names[1][1], baseline))
    sides = [(whose, _open_reason(side)) for whose, side in both if side.is_unbounded]
    reasons = {reason for _, reason in sides}
    if len(sides) == 2 and len(reasons) == 1:
        return BOTH_CEILINGS_OPEN.format(reason=reasons.pop())
    return " and ".join(CEILING_OPEN.format(whose=whose, reason=reason) for whose, reason in sides)


def _open_reason(curve: Curve) -> str:
    ceiling = curve.ceiling
    assert ceiling is not None
    return bound_reason(ceiling) or (LADDER_SAYS[Ladder.FIRST] if ceiling.ladder is Ladder.FIRST else NO_END)


def latency_threshold(statistic: str) -> float:
    """The practical threshold of a difference, as a share."""
    if statistic in TAILS:
        return LATENCY_THRESHOLD
    return THRESHOLD


def latency_ratio(
    curve: Curve, baseline: Curve, spread: SessionSpread | None, equal: EqualLoad, operation: str
) -> Ratio:
    """The ratio of both latencies at the load, with the error of interpolating each between its own rungs."""
    curve, baseline, look = up_to_look(curve, baseline)
    sides = [latencies_at(side, operation, equal) for side in (curve, baseline)]
    for side, who in zip(sides, ("", "the baseline: "), strict=True):
        if not side.values:
            return Ratio(operation, None, f"{who}{side.why}")

    threshold = latency_threshold(equal.statistic)
    comparison = compare_values(
        sides[0].values,
        sides[1].values,
        higher_is_better=False,
        threshold=threshold,
        spread=spread,
        noises=(sides[0].noise, sides[1].noise),
        look=look,
    )
    (low, high), (other_low, other_high) = (side.interpolation for side in sides)
    comparison = extended(widen(comparison, other_low / high, other_high / low, is_certain=True), curve, baseline)
    if why := next((side.why for side in sides if side.why), ""):
        comparison = replace(comparison, reason=why, needs_more=None)  # Of means: more runs are not what it lacks.
    return Ratio(operation, comparison, "")


def _values(point: Point) -> Sequence[float]:
    return point.throughput_ops_s.values or (point.throughput_ops_s.geomean,)
