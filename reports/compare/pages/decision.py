"""Which sides of a comparison meet a need: a loss, a latency and a load; and where that answer changes. Pure.

Loss is in seconds of acknowledged writes at a power cut, latency in microseconds, throughput in operations per second.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from benchsite.core import formatting
from reports.compare.analysis.best import best_set
from reports.compare.analysis.equal_load import How, Within
from reports.compare.curves import STATISTICS, Curve
from reports.compare.figures.ceilings import find_best
from reports.compare.figures.loss import build_side
from reports.compare.ladder_text import bound_reason
from reports.compare.pages.equal_load import load_points, most_within, repeats_within

MAX_NAMED: Final = 4
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
    def text(self) -> str:
        """ "Losing at most 1.00 s, READ p99 at most 5.00 ms, at 10.0k ops/s"."""
        parts = []
        if self.max_loss_s is not None:
            parts.append(
                f"losing at most {formatting.duration(self.max_loss_s)}" if self.max_loss_s else "losing nothing"
            )
        if self.limit_us is not None:
            operations = " and ".join(self.operations)
            parts.append(f"{operations} {STATISTICS[self.statistic]} at most {formatting.latency(self.limit_us)}")
        if self.load_ops_s is not None:
            parts.append(f"at {formatting.throughput(self.load_ops_s)}")
        text = ", ".join(parts)
        return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class Decision:
    answer: str
    changes: tuple[str, ...]  # at which limit or loss another side measured more
    excluded: tuple[tuple[str, str], ...]  # sides that do not meet the need, and why


def decide(curves: Sequence[Curve], need: Need, labels: Mapping[UUID, str]) -> Decision | None:
    """None where neither a loss nor a limit is asked for."""
    if need.max_loss_s is None and need.limit_us is None:
        return None
    excluded: dict[str, str] = {}
    eligible: list[tuple[Curve, Within]] = []
    for curve in curves:
        within = _within(curve, need, need.limit_us)
        if reason := _loss_reason(curve, need.max_loss_s) or _load_reason(curve, within, need):
            excluded[labels[curve.sweep_id]] = reason
        else:
            eligible.append((curve, within))
    eligible.sort(key=lambda pair: -_ops_s(pair[1]))
    answer = _answer(eligible, need, labels) if eligible else "no side meets it"
    if slow := [
        f"{labels[curve.sweep_id]} up to {formatting.duration(worst_s)}"
        for curve, _ in eligible
        if need.max_loss_s is not None and (worst_s := _slow_disk_loss_s(curve)) > need.max_loss_s
    ]:
        answer += f". On a slow disk more may be lost: {formatting.listed(slow, MAX_NAMED)}"
    changes = [*_limit_changes(curves, need, labels), *_loss_changes(curves, need, eligible, labels)]
    return Decision(f"{need.text}: {answer}.", tuple(changes), tuple(excluded.items()))


def _within(curve: Curve, need: Need, limit_us: float | None) -> Within:
    """The most that a side sustains within the limit, for all operations."""
    if limit_us is None:
        return Within(
            curve.ceiling_ops_s or None,
            How.MEASURED,
            at_least=curve.ceiling is not None and curve.ceiling.is_lower_bound,
        )
    readings = [most_within(curve, name, need.statistic, need.kind, limit_us) for name in need.operations]
    return min(readings, key=_ops_s, default=Within(None, How.NOT_REACHED))


def _ops_s(within: Within) -> float:
    return within.throughput_ops_s or 0.0


def _text(within: Within) -> str:
    """ "at least 31.0k ops/s", and which lower rung is above the limit."""
    above = ", ".join(point.label for point in within.violated)
    return (
        f"{'at least ' if within.at_least else ''}{formatting.throughput(within.throughput_ops_s)}"
        f"{f' (but the lower rung of {above} is above the limit)' if above else ''}"
    )


def _loss_reason(curve: Curve, max_loss_s: float | None) -> str:
    if max_loss_s is None:
        return ""
    side = build_side(curve)
    if side is None:
        return "its loss is not known"
    return "" if side.worst_s <= max_loss_s else side.loss_text


def _slow_disk_loss_s(curve: Curve) -> float:
    """By the record of its mode, in seconds; cuts of an ordinary disk do not show it. 0: as on any disk."""
    loss_s = curve.durability.get("worst_loss_window_s")
    return float(loss_s) if isinstance(loss_s, int | float) else 0.0


def _load_reason(curve: Curve, within: Within, need: Need) -> str:
    if within.throughput_ops_s is None:
        return "no rung is within the limit" if need.limit_us is not None else "it has no ceiling"
    if need.load_ops_s is not None and within.throughput_ops_s < need.load_ops_s:
        open_end = f" ({bound_reason(curve.ceiling)})" if within.at_least and curve.ceiling else ""
        return f"it sustains {_text(within)}{open_end}"
    return ""


def _answer(eligible: Sequence[tuple[Curve, Within]], need: Need, labels: Mapping[UUID, str]) -> str:
    """The sides that lead, as far as repeats and ladders tell them apart, and the others."""
    texts = [f"{labels[curve.sweep_id]} {_text(within)}" for curve, within in eligible]
    if len(texts) == 1:
        return f"only {texts[0]}"
    repeats = [_repeats_ops_s(curve, _ops_s(within), need) for curve, within in eligible]
    # Of ceilings a lower one may be as high as the highest where its ladder does not show the end.
    best = (
        best_set(repeats) if need.limit_us is not None else list(find_best([curve for curve, _ in eligible]).values())
    )
    leaders = [text for text, among in zip(texts, best, strict=True) if among]
    if any(within.at_least and not among for (_, within), among in zip(eligible, best, strict=True)):
        return f"{formatting.listed(texts, MAX_NAMED)}. Ladders that ended too early do not confirm this order"
    if None in best or not leaders:
        open_sides = "Repeats" if min(map(len, repeats)) < 2 else "Repeats and open ladders"
        return f"{formatting.listed(texts, MAX_NAMED)}. {open_sides} do not confirm this order"
    rest = [text for text, among in zip(texts, best, strict=True) if not among]
    lead = (
        f"{leaders[0]} is the highest"
        if len(leaders) == 1
        else f"{formatting.listed(leaders, MAX_NAMED)} are not distinguishable"
    )
    return f"{lead}; {formatting.listed(rest, MAX_NAMED)}" if rest else lead


def _repeats_ops_s(curve: Curve, value_ops_s: float, need: Need) -> tuple[float, ...]:
    """What each repeat sustains within the limit; the value alone where repeats do not show it."""
    if need.limit_us is None:
        repeats = curve.ceiling.repeats_ops_s if curve.ceiling else ()
        return repeats or (value_ops_s,)
    return repeats_within(curve, need.operations, need.statistic, need.kind, need.limit_us, value_ops_s)


def _limit_changes(curves: Sequence[Curve], need: Need, labels: Mapping[UUID, str]) -> list[str]:
    """ "The highest measured side changes with the limit: below p99 1.80 ms no side meets the need"."""
    if need.limit_us is None:
        return []
    sides = [curve for curve in curves if not _loss_reason(curve, need.max_loss_s)]

    def leader(limit_us: float) -> str:
        readings = [(curve, _within(curve, need, limit_us)) for curve in sides]
        enough = [
            (_ops_s(within), labels[curve.sweep_id])
            for curve, within in readings
            if not _load_reason(curve, within, need)
        ]
        return max(enough)[1] if enough else ""

    latencies = [
        point.latency_us
        for curve in sides
        for name in need.operations
        for point in load_points(curve, name, need.statistic, need.kind)
        if point.latency_us > 0
    ]
    if not latencies:
        return []
    limits = np.geomspace(min([*latencies, need.limit_us]), max([*latencies, need.limit_us]), LIMITS)
    here = leader(need.limit_us)
    below = [limit for limit in limits[::-1] if limit < need.limit_us]
    above = [limit for limit in limits if limit > need.limit_us]
    texts = []
    for direction, grid in (("below", below), ("above", above)):
        if change := _change(need.limit_us, grid, here, leader):
            limit_us, other = change
            text = f"it is {other}" if other else "no side meets the need"
            texts.append(f"{direction} {STATISTICS[need.statistic]} {formatting.latency(limit_us)} {text}")
    return [f"The highest measured side changes with the limit: {'; '.join(texts)}."] if texts else []


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


def _loss_changes(
    curves: Sequence[Curve], need: Need, eligible: Sequence[tuple[Curve, Within]], labels: Mapping[UUID, str]
) -> list[str]:
    """What a higher loss would allow: the first side behind the limit that sustains more."""
    if need.max_loss_s is None:
        return []
    most = _ops_s(eligible[0][1]) if eligible else 0.0
    more = [
        (side.worst_s, -_ops_s(within), labels[curve.sweep_id], _text(within))
        for curve in curves
        if (side := build_side(curve)) and side.worst_s > need.max_loss_s
        if _ops_s(within := _within(curve, need, need.limit_us)) > most and not _load_reason(curve, within, need)
    ]
    if not more:
        return []
    loss_s, _, label, text = min(more)
    loss = "any number of writes" if math.isinf(loss_s) else f"up to {formatting.significant(loss_s)} s of writes"
    return [f"{label} sustains {text} and may lose {loss}."]
