"""What does not count in a comparison, why, and what it would have changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchsite import formatting
from reports.curves import Curve, Point, Standing

MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class LeftOutOf:
    """What does not count of one side."""

    curve: Curve
    excluded: int  # runs that people left out
    rejected: int  # runs that the validity checks rejected
    reasons: tuple[str, ...]
    more_reasons: int
    effect: str  # on the ceiling; empty where people left nothing out


def left_out(curves: Sequence[Curve]) -> list[LeftOutOf]:
    """The sides of which anything does not count, in their order."""
    return [found for curve in curves if (found := _of(curve)).excluded or found.rejected]


def _of(curve: Curve) -> LeftOutOf:
    reasons = Counter(reason for point in curve.points for reason in _reasons(point))
    return LeftOutOf(
        curve,
        excluded=sum(len(point.excluded) for point in curve.points),
        rejected=sum(point.rejected for point in curve.points),
        reasons=tuple(
            f"{reason} ({times} runs)" if times > 1 else reason for reason, times in reasons.most_common(MOST_REASONS)
        ),
        more_reasons=max(len(reasons) - MOST_REASONS, 0),
        effect=effect_sentence(curve),
    )


def _reasons(point: Point) -> list[str]:
    """What people wrote, and the worst finding of what the checks rejected."""
    rejected = [one.reason for one in point.left_out if one.standing is Standing.REJECTED]
    if point.standing is Standing.REJECTED:
        rejected += [point.worst_finding or "rejected by the validity checks"]
    return [reason for reason in [*point.excluded, *rejected] if reason]


def effect_sentence(curve: Curve) -> str:
    """What people's exclusions do to the highest that was measured."""
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
