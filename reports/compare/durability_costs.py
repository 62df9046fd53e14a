"""What durability costs: each ceiling against the one of the weakest promise of its database. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from benchsite.core.formatting import times
from reports.compare.analysis.ratios import bound_sign
from reports.compare.curves import Curve, durability_key, in_order

MAX_MODE: Final = 20  # characters


@dataclass(frozen=True, slots=True)
class DurabilityCost:
    """A ceiling as a ratio to that of a weaker promise. `sign` None: both are lower bounds, so it may be anything."""

    curve: Curve
    weakest: Curve
    sign: str | None

    @property
    def ratio(self) -> float:
        return self.curve.ceiling_ops_s / self.weakest.ceiling_ops_s

    @property
    def text(self) -> str:
        """ "≥ 0.52x of everysec"; empty where the ratio may be anything, or is not that of the values."""
        if self.sign is None or self.curve.has_other_repeats_than(self.weakest):
            return ""
        ceilings = (self.curve.ceiling, self.weakest.ceiling)
        is_single = any(ceiling and len(ceiling.repeats_ops_s) < 2 for ceiling in ceilings)
        single = " (n = 1)" if is_single and not self.sign else ""
        return f"{self.sign}{times(self.ratio)} of {self.weakest.mode[:MAX_MODE]}{single}"


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


def durability_costs(curves: Sequence[Curve]) -> dict[UUID, DurabilityCost]:
    """By sweep; of the modes that promise more than the weakest of their database."""
    costs = {}
    for (weakest, *_), modes in list_trades(curves):
        for curve in modes:
            if durability_key(curve.durability) != durability_key(weakest.durability):
                sign = bound_sign(curve.is_lower_bound, weakest.is_lower_bound)
                costs[curve.sweep_id] = DurabilityCost(curve, weakest, sign)
    return costs
