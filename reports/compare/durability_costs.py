"""What durability costs: each ceiling against the one of the weakest promise of its database. Pure."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from benchsite.core.formatting import times
from reports.compare.analysis.ratios import bound_sign
from reports.compare.curves import Curve, durability_key, in_order

MAX_MODE: Final = 20  # characters


def list_trades(curves: Sequence[Curve]) -> list[tuple[list[Curve], list[Curve]]]:
    """For each database: the best ceiling of each promise under one workload, the weakest first, and all its modes.

    A promise is weaker with fewer copies, then with less safe ones, then with a longer loss.
    """
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in in_order(curves):
        if curve.durability and curve.ceiling_ops_s > 0:
            groups.setdefault((curve.database_name, curve.workload), []).append(curve)
    return [(_select_best(group), group) for group in groups.values()]


def _select_best(curves: Sequence[Curve]) -> list[Curve]:
    best: dict[tuple[float, ...], Curve] = {}
    for curve in sorted(curves, key=lambda curve: curve.ceiling_ops_s, reverse=True):
        best.setdefault(durability_key(curve.durability), curve)
    # The key of a stronger promise is smaller.
    return [best[key] for key in sorted(best, reverse=True)]


def find_weakest_modes(curves: Sequence[Curve]) -> dict[UUID, Curve]:
    """By sweep of the modes that promise more than the weakest of their database, the best sweep of that."""
    weakest_modes = {}
    for (weakest, *_), modes in list_trades(curves):
        for curve in modes:
            if durability_key(curve.durability) != durability_key(weakest.durability):
                weakest_modes[curve.sweep_id] = weakest
    return weakest_modes


def get_cost(curve: Curve, weakest: Curve) -> tuple[float, str | None]:
    """The ceiling as a ratio to that of the weaker promise, and the sign before it.

    The sign is None where the ratio may be anything, or is not that of the values.
    """
    sign = bound_sign(curve.is_lower_bound, weakest.is_lower_bound)
    return curve.ceiling_ops_s / weakest.ceiling_ops_s, None if curve.has_other_repeats_than(weakest) else sign


def describe_cost(curve: Curve, weakest: Curve) -> str:
    """ "≥ 0.52x of everysec"; empty without a sign."""
    ratio, sign = get_cost(curve, weakest)
    if sign is None:
        return ""
    is_single = any(side.ceiling and len(side.ceiling.repeats_ops_s) < 2 for side in (curve, weakest))
    single = ""
    if is_single and not sign:
        single = " (n = 1)"
    return f"{sign}{times(ratio)} of {weakest.mode[:MAX_MODE]}{single}"
