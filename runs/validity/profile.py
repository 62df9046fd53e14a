"""Every threshold of the checks, in one place, by the purpose a run was made for.

All values are those of docs/how-results-are-judged.md. A team may replace single ones (`dataclasses.replace`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runs.validity.results import Severity


@dataclass(frozen=True, slots=True)
class Profile:
    """Ratios are fractions (0.02 is 2 %), times are seconds. `..._warn` and `..._reject` are the limits themselves."""

    purpose: str
    # V01: share of the threads' time that is explained by their operations.
    little_warn_below: float = 0.90
    little_reject_below: float = 0.75
    little_reject_above: float = 1.02
    # V03: share of the cores of a load generator's machine that its clients used.
    cpu_warn: float = 0.80
    cpu_reject: float = 0.90
    # V05
    duration_warn_s: float = 120.0
    duration_reject_s: float = 30.0
    operations_least: int = 100_000
    percentile_shown: float = 99.0
    values_beyond_percentile: int = 100
    # V06: of the run time.
    setup_warn: float = 0.02
    setup_reject: float = 0.10
    # V07: of all operations.
    errors_warn: float = 0.001
    errors_reject: float = 0.01
    # V08
    mix_points: float = 0.01
    mix_sigmas: float = 4.0
    # V09: reached / target.
    target_info: float = 0.98
    target_warn: float = 0.95
    # V12
    stability_least_s: int = 60
    cv_warn: float = 0.10
    slow_seconds_warn: float = 0.05
    # V14
    skew_warn_s: float = 1.0
    skew_reject_share: float = 0.05
    overlap_warn: float = 0.90
    # V15: fastest client / slowest client, per thread.
    imbalance_warn: float = 1.2
    imbalance_reject: float = 2.0
    # V23
    arithmetic_reject: float = 0.001
    # How severe a check may become at most under this purpose.
    at_most: Mapping[str, Severity] = field(default_factory=dict)


_MEASURED: Final = Profile(purpose="measured")
PROFILES: Final[Mapping[str, Profile]] = {"measured": _MEASURED, "soak": replace(_MEASURED, purpose="soak")}


def profile(purpose: str) -> Profile:
    """The thresholds of a purpose: smoke, demo, tuning, measured or soak."""
    return PROFILES[purpose]
