"""Every threshold of the checks, in one place, by the purpose a run was made for.

A team may replace single values (`dataclasses.replace`). Where a value is a judgement and no law, the check says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runs.validity.results import Severity


@dataclass(frozen=True, slots=True)
class Profile:
    """Ratios are fractions (0.02 is 2 %), times are seconds. A value that equals a limit is still good."""

    purpose: str
    # E01: how much of the window that was asked for must be there.
    window_least: float = 0.90
    window_short: Severity = "reject"  # what a shorter one is
    # V01: the share of the threads' time that their operations explain. Above 1 it is impossible: 0.02 are left for
    # the histogram's resolution (0.1 %) and for clients whose intervals end some milliseconds apart, and operations
    # that began before the window are allowed for by their own length.
    little_warn_below: float = 0.90
    little_reject_below: float = 0.75
    little_reject_above: float = 1.02
    # V03: the share of a load generator's cores that its clients used.
    cpu_warn: float = 0.80
    cpu_reject: float = 0.90
    # V05: a percentile needs this many values beyond it.
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
    # V08: the larger of so many percentage points and so many standard deviations.
    mix_points: float = 0.01
    mix_sigmas: float = 4.0
    mix_expected_least: float = 10.0
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
# What comes of a short run or of a machine that is shared: said, but no reason to throw the point away, because these
# purposes never claim what the checks protect. Impossible arithmetic, errors and a wrong key space reject everywhere.
_LENIENT: Final[Mapping[str, Severity]] = {"V03": "warn", "V05": "warn", "V06": "warn", "V14": "warn", "V24": "warn"}
_SHARED_MACHINE: Final[Mapping[str, Severity]] = {"V05": "info", "V06": "info", "V15": "warn", "V24": "info"}

PROFILES: Final[Mapping[str, Profile]] = {
    "measured": _MEASURED,
    "soak": replace(_MEASURED, purpose="soak", duration_warn_s=300.0),
    "tuning": replace(_MEASURED, purpose="tuning", window_short="warn", at_most=_LENIENT),
    "smoke": replace(
        _MEASURED,
        purpose="smoke",
        little_reject_below=0.0,
        window_short="warn",
        at_most={**_LENIENT, **_SHARED_MACHINE},
    ),
    "demo": replace(
        _MEASURED, purpose="demo", little_reject_below=0.0, window_short="warn", at_most={**_LENIENT, **_SHARED_MACHINE}
    ),
}


def profile(purpose: str) -> Profile:
    """The thresholds of a purpose: smoke, demo, tuning, measured or soak."""
    return PROFILES[purpose]
