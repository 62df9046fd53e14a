"""Printed numbers computed again from the study's own printed numbers. What differs is shown, never corrected."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby

from benchsite.core import formatting
from benchsite.core.formatting import MINUS, TIMES
from reports.analysis.scalability import score
from runs.studies import Fact, Kind, Study

_BETWEEN = re.compile(r"latency_bucket_(\d+)(us|ms|s)_to_(\d+)(us|ms|s)")
_BEYOND = re.compile(r"latency_bucket_over_(\d+)(us|ms|s)")
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}
# The ratio, what is divided by what, and to how many decimals it is printed.
_RATIOS: Sequence[tuple[int, int, int, int]] = (
    (9, 1, 5, 1),
    (10, 2, 6, 1),
    (11, 7, 3, 0),
    (12, 8, 4, 0),
    (21, 13, 17, 1),
    (22, 14, 18, 1),
    (23, 19, 15, 2),
    (24, 20, 16, 1),
    (33, 25, 29, 1),
    (34, 26, 30, 1),
    (35, 31, 27, 2),
    (36, 32, 28, 1),
    (37, 13, 17, 1),
    (38, 40, 39, 1),
    (46, 13, 17, 1),
    (47, 1, 5, 1),
    (48, 1, 5, 1),
    (49, 14, 18, 2),
    (50, 13, 17, 2),
    (51, 1, 5, 1),
    (52, 7, 3, 0),
    (53, 8, 4, 0),
    (85, 13, 17, 1),
    (86, 20, 16, 1),
    (87, 2, 6, 1),
)
_SHARES: Mapping[str, tuple[str, float]] = {
    "iv13-004": ("p99", 0.99),
    "iv13-015": ("p95", 0.95),
    "iv13-016": ("p99", 0.99),
    "iv13-017": ("p99.9", 0.999),
}


@dataclass(frozen=True, slots=True)
class Bucket:
    """Operations whose latency lay in (low, high]; the last one has no upper bound."""

    low_us: int
    high_us: int | None
    count: int
    fact: Fact


def buckets_of(study: Study) -> tuple[Bucket, ...]:
    """The study's printed buckets, ascending; none where it printed none."""
    buckets = [_bucket(fact) for fact in study.facts if fact.kind == Kind.HISTOGRAM]
    return tuple(sorted(buckets, key=lambda bucket: bucket.low_us))


def _bucket(fact: Fact) -> Bucket:
    if match := _BETWEEN.fullmatch(fact.metric):
        low, high = int(match[1]) * _MICROSECONDS[match[2]], int(match[3]) * _MICROSECONDS[match[4]]
        return Bucket(low, high, int(fact.value), fact)
    match = _BEYOND.fullmatch(fact.metric)
    if match is None:
        raise ValueError(f"{fact.id}: {fact.metric} names no bucket")
    return Bucket(int(match[1]) * _MICROSECONDS[match[2]], None, int(fact.value), fact)


def bucket_of(buckets: Sequence[Bucket], share: float) -> Bucket | None:
    """The bucket in which the quantile lies: the first at whose end at least `share` of the operations are counted.

    None without operations. A quantile of bucketed output is known to its bucket and no closer.
    """
    needed = math.ceil(share * sum(bucket.count for bucket in buckets) - 1e-9)
    counted = 0
    for bucket in buckets:
        counted += bucket.count
        if bucket.count and counted >= needed:
            return bucket
    return None


def mean_bounds(buckets: Sequence[Bucket], least_us: float, most_us: float) -> tuple[float, float]:
    """Between which the mean lies, in microseconds, when the least and the greatest latency are known.

    Every operation of a bucket lies at its lower end at the least and at its upper end at the most (analysis 6). The
    ends are powers of two, which the print rounds: its "2 ms" is 2,048 µs. Raises ZeroDivisionError without operations.
    """
    total = sum(bucket.count for bucket in buckets)
    low = sum(bucket.count * max(power_of_two(bucket.low_us), least_us) for bucket in buckets) / total
    high = sum(bucket.count * min(power_of_two(bucket.high_us or most_us), most_us) for bucket in buckets) / total
    return low, high


def power_of_two(printed_us: float) -> float:
    """The power of two that was printed in rounded units; 0 stays 0."""
    return 2.0 ** round(math.log2(printed_us)) if printed_us > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """A printed number beside the same computed again."""

    fact: Fact
    formula: str
    recomputed: str
    value: float | None  # None where only bounds can be computed
    reproduces: bool

    @property
    def remark(self) -> str:
        if self.reproduces:
            return "reproduces; disputed for another reason" if self.fact.disputed else "reproduces"
        return "does not reproduce: disputed" if self.fact.disputed else "does not reproduce"


def checks_of(study: Study) -> tuple[Check, ...]:
    """Everything of the study that can be computed again from its other numbers."""
    makers = {
        "thumbtack-2014": _scaling_checks,
        "aerospike-2017": _ratio_checks,
        "vari-2013": _console_checks,
        "columbia-2016": _load_checks,
    }
    return tuple(makers[study.slug](study)) if study.slug in makers else ()


def rounds_to(value: float, printed: str, decimals: int) -> bool:
    """Whether `value`, rounded half up to so many decimals, is the printed number."""
    step = Decimal(1).scaleb(-decimals)
    return Decimal(f"{value:.9f}").quantize(step, ROUND_HALF_UP) == Decimal(printed).quantize(step)


def _check(fact: Fact, formula: str, value: float, decimals: int) -> Check:
    return Check(
        fact, formula, formatting.grouped(value, decimals + 2), value, rounds_to(value, fact.printed, decimals)
    )


def _scaling_checks(study: Study) -> Iterator[Check]:
    """s6, s8 and E of each database and workload by `score` (analysis 3)."""
    printed = {(fact.workload, fact.database, fact.metric): fact for fact in study.facts}
    for (workload, database), sizes in throughputs_by_nodes(study).items():
        scaling = score(sizes)
        if scaling is None:
            continue
        values = {f"scaling_4_to_{nodes}": gain for nodes, gain in scaling.gains.items()}
        texts = {f"scaling_4_to_{nodes}": f"T{nodes} / T4 {MINUS} 1" for nodes in scaling.gains}
        for metric, value in {**values, "average_efficiency": scaling.score}.items():
            formula = texts.get(metric, "mean of s6 / 50 % and s8 / 100 %")
            yield _check(printed[workload, database, metric], formula, 100 * value, 2)


def throughputs_by_nodes(study: Study) -> dict[tuple[str, str], dict[int, float]]:
    """The greatest throughput (ops/s) of each workload and database by number of nodes."""
    wanted = [fact for fact in study.facts if fact.metric == "max_throughput" and fact.nodes.isdigit()]

    def which(fact: Fact) -> tuple[str, str]:
        return fact.workload, fact.database

    order = {which(fact): number for number, fact in reversed(list(enumerate(wanted)))}
    wanted.sort(key=lambda fact: order[which(fact)])
    return {key: {int(fact.nodes): fact.value for fact in group} for key, group in groupby(wanted, key=which)}


def _ratio_checks(study: Study) -> Iterator[Check]:
    """Ratios as B/A of what is lower and A/B of what is higher for the better (analysis 4.1), and simple arithmetic."""

    def fact(number: int) -> Fact:
        return study.fact(f"{study.key}-{number:03d}")

    for ratio, above, below, decimals in _RATIOS:
        top, bottom = fact(above), fact(below)
        formula = f"{_digits(top)} / {_digits(bottom)}"
        yield _check(fact(ratio), formula, top.value / bottom.value, decimals)
    difference = fact(56).value - fact(80).value
    yield _check(fact(82), f"{fact(56).printed} {MINUS} {fact(80).printed} µs", difference, 0)
    for share, part, whole in ((55, 54, 1), (58, 57, 2)):
        formula = f"{_digits(fact(part))} / {_digits(fact(whole))}"
        yield _check(fact(share), formula, 100 * fact(part).value / fact(whole).value, 2)
    yield _check(fact(43), "1,000 / 215 million records", 1000 / 215, 0)
    yield _check(fact(44), f"{fact(43).printed} {TIMES} {fact(45).printed}", fact(43).value * fact(45).value, 1)


def _digits(fact: Fact) -> str:
    return formatting.exact(fact.value) if fact.value < 1000 else formatting.grouped(fact.value)


def _console_checks(study: Study) -> Iterator[Check]:
    """The console output against its own counts and buckets (analysis 6 and 11)."""
    operations, runtime, total = study.fact("iv13-011"), study.fact("iv13-009"), study.fact("iv13-041")
    yield _exact(study.fact("iv13-010"), "operations / run time", 1000 * operations.value / runtime.value)
    answered = study.fact("iv13-018").value + study.fact("iv13-019").value
    yield _exact(operations, f"return codes 0 and {MINUS}1 added", answered)
    buckets = [bucket for bucket in buckets_of(study) if bucket.high_us is not None]
    for identity, (name, share) in _SHARES.items():
        yield _percentile_check(study.fact(identity), name, bucket_of(buckets, share))
    mean, least, most = (study.fact(f"iv13-{number:03d}") for number in (12, 13, 14))
    low, high = mean_bounds(buckets, least.microseconds or 0.0, most.microseconds or 0.0)
    text = formatting.latency_between(low, high)
    yield Check(mean, "bounds of the mean by the buckets", text, None, low <= mean.value <= high)
    for share_id, rate_id in (("iv13-042", "iv13-043"), ("iv13-044", "iv13-045")):
        rate = study.fact(rate_id)
        formula = f"{_digits(rate)} / {_digits(total)}"
        yield _check(study.fact(share_id), formula, 100 * rate.value / total.value, 0)


def _percentile_check(fact: Fact, name: str, bucket: Bucket | None) -> Check:
    printed_us = fact.microseconds or 0.0
    if bucket is None or bucket.high_us is None:
        return Check(fact, f"bucket of {name}", formatting.NOTHING, None, False)
    text = formatting.latency_between(bucket.low_us, bucket.high_us)
    return Check(fact, f"bucket of {name}", text, None, bucket.low_us < printed_us <= bucket.high_us)


def _load_checks(study: Study) -> Iterator[Check]:
    """Throughput as operations over run time, to the last digit (V23)."""
    by_metric = {(fact.database, fact.metric): fact for fact in study.facts}
    for fact in study.facts:
        if fact.metric == "throughput":
            inserted, runtime = (by_metric[fact.database, name] for name in ("insert_operations", "runtime"))
            yield _exact(fact, "inserts / run time", 1000 * inserted.value / runtime.value)


def _exact(fact: Fact, formula: str, value: float) -> Check:
    return Check(fact, formula, f"{formatting.exact(value)}", value, abs(value - fact.value) <= 1e-12 * abs(fact.value))
