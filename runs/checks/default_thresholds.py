"""Every threshold of the checks, in one place, by the purpose a run was made for, and replaceable by a team.

A value that equals a limit is still good. Where a value is a judgement and no law, `says` tells what it judges.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, Literal

from benchsite.core.formatting import duration, exact, grouped, latency, percent, throughput
from runs.checks.check import PAIR_CHECKS, RUN_CHECKS
from runs.checks.messages import ABOVE_UPPER, BELOW_LOWER, OUTSIDE_LIMITS
from runs.checks.results import CheckResult, Severity, at_most

TEAM_THRESHOLD: Final = "(team threshold)"
# Shares are fractions (0.02 is 2 %) and are shown in per cent; the rest is shown as it is.
Unit = Literal["share", "s", "count", "factor", "ops/s", "MiB"]
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")


def _threshold(check_id: str, unit: Unit, default: float, says: str, least: float = 0.0, most: float = 1e9) -> float:
    """A field of the profile that a team may replace within [least, most]."""
    about = {"check_id": check_id, "unit": unit, "says": says, "least": least, "most": most}
    value: float = field(default=default, metadata=about)
    return value


@dataclass(frozen=True, slots=True)
class Profile:
    """The thresholds under one purpose. Every number is a `_threshold`; the rest is what the purpose alone decides."""

    purpose: str

    window_least: float = _threshold("E01", "share", 0.90, "of the planned window must be there", most=1)
    # Above 1 a share of the threads' time is impossible: 0.02 are left for the histogram's resolution (0.1 %) and for
    # clients whose intervals end some milliseconds apart. Operations that began before the window are allowed for by
    # their own length.
    little_warn_below: float = _threshold("V01", "share", 0.90, "less of the threads' time explained warns", most=1)
    little_reject_below: float = _threshold("V01", "share", 0.75, "less of the threads' time explained rejects", most=1)
    little_reject_above: float = _threshold("V01", "share", 1.02, "more than the threads had rejects", least=1, most=2)
    threads_busy: float = _threshold("V02", "share", 0.95, "of the threads' time in operations: they are all busy")
    latency_risen: float = _threshold("V02", "factor", 2.0, "times the lowest rung's latency: the database slows", 1)
    cpu_warn: float = _threshold("V03", "share", 0.80, "of a load generator's cores used by its clients warns", most=1)
    cpu_reject: float = _threshold("V03", "share", 0.90, "of a load generator's cores used rejects", most=1)
    gc_warn: float = _threshold("V03", "share", 0.05, "of the run time in garbage collection warns", most=1)
    probe_clients: float = _threshold("V04", "factor", 1.5, "times the clients make a run a probe of them", least=1)
    probe_gain: float = _threshold("V04", "share", 0.05, "more throughput with more clients warns")
    duration_warn_s: float = _threshold("V05", "s", 120.0, "a shorter window warns")
    duration_reject_s: float = _threshold("V05", "s", 30.0, "a shorter window rejects")
    operations_least: float = _threshold("V05", "count", 100_000.0, "fewer operations warn")
    percentile_shown: float = _threshold("V05", "factor", 99.0, "is the percentile that must be supported", 50, 99.99)
    percentile_margin: float = _threshold("V05", "share", 0.25, "above the percentile its upper bound may lie", most=10)
    setup_warn: float = _threshold("V06", "share", 0.02, "of the run time spent in set-up and clean-up warns", most=1)
    setup_reject: float = _threshold("V06", "share", 0.10, "of the run time in set-up and clean-up rejects", most=1)
    errors_warn: float = _threshold("V07", "share", 0.001, "of the operations failed warns", most=1)
    errors_reject: float = _threshold("V07", "share", 0.01, "of the operations failed rejects", most=1)
    mix_points: float = _threshold("V08", "share", 0.01, "of all operations an operation's share may be off", most=1)
    mix_sigmas: float = _threshold("V08", "factor", 4.0, "standard deviations it may be off, if that is more")
    mix_reject: float = _threshold("V08", "share", 0.05, "of the operations in a window off rejects", most=1)
    mix_expected_least: float = _threshold("V08", "count", 10.0, "expected operations make none of them a loss", 1)
    target_info: float = _threshold("V09", "share", 0.98, "of the target reached: less is marginal", most=1)
    target_warn: float = _threshold("V09", "share", 0.95, "of the target reached: less is not sustained", most=1)
    dropped_warn: float = _threshold(
        "V09", "share", 0.001, "of the arrivals of an open load dropped: not sustained", most=1
    )
    backlog_share: float = _threshold("V10", "share", 0.5, "of the mean response time it may grow over the window")
    backlog_least_s: float = _threshold("V10", "s", 0.1, "it may grow in any case", most=3600)
    steady_least_s: float = _threshold("V11", "s", 60.0, "of window are needed to judge by", least=20)
    steady_gain: float = _threshold("V11", "share", 0.02, "difference in the mean makes warm-up matter", most=1)
    drift_warn: float = _threshold("V11", "share", 0.05, "of drift over the window warns", most=1)
    drift_sigmas: float = _threshold("V11", "factor", 3.0, "standard errors of drift by chance, if that is more")
    stability_least_s: float = _threshold("V12", "s", 60.0, "of window are needed to judge by", least=10)
    cv_warn: float = _threshold("V12", "share", 0.10, "variation of the seconds' throughput warns")
    slow_seconds_warn: float = _threshold("V12", "share", 0.05, "of the seconds below 0.9 of the median warns", most=1)
    stall_s: float = _threshold("V13", "s", 2.0, "in a row without any operation warn", least=1)
    stall_latency_s: float = _threshold("V13", "s", 10.0, "for one operation: longer warns")
    stall_rate_least: float = _threshold("V13", "ops/s", 10.0, "a slower run has empty seconds by chance", least=1)
    skew_warn_s: float = _threshold("V14", "s", 1.0, "between the clients' starts or ends warns")
    skew_reject_share: float = _threshold("V14", "share", 0.05, "of the window between them rejects", most=1)
    overlap_warn: float = _threshold("V14", "share", 0.90, "of the clients' time in common: less warns", most=1)
    imbalance_warn: float = _threshold("V15", "factor", 1.2, "fastest to slowest client, per thread, warns", least=1)
    imbalance_reject: float = _threshold("V15", "factor", 2.0, "fastest to slowest client rejects", least=1)
    clock_warn_s: float = _threshold("V16", "s", 0.05, "between a load generator's clock and the reference warns")
    fits_memory: float = _threshold("V17", "factor", 0.7, "times the memory: a smaller data set fits")
    exceeds_memory: float = _threshold("V17", "factor", 1.3, "times the memory: a larger data set lives on disk")
    hit_ratio_points: float = _threshold("V18", "share", 0.05, "between two hit ratios, or within a run, warns", most=1)
    network_usable: float = _threshold("V21", "share", 0.94, "of a network's rate can carry payload", most=1)
    payload_least: float = _threshold("V21", "share", 0.5, "of the payload must be seen on network and disk", most=1)
    resolution_warn_s: float = _threshold("V22", "s", 0.001, "wide buckets, or wider, warn")
    arithmetic_reject: float = _threshold("V23", "share", 0.001, "between printed and computed throughput rejects")
    status_stretch: float = _threshold("V23", "factor", 1.5, "times the stated interval of status lines warns", least=1)
    lag_least_s: float = _threshold("V36", "s", 0.001, "of start lag are judged more strictly")
    lag_shift_warn: float = _threshold("V36", "share", 0.03, "longer responses by start lag warn; above that, reject")
    lag_shift_reject: float = _threshold("V36", "share", 0.50, "longer responses by start lag reject in any case")
    lag_warn: float = _threshold("V36", "share", 0.10, "of the response's p99 as start lag warns", most=1)
    lag_reject: float = _threshold("V36", "share", 0.50, "of the mean response as start lag rejects", most=1)
    lag_reject_s: float = _threshold("V36", "s", 0.020, "of start lag rejects in any case")
    interference_level: float = _threshold("V25", "share", 0.10, "of a machine's cores used by others disturb", most=1)
    interference_warn: float = _threshold("V25", "share", 0.10, "of the window disturbed so warns", most=1)
    interference_reject: float = _threshold(
        "V25", "share", 0.25, "of the cores used by others on average rejects", most=1
    )
    cpu_cache_mib: float = _threshold("V30", "MiB", 64.0, "on each node or less fit a CPU's cache")
    exceeded_warn: float = _threshold("V31", "factor", 1.02, "times the target in the window: more warns", least=1)
    exceeded_reject: float = _threshold("V31", "factor", 1.1, "times the target in the window: more rejects", least=1)

    group_warn: float = _threshold("V40", "share", 0.95, "of its time a client group stood: less warns", most=1)
    group_reject: float = _threshold("V40", "share", 0.80, "of its time a client group stood: less rejects", most=1)

    window_short: Severity = "reject"  # what E01 says of a shorter window
    # How severe a check may become at most under this purpose.
    at_most: Mapping[str, Severity] = field(default_factory=dict)
    overridden: frozenset[str] = frozenset()  # the thresholds that the team replaced
    _filled: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def min_window_s(self) -> float:
        """The shortest window that V05 does not reject; 0 where this purpose lets it reject none."""
        if "V05" in self.at_most:
            return 0.0
        return self.duration_reject_s

    def filled(self, text: str) -> str:
        """The text with its thresholds, which stand in it by their names in braces, perhaps with another unit."""
        if text not in self._filled:  # A comparison of sixty sides has 1,770 pairs with the same limits.
            self._filled[text] = _PLACEHOLDER.sub(self._format, text)
        return self._filled[text]

    def _format(self, placeholder: re.Match[str]) -> str:
        name, unit = placeholder.groups()
        return _format_value(getattr(self, name), unit or THRESHOLDS[name].unit)

    def applied(self, result: CheckResult) -> CheckResult:
        """The finding, no more severe than the purpose allows, and marked where the team's threshold decided it."""
        if any(THRESHOLDS[name].check_id == result.check_id for name in self.overridden):
            result = replace(result, threshold=f"{result.threshold} {TEAM_THRESHOLD}")
        limit = self.at_most.get(result.check_id)
        if limit is None:
            return result
        return replace(result, severity=at_most(result.severity, limit))


def _format_value(value: float, unit: str) -> str:
    """A threshold in a text."""
    match unit:
        case "share":
            return percent(value)
        case "s":
            return duration(value)
        case "count":
            return grouped(value)
        case "ops/s":
            return throughput(value)
        case "points":
            return exact(value * 100)
        case "latency":
            return latency(value * 1e6)
        case "ms":
            return f"{grouped(value * 1000)} ms"
    return exact(value)


@dataclass(frozen=True, slots=True)
class Threshold:
    """What is to be known about one threshold before it is replaced."""

    name: str
    check_id: str
    unit: Unit
    says: str  # after its value: "5 % of the operations failed warns"
    least: float
    most: float

    @property
    def title(self) -> str:
        """What its check is called."""
        titles = {check.id: check.title for check in (*PAIR_CHECKS, *RUN_CHECKS)}
        return titles[self.check_id]


THRESHOLDS: Final[Mapping[str, Threshold]] = {
    column.name: Threshold(name=column.name, **column.metadata) for column in fields(Profile) if column.metadata
}
# Of each pair the first is never above the second.
ORDERED: Final[tuple[tuple[str, str], ...]] = (
    ("little_reject_below", "little_warn_below"),
    ("cpu_warn", "cpu_reject"),
    ("duration_reject_s", "duration_warn_s"),
    ("setup_warn", "setup_reject"),
    ("errors_warn", "errors_reject"),
    ("target_warn", "target_info"),
    ("exceeded_warn", "exceeded_reject"),
    ("imbalance_warn", "imbalance_reject"),
    ("fits_memory", "exceeds_memory"),
    ("lag_shift_warn", "lag_shift_reject"),
)

_MEASURED: Final = Profile(purpose="measured")
# What comes of a short run or of a machine that is shared: said, but no reason to throw the point away, because these
# purposes never claim what the checks protect. Impossible arithmetic, errors and a wrong key space reject everywhere.
_LENIENT: Final[Mapping[str, Severity]] = {"V03": "warn", "V05": "warn", "V06": "warn", "V14": "warn", "V24": "warn"}
_SHARED_MACHINE: Final[Mapping[str, Severity]] = {
    "V05": "info",
    "V06": "info",
    "V15": "warn",
    "V24": "info",
    "V25": "warn",
    "V30": "info",
}
_SHOWN: Final = replace(
    _MEASURED,
    purpose="demo",
    little_reject_below=0.0,
    window_short="warn",
    at_most={**_LENIENT, **_SHARED_MACHINE},
)

# From the most lenient to the strictest.
PROFILES: Final[Mapping[str, Profile]] = {
    "smoke": replace(_SHOWN, purpose="smoke"),
    "demo": _SHOWN,
    "tuning": replace(_MEASURED, purpose="tuning", little_reject_below=0.0, window_short="warn", at_most=_LENIENT),
    "measured": _MEASURED,
    "soak": replace(_MEASURED, purpose="soak", duration_warn_s=300.0),
}


def profile(purpose: str, overrides: Mapping[str, float] | None = None) -> Profile:
    """The thresholds of a purpose (smoke, demo, tuning, measured or soak), with what a team puts in their place.

    Raises KeyError for an unknown purpose and ValueError for a threshold that there is not.
    """
    usual = PROFILES[purpose]
    if not overrides:
        return usual
    unknown = sorted(set(overrides) - set(THRESHOLDS))
    if unknown:
        raise ValueError(f"there is no threshold {unknown[0]!r}")
    # mypy cannot know that every name is one of a float.
    return replace(usual, overridden=frozenset(overrides), **overrides)  # type: ignore[arg-type]


def shown(name: str, value: float) -> str:
    """A threshold's value in its unit."""
    unit = THRESHOLDS[name].unit
    if unit == "share":
        return f"{exact(value * 100)} %"
    if unit in ("count", "factor"):
        return exact(value)
    return f"{exact(value)} {unit}"


def refusal(name: str, value: float, thresholds: Profile) -> str:
    """Why `value` cannot take the place of a threshold among the others; empty where it can."""
    about = THRESHOLDS[name]
    if not about.least <= value <= about.most:
        return OUTSIDE_LIMITS.format(least=shown(name, about.least), most=shown(name, about.most))
    for lower, upper in ORDERED:
        lower_value, upper_value = getattr(thresholds, lower), getattr(thresholds, upper)
        if name == lower and value > upper_value:
            return ABOVE_UPPER.format(limit=shown(upper, upper_value), meaning=THRESHOLDS[upper].says)
        if name == upper and value < lower_value:
            return BELOW_LOWER.format(limit=shown(lower, lower_value), meaning=THRESHOLDS[lower].says)
    return ""
