"""Which sides of a comparison meet a need: a loss, a latency and a load; and where that answer changes.

Loss is in seconds of acknowledged writes at a power cut, latency in microseconds, throughput in operations per second.
Codes and numbers; `compare/decision.html` has the English. Pure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np

from reports.compare.analysis.best import rank_sides
from reports.compare.analysis.equal_load import How, Within
from reports.compare.curves import STATISTICS, Curve
from reports.compare.figures.ceilings import rank_curves
from reports.compare.figures.loss import build_side
from reports.compare.ladder_text import bound_reason
from reports.compare.pages.equal_load import load_points, most_within, repeats_within

LIMITS: Final = 80  # that are tried for a change of the answer, between the lowest and highest latency
MAX_BISECTIONS: Final = 12


@dataclass(frozen=True, slots=True)
class Need:
    """None: not asked. The limit holds for every one of the operations."""

    operations: tuple[str, ...]
    statistic: str
    kind: str
    max_loss_s: float | None
    limit_us: float | None
    load_ops_s: float | None

    @property
    def statistic_label(self) -> str:
        return STATISTICS[self.statistic]


class Order(StrEnum):
    """What repeats and ladders show of the order of the sides that meet the need."""

    NONE = "none meets it"
    ONLY = "only one meets it"
    SHORT = "ladders ended too early"
    SINGLE = "repeats do not confirm it"
    OPEN = "repeats and open ladders do not confirm it"
    LED = "some lead"
    UNDECIDED = "repeats leave open which lead"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A side that is judged by a need; `within` is what it sustains within the limit."""

    curve: Curve
    label: str
    within: Within
    loss_s: float | None  # at worst, of its power cuts; None: not known
    loss_text: str

    @property
    def ops_s(self) -> float:
        return self.within.throughput_ops_s or 0.0

    @property
    def bound_reason(self) -> str:
        if self.within.at_least and self.curve.ceiling:
            return bound_reason(self.curve.ceiling)
        return ""

    @property
    def slow_disk_loss_s(self) -> float:
        """By the record of its mode; cuts of an ordinary disk do not show it. 0: as on any disk."""
        loss_s = self.curve.durability.get("worst_loss_window_s")
        if not isinstance(loss_s, int | float):
            return 0.0
        return float(loss_s)

    @property
    def has_bounded_loss(self) -> bool:
        return self.loss_s is not None and math.isfinite(self.loss_s)

    def loses_too_much(self, need: Need) -> bool:
        return need.max_loss_s is not None and (self.loss_s is None or self.loss_s > need.max_loss_s)

    def does_enough(self, need: Need) -> bool:
        return self.within.throughput_ops_s is not None and self.ops_s >= (need.load_ops_s or 0.0)


class Decision(NamedTuple):
    """Which sides meet the need, and which of them lead."""

    need: Need
    order: Order
    leaders: Sequence[Candidate]
    others: Sequence[Candidate]
    slow: Sequence[Candidate]  # beyond the limit of loss where the disk is slow
    limit_changes: Sequence[tuple[str, float, str]]
    more_loss: Candidate | None  # of the least loss beyond the limit that sustains more
    excluded: Sequence[Candidate]


def decide(curves: Sequence[Curve], need: Need, labels: Mapping[UUID, str]) -> Decision | None:
    """The sides that lead where they are known, the others, and those that do not meet the need.

    None where neither a loss nor a limit is asked for. Sides of accepted points are left out.
    """
    if need.max_loss_s is None and need.limit_us is None:
        return None
    curves = [curve for curve in curves if not curve.is_accepted]
    sides = [_candidate(curve, need, need.limit_us, labels) for curve in curves]
    excluded = [side for side in sides if side.loses_too_much(need) or not side.does_enough(need)]
    eligible = sorted((side for side in sides if side not in excluded), key=lambda side: -side.ops_s)
    most = 0.0
    if eligible:
        most = eligible[0].ops_s
    more = [
        side
        for side in excluded
        if side.loses_too_much(need) and side.loss_s is not None and side.ops_s > most and side.does_enough(need)
    ]
    order, leaders, others = _rank(eligible, need)
    return Decision(
        need=need,
        order=order,
        leaders=leaders,
        others=others,
        slow=[side for side in eligible if need.max_loss_s is not None and side.slow_disk_loss_s > need.max_loss_s],
        limit_changes=_limit_changes(curves, need, labels),
        more_loss=min(more, key=lambda side: (side.loss_s or 0.0, -side.ops_s, side.label), default=None),
        excluded=excluded,
    )


def _candidate(curve: Curve, need: Need, limit_us: float | None, labels: Mapping[UUID, str]) -> Candidate:
    """The most that it sustains within the limit, for all operations."""
    side = None
    if need.max_loss_s is not None:
        side = build_side(curve)
    if limit_us is None:
        within = Within(curve.ceiling_ops_s or None, How.MEASURED, at_least=curve.is_lower_bound)
    else:
        readings = [most_within(curve, name, need.statistic, need.kind, limit_us) for name in need.operations]
        within = min(
            readings, key=lambda reading: reading.throughput_ops_s or 0.0, default=Within(None, How.NOT_REACHED)
        )
    loss_s, loss_text = (side.worst_s, side.loss_text) if side else (None, "its loss is not known")
    return Candidate(curve, labels[curve.sweep_id], within, loss_s, loss_text)


def _rank(sides: Sequence[Candidate], need: Need) -> tuple[Order, Sequence[Candidate], Sequence[Candidate]]:
    """The sides that lead, as far as repeats and ladders tell them apart, and the others."""
    if len(sides) < 2:
        return (Order.ONLY if sides else Order.NONE), sides, ()
    repeats = [_repeats_ops_s(side, need) for side in sides]
    # Of ceilings a lower one may be as high as the highest where its ladder does not show the end.
    ranks = rank_sides(repeats)
    if need.limit_us is None:
        ranks = list(rank_curves([side.curve for side in sides]).values())
    leaders = [side for side, rank in zip(sides, ranks, strict=True) if rank.is_member]
    others = [side for side, rank in zip(sides, ranks, strict=True) if not rank.is_member]
    if any(side.within.at_least for side in others):
        return Order.SHORT, (), sides
    if not leaders or any(rank.is_member is None for rank in ranks):
        return (Order.SINGLE if min(map(len, repeats)) < 2 else Order.OPEN), (), sides
    if any(rank.is_undecided for rank in ranks):
        return Order.UNDECIDED, leaders, others
    return Order.LED, leaders, others


def _repeats_ops_s(side: Candidate, need: Need) -> tuple[float, ...]:
    """What each repeat sustains within the limit; the value alone where repeats do not show it."""
    if need.limit_us is None:
        repeats = side.curve.ceiling.repeats_ops_s if side.curve.ceiling else ()
        return repeats or (side.ops_s,)
    return repeats_within(side.curve, need.operations, need.statistic, need.kind, need.limit_us, side.ops_s)


def _limit_changes(curves: Sequence[Curve], need: Need, labels: Mapping[UUID, str]) -> list[tuple[str, float, str]]:
    """Below and above which limit the highest measured side is another one; without a name no side meets the need."""
    if need.limit_us is None:
        return []
    sides = [curve for curve in curves if not _candidate(curve, need, None, labels).loses_too_much(need)]

    def leader(limit_us: float) -> str:
        candidates = [_candidate(curve, need, limit_us, labels) for curve in sides]
        enough = [(side.ops_s, side.label) for side in candidates if side.does_enough(need)]
        return max(enough)[1] if enough else ""

    latencies: list[float] = []
    for curve, name in product(sides, need.operations):
        points = load_points(curve, name, need.statistic, need.kind)
        latencies += [point.latency_us for point in points if point.latency_us > 0]
    if not latencies:
        return []
    limits = np.geomspace(min([*latencies, need.limit_us]), max([*latencies, need.limit_us]), LIMITS)
    here = leader(need.limit_us)
    below = [limit for limit in limits[::-1] if limit < need.limit_us]
    above = [limit for limit in limits if limit > need.limit_us]
    changes = (
        (direction, _change(need.limit_us, grid, here, leader))
        for direction, grid in (("below", below), ("above", above))
    )
    return [(direction, *change) for direction, change in changes if change]


def _change(
    start_us: float, grid: Sequence[float], here: str, leader: Callable[[float], str]
) -> tuple[float, str] | None:
    """The first limit of the grid with another leader, to a fraction of its step, and that leader."""
    same = start_us
    for limit_us in grid:
        other = leader(limit_us)
        if other == here:
            same = limit_us
            continue
        for _ in range(MAX_BISECTIONS):
            middle = math.sqrt(same * limit_us)
            same, limit_us = (middle, limit_us) if leader(middle) == here else (same, middle)
        return limit_us, leader(limit_us)
    return None
