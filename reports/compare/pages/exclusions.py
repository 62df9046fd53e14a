"""What does not count in a comparison, why, and what it would have changed."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from benchsite.core import formatting
from reports.compare.curves import Curve, Point, Standing

MAX_REASONS = 3


def left_out(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """For each side with runs that do not count: how many, why, and their effect on the ceiling."""
    rows = []
    for curve in curves:
        excluded = sum(len(point.excluded) for point in curve.points)
        rejected = sum(point.rejected for point in curve.points)
        if not excluded and not rejected:
            continue

        reasons = Counter(chain.from_iterable(map(_reasons, curve.points)))
        named = [f"{text} ({times} runs)" if times > 1 else text for text, times in reasons.most_common(MAX_REASONS)]
        rows.append(
            {
                "curve": curve,
                "excluded": excluded,
                "rejected": rejected,
                "reasons": named,
                "more_reasons": max(len(reasons) - MAX_REASONS, 0),
                "effect": effect_sentence(curve),
            }
        )

    return rows


def _reasons(point: Point) -> list[str]:
    """The reasons that people wrote, and the worst finding of each run that the checks rejected."""
    rejected = [repeat.reason for repeat in point.left_out if repeat.standing is Standing.REJECTED]
    if point.standing is Standing.REJECTED:
        rejected += [point.worst_finding or "rejected by the validity checks"]
    return [reason for reason in [*point.excluded, *rejected] if reason]


def effect_sentence(curve: Curve) -> str:
    """The effect of people's exclusions on the highest throughput that was measured."""
    whole = curve.ceiling_with_left_out
    if whole is None:
        return ""
    everything = formatting.throughput(whole.highest_ops_s)
    if curve.ceiling is None:
        return f"With what people left out {everything} is the highest measured; without it there is no ceiling."
    counted = formatting.throughput(curve.ceiling.highest_ops_s)
    if counted == everything:
        return f"What people left out does not change the highest measured: {counted} with it and without it."
    change = formatting.signed_percent(curve.ceiling.highest_ops_s / whole.highest_ops_s - 1)
    return f"Highest measured: {everything} with what people left out, {counted} without it ({change})."
