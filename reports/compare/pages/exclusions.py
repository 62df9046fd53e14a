"""What does not count in a comparison, and why."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from reports.compare.curves import Curve, Point, Standing
from reports.compare.messages import REJECTED_BY_CHECKS

MAX_REASONS = 3


def left_out(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """For each side with runs that do not count: how many, and why."""
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
            }
        )

    return rows


def _reasons(point: Point) -> list[str]:
    """The reasons that people wrote, and the worst finding of each run that the checks rejected."""
    rejected = [repeat.reason for repeat in point.left_out if repeat.standing is Standing.REJECTED]
    if point.standing is Standing.REJECTED:
        rejected += [point.worst_finding or REJECTED_BY_CHECKS]
    return [reason for reason in [*point.excluded, *rejected] if reason]
