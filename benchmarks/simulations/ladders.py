"""How often ceilings, ends of ladders, best sets and knees are right, by simulation.

`manage.py interval_coverage ceilings|ends|bests|knees` prints the tables that docs/evidence/comparisons.md quotes.
Every case draws its ladders from a seeded generator of its own and asks the functions that the pages ask.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchsite.core.formatting import exact, grouped
from reports.compare.analysis.best import rank_sides
from reports.compare.analysis.ceiling import Ceiling, Rung, thread_ceiling
from reports.compare.analysis.knee import power_knee
from reports.compare.analysis.looks import Look
from reports.compare.analysis.ratios import Floats

LADDERS: Final = 1000
SEED: Final = 20261122
# Throughput of doubling threads, as shares of the highest. In GROWING the last rung still gains 5 % or more.
FLAT: Final = {
    "flat top, 3 rungs": (0.25, 0.5, 1.0, 1.0, 1.0),
    "flat top, 6 rungs": (0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "flat top, 10 rungs": (0.5, *[1.0] * 10),
    "peak, neighbours 3 % lower": (0.3, 0.55, 0.85, 0.97, 1.0, 0.97, 0.9),
    "peak, neighbours 10 % lower": (0.3, 0.55, 0.9, 1.0, 0.9),
}
GROWING: Final = {
    "5 % per doubling throughout": tuple(1.05 ** (i - 6) for i in range(7)),
    "5 % in the last doubling": tuple(x / 3.003 for x in (1.0, 1.5, 2.0, 2.6, 2.86, 3.003)),
    "10 % per doubling throughout": tuple(1.1 ** (i - 6) for i in range(7)),
    "30 % per doubling throughout": tuple(1.3 ** (i - 6) for i in range(7)),
}
# Ladders by their gains per doubling of the threads. Power P = X² / N grows where a doubling gains more than √2 - 1.
LEVEL: Final = math.sqrt(2) - 1
NO_KNEE: Final = {
    "60 % per doubling throughout": (0.6,) * 7,
    "41 % per doubling throughout: power is level": (LEVEL,) * 7,
    "30 % per doubling throughout": (0.3,) * 7,
    "power is level in the first doubling": (LEVEL, 0.3, 0.2, 0.1, 0.05),
    "power is level in the last doubling": (0.9, 0.8, 0.6, LEVEL),
}
KNEE: Final = {
    "Universal Scalability Law, peak at 160 threads": (0.96, 0.92, 0.86, 0.74, 0.58, 0.37, 0.16, -0.04),
    "bottleneck at 13 times one thread": (1.0, 1.0, 0.9, 0.5, 0.1, 0.02),
    "slow bend": (0.9, 0.6, 0.45, 0.38, 0.2, 0.05),
}
LOOKS: Final = (3, 5, 9)  # of a plan that asks for the best set while repeats are added
# The standard deviations of a run and of a pass over the ladder, as shares.
NOISES: Final = ((0.01, 0.0), (0.03, 0.0), (0.05, 0.0), (0.01, 0.05), (0.03, 0.03))


def ladders(
    shape: Sequence[float], n: int, run: float, level: float, *, ladders: int, seed: int
) -> Iterator[list[Rung]]:
    """Lognormal ladders of that shape with n repeats, each pass over the ladder shifted as a whole."""
    random = np.random.default_rng([seed, len(shape), n, round(1e4 * run), round(1e4 * level)])
    logs = np.log(np.asarray(shape)) + math.log(10_000)
    for _ in range(ladders):
        noise = random.normal(0.0, run, (n, len(shape))) + random.normal(0.0, level, (n, 1))
        values = np.exp(logs + noise).T
        means = np.exp(np.log(values).mean(axis=1))
        yield [
            Rung(2**i, float(means[i]), repeats_ops_s=tuple(row), repeats=tuple(range(n)))
            for i, row in enumerate(values.tolist())
        ]


def ceilings(shape: Sequence[float], n: int, noise: tuple[float, float], count: int, seed: int) -> list[Ceiling]:
    estimates = (thread_ceiling(ladder) for ladder in ladders(shape, n, *noise, ladders=count, seed=seed))
    return [ceiling for ceiling in estimates if ceiling]


@dataclass(frozen=True, slots=True)
class CeilingRate:
    """Shares of the true ceiling, and of the simulated ladders."""

    bias_of_highest: float
    bias: float
    held: float  # by the 95 % interval
    width: float  # of the interval, median


def ceiling_rate(
    shape: Sequence[float], n: int, noise: tuple[float, float], count: int = LADDERS, seed: int = SEED
) -> CeilingRate:
    estimates, true = ceilings(shape, n, noise, count, seed), 10_000 * max(shape)
    ends = [(ceiling.low_ops_s or math.nan, ceiling.high_ops_s or math.nan) for ceiling in estimates]
    return CeilingRate(
        bias_of_highest=float(np.mean([ceiling.highest_ops_s for ceiling in estimates])) / true - 1,
        bias=float(np.mean([ceiling.throughput_ops_s for ceiling in estimates])) / true - 1,
        held=float(np.mean([low <= true <= high for low, high in ends])),
        width=float(np.median([high - low for low, high in ends])) / true,
    )


def end_rates(
    shape: Sequence[float], n: int, noise: tuple[float, float], count: int = LADDERS, seed: int = SEED
) -> tuple[float, float]:
    """The shares of ladders whose end is called saturated, and too short."""
    estimates = ceilings(shape, n, noise, count, seed)
    return (
        float(np.mean([ceiling.is_bracketed for ceiling in estimates])),
        float(np.mean([ceiling.is_lower_bound for ceiling in estimates])),
    )


@dataclass(frozen=True, slots=True)
class KneeRate:
    reported: float  # of all ladders
    near: float  # of all ladders: reported within one rung of the knee of the ladder without noise


def knee_rate(gains: Sequence[float], n: int, cv: float, count: int = LADDERS, seed: int = SEED) -> KneeRate:
    shape = np.cumprod([1.0, *(1 + gain for gain in gains)])
    true = power_knee([Rung(2**i, 10_000 * float(share)) for i, share in enumerate(shape)])
    knees = [power_knee(ladder) for ladder in ladders(shape.tolist(), n, cv, 0.0, ladders=count, seed=seed)]
    threads = [knee.threads for knee in knees if knee and knee.reached]
    near = [true is not None and true.threads / 2 <= value <= true.threads * 2 for value in threads]
    return KneeRate(len(threads) / count, sum(near) / count)


@dataclass(frozen=True, slots=True)
class BestRate:
    held: float  # the true best is in the set, where all sides are equally fast
    excluded: float  # sides 20 % slower than the only best


def best_set(*arguments: Any, **more: Any) -> list[bool | None]:
    """For each side whether it belongs to the set; arguments of `rank_sides`."""
    return [rank.is_member for rank in rank_sides(*arguments, **more)]


def best_rate(sides: int, n: int, cvs: Sequence[float], count: int = LADDERS, seed: int = SEED) -> BestRate:
    """`cvs`: of the best side, and of all others, alternating."""
    random = np.random.default_rng([seed, sides, n, *(round(1e4 * cv) for cv in cvs)])
    held, excluded = 0, 0
    for _ in range(count):
        noise = random.normal(0.0, 1.0, (sides, n)) * _cvs(sides, cvs)
        held += best_set(np.exp(noise).tolist())[0] is True
        noise[1:] += math.log(0.8)
        excluded += best_set(np.exp(noise).tolist())[1:].count(False)
    return BestRate(held / count, excluded / count / (sides - 1))


def best_look_rate(sides: int, cvs: Sequence[float], count: int = LADDERS, seed: int = SEED) -> float:
    """The share in which the true best is in the set at every one of `LOOKS`, where all sides are equally fast."""
    random = np.random.default_rng([seed, sides, *(round(1e4 * cv) for cv in cvs)])
    levels = {n: Look(LOOKS, n).level for n in LOOKS}
    held = 0
    for _ in range(count):
        values = np.exp(random.normal(0.0, 1.0, (sides, LOOKS[-1])) * _cvs(sides, cvs))
        held += all(best_set(values[:, :n].tolist(), level)[0] for n, level in levels.items())
    return held / count


def _cvs(sides: int, cvs: Sequence[float]) -> Floats:
    return np.asarray([cvs[0], *(cvs[1 + i % (len(cvs) - 1)] for i in range(sides - 1))])[:, None]


# --- The tables ---


def _percent(share: float, digits: int = 1) -> str:
    return f"{grouped(100 * share, digits)} %"


def _noise_text(noise: tuple[float, float]) -> str:
    return f"{exact(100 * noise[0])} % | {exact(100 * noise[1])} %"


CEILING_N: Final = (2, 3, 4, 5)
CEILINGS_HEADER: Final = (
    "| true shape | run CV | session sd | bias of the highest, n = 3 | bias of the estimate | "
    "interval holds (width), n = 2 | n = 3 | n = 4 | n = 5 |\n|---|---|---|---|---|---|---|---|---|"
)


def ceiling_row(name: str, noise: tuple[float, float], count: int = LADDERS, seed: int = SEED) -> str:
    rates = {n: ceiling_rate({**FLAT, **GROWING}[name], n, noise, count, seed) for n in CEILING_N}
    cells = " | ".join(f"{_percent(rate.held)} ({_percent(rate.width)})" for rate in rates.values())
    bias = f"{_percent(rates[3].bias_of_highest)} | {_percent(rates[3].bias)}"
    return f"| {name} | {_noise_text(noise)} | {bias} | {cells} |"


def ceiling_rows(count: int, seed: int) -> Iterator[str]:
    yield CEILINGS_HEADER
    yield from (ceiling_row(name, noise, count, seed) for name in (*FLAT, *list(GROWING)[1:3]) for noise in NOISES)


END_N: Final = (1, 2, 3, 5)
ENDS_HEADER: Final = (
    "| true end | run CV | session sd | called saturated, n = 1 | n = 2 | n = 3 | n = 5 | "
    "called too short, n = 1 | n = 2 | n = 3 | n = 5 |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def end_row(name: str, noise: tuple[float, float], count: int = LADDERS, seed: int = SEED) -> str:
    shape = {**FLAT, **GROWING}[name]
    rates = zip(*(end_rates(shape, n, noise, count, seed) for n in END_N), strict=True)
    cells = " | ".join(_percent(share) for shares in rates for share in shares)
    return f"| {name} | {_noise_text(noise)} | {cells} |"


def end_rows(count: int, seed: int) -> Iterator[str]:
    yield ENDS_HEADER
    yield from (end_row(name, noise, count, seed) for name in (*GROWING, *FLAT) for noise in NOISES)


KNEE_N: Final = (1, 2, 3, 4, 5)
KNEES_HEADER: Final = (
    "| gains per doubling | CV | knee reported (within one rung of the true one), n = 1 "
    "| n = 2 | n = 3 | n = 4 | n = 5 |\n|---|---|---|---|---|---|---|"
)


def knee_row(name: str, cv: float, count: int = LADDERS, seed: int = SEED) -> str:
    rates = [knee_rate({**NO_KNEE, **KNEE}[name], n, cv, count, seed) for n in KNEE_N]
    near = [f" ({_percent(rate.near)})" if name in KNEE else "" for rate in rates]
    cells = " | ".join(_percent(rate.reported) + share for rate, share in zip(rates, near, strict=True))
    return f"| {name} | {exact(100 * cv)} % | {cells} |"


def knee_rows(count: int, seed: int) -> Iterator[str]:
    yield KNEES_HEADER
    yield from (knee_row(name, cv, count, seed) for name in (*NO_KNEE, *KNEE) for cv in (0.01, 0.03, 0.05))


BESTS: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (
    ("3 %", (0.03, 0.03)),
    ("5 %", (0.05, 0.05)),
    ("1 % and 5 %", (0.05, 0.01, 0.05)),
    ("5 %, others 1 %", (0.05, 0.01)),
)
BESTS_HEADER: Final = (
    "| sides | run CV | true best in the set, n = 2 | n = 3 | n = 5 | at looks after 3, 5 and 9 | "
    "20 % slower excluded, n = 2 | n = 3 | n = 5 |\n|---|---|---|---|---|---|---|---|---|"
)


def best_row(sides: int, name: str, cvs: Sequence[float], count: int = LADDERS, seed: int = SEED) -> str:
    drawn = max(count * 2 // sides, count // 8)
    rates = [best_rate(sides, n, cvs, drawn, seed) for n in (2, 3, 5)]
    held = [*(rate.held for rate in rates), best_look_rate(sides, cvs, drawn, seed)]
    cells = [_percent(share) for share in (*held, *(rate.excluded for rate in rates))]
    return f"| {sides} | {name} | {' | '.join(cells)} |"


def best_rows(count: int, seed: int) -> Iterator[str]:
    yield BESTS_HEADER
    yield from (best_row(sides, *case, count, seed) for sides in (2, 3, 10, 40) for case in BESTS)


TABLES: Final[dict[str, Callable[[int, int], Iterator[str]]]] = {
    "ceilings": ceiling_rows,
    "ends": end_rows,
    "bests": best_rows,
    "knees": knee_rows,
}
