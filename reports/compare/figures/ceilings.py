"""Throughput ceilings as bars, the highest first."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median_low
from types import SimpleNamespace
from typing import Final
from uuid import UUID

from benchsite.core.formatting import NOTHING, TIMES, percent, ratio, short, throughput, times
from benchsite.core.table import Columns, Table, bounded_percent, tabulated
from reports.compare.analysis.best import MAX_LOSS, Rank, rank_sides
from reports.compare.analysis.ceiling import NOT_KNOWN
from reports.compare.analysis.looks import Look as PlanLook
from reports.compare.analysis.ratios import bound_sign
from reports.compare.analysis.top_estimate import ALPHA
from reports.compare.curves import Curve, Standing, find_newest_look, in_order
from reports.compare.durability_costs import describe_cost, find_weakest_modes, get_cost
from reports.compare.figures import bars, captions
from reports.compare.figures.bars import Bar, bars_figure, by_value
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import CurvesFigure
from reports.compare.figures.layout import Frame, PlotlyFigure, escaped
from reports.compare.figures.overlay import (
    NAMED,
    TOWERING,
    Published,
    build_hover_text as published_hover,
    find_highest,
    published_said,
)
from reports.compare.figures.theme import Look, Theme, looks
from reports.compare.ladder_text import (
    MEASURED_ONCE,
    below_highest,
    bounded,
    ceiling_text,
    describe_ladder,
    ladder_says,
    notes_said,
    status_note,
    status_sentences,
    threads_text,
    why_none,
)
from reports.compare.messages import (
    AMONG_BEST_MEANS,
    BEST_OF_CLASS,
    CEILINGS,
    COST_OF_MODE,
    COST_OF_WEAKEST,
    FACTOR_ALONE,
    INTERVAL_CUT,
    INTERVALS,
    JUDGED_AT_LOOK,
    OF_SINGLE_RUNS,
    SINGLE_RUNS,
    UNDECIDED,
    UNDECIDED_BESIDE,
    UNDECIDED_MEANS,
    UNDECIDED_NOISY,
    UNDECIDED_SHORT,
)

BEST = "best"  # every other side is lower, beyond noise
AMONG_BEST = "among the best"
AMONG_CLASS = "among the best of its class"


class CeilingsFigure(CurvesFigure):
    """One bar per sweep, with its value and how it stands to the others; what others printed hollow."""

    name = "ceilings"

    def __init__(self, curves: Sequence[Curve], *, highlight: str = "", published: Sequence[Published] = ()) -> None:
        super().__init__(curves, highlight=highlight)
        self.published = published

    def draw(self, frame: Frame) -> PlotlyFigure:
        loads = bool(self.curves) and all(curve.phase == "load" for curve in self.curves)
        title = "throughput ceiling (ops/s)"
        if loads:
            title = "throughput while loading (ops/s)"
        drawn = build_bars(self.curves, frame.theme, among=self.among, highlight=self.highlight)
        drawn += published_bars(self.published, frame.theme)
        own = max((curve.ceiling_ops_s for curve in self.curves), default=0.0)
        log = 0 < own * TOWERING < find_highest(self.published)
        return bars_figure(
            drawn, frame, f"{title.replace(' (ops/s)', ' in ops/s')} (logarithmic)" if log else title, log=log
        )

    @property
    def remarks(self) -> list[Remark]:
        return [
            ("Bars", CEILINGS),
            *(("Ceilings", text) for text in status_sentences(self.curves)),
            ("Published", published_said(self.published)),
            *captions.list_doubts(self.curves),
            ("Sides", self.shown_sentence),
            ("Marks", best_sentence(self.among)),
            ("Factors", cost_sentence(self.among)),
            ("Intervals", interval_sentence(self.curves, self.published)),
            *captions.list_basics(self.curves),
            ("Lines", INTERVALS),
        ]

    @property
    def table(self) -> Table:
        ranking = Ranking(self.among)
        return tabulated(COLUMNS, [_row(curve, ranking) for curve in in_order(self.curves)])

    @property
    def height_px(self) -> int:
        return bars.height_px(len(self.curves) + len(self.published), self.notes)


COLUMNS: Final[Columns] = {
    "database": "curve.database_name",
    "system": "curve.system_name",
    "mode": "curve.mode",
    "workload": "curve.workload",
    "ceiling (ops/s)": "curve.ceiling.throughput_ops_s",
    "least repeat (ops/s)": "curve.ceiling_rung.throughput_ops_s.low",
    "greatest repeat (ops/s)": "curve.ceiling_rung.throughput_ops_s.high",
    "repeats": "curve.ceiling_rung.throughput_ops_s.n",
    "at threads": lambda row: (row.curve.ceiling and row.curve.ceiling.threads) or None,
    "within 5 % from threads": lambda row: (row.curve.ceiling and row.curve.ceiling.saturation_threads) or None,
    "ladder": lambda row: describe_ladder(row.curve),
    "knee (ops/s)": "knee.throughput_ops_s",
    "knee at threads": lambda row: (row.knee and row.knee.threads) or None,
    "rungs": lambda row: row.curve.ceiling.rungs if row.curve.ceiling else 0,
    "target (ops/s)": "curve.ceiling.target_ops_s",
    "first failed target (ops/s)": "failed_target_ops_s",
    "knee at target (ops/s)": "knee.target_ops_s",
    "notes": lambda row: row.curve.ceiling and notes_said(row.curve.ceiling),
    "95 % interval from (ops/s)": "curve.ceiling.low_ops_s",
    "95 % interval to (ops/s)": "curve.ceiling.high_ops_s",
    "highest measured (ops/s)": "curve.ceiling.highest_ops_s",
    "not distinguishable from the best": lambda row: describe_rank(row.rank),
    "of the weakest durability (%)": "cost",
}


def describe_rank(rank: Rank | None) -> str | None:
    """For tables; None where no repeats tell."""
    if rank is None or rank.is_member is None:
        return None
    if rank.is_undecided:
        return "undecided"
    return "yes" if rank.is_member else "no"


def _row(curve: Curve, ranking: "Ranking") -> SimpleNamespace:
    ceiling, knee = curve.ceiling, curve.knee
    weakest = ranking.weakest_modes.get(curve.sweep_id)
    failed_ops_s = None
    if ceiling and ceiling.bracket and NOT_KNOWN not in ceiling.notes:
        failed_ops_s = ceiling.bracket[1]
    return SimpleNamespace(
        curve=curve,
        knee=knee if ceiling and knee and knee.reached else None,
        failed_target_ops_s=failed_ops_s,
        rank=ranking.ranks.get(curve.sweep_id),
        cost=bounded_percent(*get_cost(curve, weakest)) if weakest else None,
    )


def build_bars(curves: Sequence[Curve], theme: Theme, *, among: Sequence[Curve] = (), highlight: str = "") -> list[Bar]:
    """The highest first. `among`, where it is more than `curves`, is what they are ranked and coloured among."""
    appearance = looks(among or curves, theme, highlight=highlight)
    ranking = Ranking(among or curves)
    both = len({curve.phase for curve in curves}) > 1
    return by_value(
        [
            _bar(curve, appearance[curve.sweep_id], ranking, is_load=both and curve.phase == "load")
            for curve in in_order(curves)
        ]
    )


class Ranking:
    """How each ceiling stands among all of a figure, and among those of its workload and durability class."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        ranked = [curve for curve in curves if curve.ceiling]
        self.highest = max(ranked, key=lambda curve: curve.ceiling_ops_s, default=None)
        self.weakest_modes = find_weakest_modes(curves)
        self.ranks = rank_curves(ranked)
        # Of classes that several databases have.
        self.class_ranks: dict[UUID, Rank] = {}
        classes: dict[tuple[str, str], list[Curve]] = {}
        for curve in ranked:
            if curve.durability_class:
                classes.setdefault((curve.workload, curve.durability_class), []).append(curve)
        for group in classes.values():
            if len({curve.database_name for curve in group}) > 1:
                self.class_ranks |= rank_curves(group)

    def share(self, curve: Curve) -> float | None:
        """Of the highest ceiling."""
        if curve.ceiling and self.highest:
            return curve.ceiling_ops_s / self.highest.ceiling_ops_s
        return None

    def share_text(self, curve: Curve) -> str:
        """ "≥ 33.1 %" of the highest ceiling, where one of the two is a lower bound; nothing where both are."""
        if self.highest is None or curve is self.highest:
            return percent(self.share(curve))
        sign = bound_sign(curve.is_unbounded, self.highest.is_unbounded)
        if sign is None:
            return NOTHING
        return f"{sign}{percent(self.share(curve))}"

    def note(self, curve: Curve) -> str:
        """ "among the best", what decides that, or the factor to the highest: of single runs a bare one."""
        if len(self.ranks) < 2 or self.highest is None or not curve.ceiling:
            return ""
        factor = self.highest.ceiling_ops_s / curve.ceiling_ops_s
        rank = self.ranks[curve.sweep_id]
        if rank.is_among_best:
            is_alone = [other.is_member for other in self.ranks.values()].count(False) == len(self.ranks) - 1
            return BEST if is_alone else AMONG_BEST
        if rank.is_undecided:
            if rank.repeats:
                return UNDECIDED.format(repeats=rank.repeats)
            is_open = None in [other.is_member for other in self.ranks.values()]
            return UNDECIDED_SHORT if is_open else UNDECIDED_NOISY
        if factor <= 1 or curve.has_other_repeats_than(self.highest):
            return ""
        # Before the factor: a ladder that was too short makes it a bound, and two such ladders show none.
        sign = bound_sign(curve.is_unbounded, self.highest.is_unbounded)
        if sign is None:
            return ""
        if not sign and None in (rank.is_member, self.ranks[self.highest.sweep_id].is_member):
            fewest = min(len(side.ceiling.repeats_ops_s) if side.ceiling else 0 for side in (curve, self.highest))
            single = " (n = 1)" if fewest < 2 else ""
            return f"\N{DIVISION SIGN}{ratio(factor)}{single}"
        bound = {"≥ ": "≤ ", "≤ ": "≥ "}.get(sign, "")  # the factor is the highest over the curve
        return f"{bound}{times(factor)} lower"


def rank_curves(curves: Sequence[Curve]) -> dict[UUID, Rank]:
    """Of curves with ceilings, by sweep, how each stands to the best; not known where no repeats show it, or where it
    is lower but its ladder does not show that it does no more than the highest.

    Sides of a plan with looks count with the repeats of its newest
    look, at the level of this look (of several plans, at the least one); before the first look with none.
    """
    plan_looks = find_plan_looks(curves)
    alpha = min((look.level for look in plan_looks.values() if look.after), default=ALPHA)
    sides, noises = [], []
    for curve in curves:
        look = plan_looks.get(curve.matrix_id)
        ceiling = (curve.first_repeats(look.after) if look and look.after else curve).ceiling
        assert ceiling is not None
        repeats = [ops_s for ops_s in ceiling.repeats_ops_s if ops_s > 0] or [ceiling.throughput_ops_s]
        sides.append(repeats[:1] if look and not look.after else repeats)
        noises.append(ceiling.noise)
    highest = max((curve.ceiling_ops_s for curve in curves), default=0.0)
    ranks = rank_sides(sides, alpha, noises=noises)
    ranked = list(zip(curves, ranks, strict=True))
    open_sides = [rank.is_member is False and _may_reach(curve, highest) for curve, rank in ranked]
    return {
        curve.sweep_id: Rank(None) if is_open else replace(rank, is_shown=rank.is_shown and not any(open_sides))
        for (curve, rank), is_open in zip(ranked, open_sides, strict=True)
    }


def _may_reach(curve: Curve, ops_s: float) -> bool:
    """Whether the ladder leaves room for a ceiling of so much."""
    return curve.ceiling is not None and curve.ceiling.throughput_ops_s * curve.ceiling.headroom >= ops_s


def find_plan_looks(curves: Sequence[Curve]) -> dict[UUID | None, PlanLook]:
    """By matrix, the newest look of each plan that states looks and measured two or more of the sides.

    More than half of its sides have reached it: the others, which lost repeats, count with those they have.
    """
    plans: dict[UUID | None, list[PlanLook]] = {}
    for curve in curves:
        if look := find_newest_look([curve]):
            plans.setdefault(curve.matrix_id, []).append(look)
    reached = {}
    for matrix_id, plan_looks in plans.items():
        if len(plan_looks) > 1:
            repeats = median_low([look.repeats for look in plan_looks])
            reached[matrix_id] = replace(plan_looks[0], repeats=repeats)
    return reached


def best_sentence(curves: Sequence[Curve]) -> str:
    """For the caption: what the marks mean, and why some sides have none; empty where there is nothing to order."""
    ranks = Ranking(curves).ranks.values()
    if len(ranks) < 2:
        return ""
    divided = FACTOR_ALONE
    plan_looks = find_plan_looks([curve for curve in curves if curve.ceiling]).values()
    if not any(rank.is_member for rank in ranks):
        early = next((look for look in plan_looks if not look.after), None)
        if early:
            return f"{early.sentence} {divided}"
        return SINGLE_RUNS.format(factor=divided)
    marked = UNDECIDED_MEANS
    if any(rank.is_among_best for rank in ranks):
        marked = AMONG_BEST_MEANS
        if any(rank.is_undecided for rank in ranks):
            marked = UNDECIDED_BESIDE.format(sentence=marked)
    marked = marked.format(loss=percent(MAX_LOSS))
    at_looks = [JUDGED_AT_LOOK.format(after=look.after, most=look.looks[-1]) for look in plan_looks if look.after]
    sentence = ", ".join((marked, *at_looks))
    if any(rank.is_member is None for rank in ranks):
        return OF_SINGLE_RUNS.format(sentence=sentence, factor=divided)
    return sentence


def interval_sentence(curves: Sequence[Curve], published: Sequence[Published]) -> str:
    """For the caption: where an interval ends that its bar does not show; empty where all are drawn whole."""
    ceilings = [curve.ceiling for curve in curves if curve.ceiling]
    values = [result.throughput_ops_s for result in published] + [ceiling.throughput_ops_s for ceiling in ceilings]
    limit = bars.compute_interval_limit(values)
    ends = [ceiling.range_ops_s[1] for ceiling in ceilings if ceiling.range_ops_s]
    return INTERVAL_CUT if max(ends, default=0.0) > limit else ""


def cost_sentence(curves: Sequence[Curve]) -> str:
    """For the caption: what the ratio to another mode means; empty where no bar has one."""
    weakest_modes = find_weakest_modes(curves)
    promising = [curve for curve in curves if curve.sweep_id in weakest_modes]
    has_cost = any(describe_cost(curve, weakest_modes[curve.sweep_id]) for curve in promising)
    return COST_OF_MODE.format(times=TIMES) if has_cost else ""


def _bar(curve: Curve, look: Look, ranking: Ranking, *, is_load: bool) -> Bar:
    ceiling = curve.ceiling
    rank, class_rank = ranking.ranks.get(curve.sweep_id), ranking.class_ranks.get(curve.sweep_id)
    weakest = ranking.weakest_modes.get(curve.sweep_id)
    cost = ""
    if weakest:
        cost = describe_cost(curve, weakest)
    note = ranking.note(curve)
    of_class = bool(class_rank and class_rank.is_among_best) and note not in (BEST, AMONG_BEST)
    if of_class:
        note = AMONG_CLASS
    elif cost and weakest is ranking.highest and not (rank and rank.is_member):
        note = ""  # The factor to the highest side says the same.

    value, value_label = _read_value(curve)
    low_ops_s, high_ops_s = (ceiling and ceiling.range_ops_s) or (None, None)
    return Bar(
        name=curve.database_name,
        # The mode, and what else tells a side from others of its database and mode.
        detail=f"{look.label.removeprefix(f'{curve.database_name} · ')}{', load' if is_load else ''}",
        look=look,
        value=value,
        value_label=value_label,
        hover=_hover(curve, cost, is_best_of_class=of_class),
        low=low_ops_s,
        high=high_ops_s,
        note=", ".join(filter(None, (note, cost, status_note(ceiling) if ceiling else ""))),
        hollow=not ceiling and value is not None,
        side=str(curve.sweep_id),
    )


def _read_value(curve: Curve) -> tuple[float | None, str]:
    """How long the bar is, in ops/s, and what is written behind it."""
    if curve.ceiling:
        return curve.ceiling.throughput_ops_s, bounded(curve.ceiling, short(curve.ceiling.throughput_ops_s))
    measured = [point for point in curve.points if point.standing is not Standing.STAND_IN]
    value = None
    if curve.is_unsustained:
        value = curve.goodput_ops_s
    elif measured and not curve.counted:
        value = max(point.throughput_ops_s.geomean for point in measured)
    if value is None:
        return None, why_none(curve)
    return value, f"{short(value)}, {why_none(curve)}"


def _hover(curve: Curve, cost_text: str, *, is_best_of_class: bool) -> str:
    ceiling = curve.ceiling
    lines = [f"<b>{escaped(curve.label)}</b>", escaped(curve.mode_name)]
    if ceiling:
        at = threads_text(ceiling.plateau)
        if ceiling.target_ops_s:
            at = f"target {throughput(ceiling.target_ops_s)}"
        once = "" if ceiling.is_estimate or ceiling.bracket else f"{MEASURED_ONCE}: "
        lines.append(f"{once}{ceiling_text(ceiling)} at {at}")
        if ceiling.is_estimate:
            interval = f"{short(ceiling.low_ops_s)} to {short(ceiling.high_ops_s)}"
            lines.append(f"95 % interval {interval}, {len(ceiling.repeats_ops_s)} repeats")
        lines += [below_highest(ceiling), ladder_says(ceiling)]
        if cost_text:
            lines.append(COST_OF_WEAKEST.format(cost=escaped(cost_text)))
        if is_best_of_class:
            lines.append(BEST_OF_CLASS.format(best=AMONG_BEST, durability_class=escaped(curve.durability_class)))
    else:
        lines.append(why_none(curve))
    return "<br>".join(line for line in lines if line)


def published_bars(published: Sequence[Published], theme: Theme) -> list[Bar]:
    """Hollow and grey, behind what was measured; the highest first."""
    grey = Look(colour=theme.grey, dash="dot", symbol="circle", pattern="", label=NAMED, faded=True)
    return [
        Bar(
            name=result.label,
            detail=f"{result.study} {result.year}{', disputed' if result.disputed else ''}",
            look=grey,
            value=result.throughput_ops_s,
            value_label=" ".join(part for part in (result.qualifier, short(result.throughput_ops_s)) if part),
            hover=published_hover(result),
            hollow=True,
        )
        for result in sorted(published, key=lambda result: result.throughput_ops_s, reverse=True)
    ]
