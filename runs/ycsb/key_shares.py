"""How much of a workload's requests the hottest keys get: computed from YCSB's generators as they are. Pure.

YCSB's zipfian distribution draws a rank out of ten thousand million and hashes it onto the keys, so a key gets the sum
of many ranks, and its skew depends on the number of keys (YCSB#1495). Here the popular ranks are hashed as YCSB does.
Where that takes too long, as many random ranks are given to a sample of the keys.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from runs.ycsb.command import TAIL_S, operation_count
from runs.ycsb.keys import hash_numbers
from runs.ycsb.properties import (
    DISTRIBUTION,
    EXACT_ZIPFIAN,
    MAX_INT,
    WORKLOAD_PROPERTIES,
    ZIPFIAN_CONSTANT,
    inserts,
)

HOT_SHARE: Final = 0.01
HOT_KEYS: Final = 10
# `site.ycsb.generator.ScrambledZipfianGenerator`.
SCRAMBLED_RANKS: Final = 10**10 + 1
SCRAMBLED_CONSTANT: Final = 0.99
SCRAMBLED_ZETA: Final = 26.46902820178302
MAX_HASHED_KEYS: Final = 2**20
MIN_HASHED_RANKS: Final = 2**18
PLACES_PER_HASHED_RANK: Final = 16
SAMPLED_PLACES: Final = 2**18
# How many ranks a sampled place gets on average; the later ones are spread evenly enough.
RANKS_PER_SAMPLED_PLACE: Final = 4
BLOCK: Final = 2**16
ZETA_TERMS: Final = 10_000

Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class KeyShares:
    """The shares of the requests that the hottest 1 % of the keys (at least one) and the ten hottest keys get."""

    hottest_percent: float
    hottest_ten: float


def compute_key_shares(
    properties: Mapping[str, str], *, clients: int = 1, duration_s: int | None = None
) -> KeyShares | None:
    """The shares of a checked workload; of one that inserts, over the records that were loaded.

    None for a distribution that YCSB does not have.

    `clients` and `duration_s` are of a run: with `latest` and `exponential` each client that inserts has newest records
    of its own, and YCSB's zipfian keeps places for the records that a client might insert in its time.
    """
    values = {name: properties.get(name, known.default or "") for name, known in WORKLOAD_PROPERTIES.items()}
    heads, expected = 1, 0
    if inserts(properties):
        heads = clients
        if duration_s:
            expected = int(operation_count(properties, duration_s) * float(values["insertproportion"]) * 2)

    records = int(values["recordcount"])
    constant = float(values[ZIPFIAN_CONSTANT])
    match values[DISTRIBUTION]:
        case "zipfian":
            # YCSB has a place too many; Benchsite's client, which has other constants, has not.
            places = records + expected + (ZIPFIAN_CONSTANT not in properties)
            return compute_scrambled_shares(records, places, constant)
        case "latest":
            return _shares(records, _gray_shares(max(records - 1, 1), constant), heads)
        case "exponential":
            range_share = float(values["exponential.percentile"]) / 100
            range_records = float(values["exponential.frac"])
            rate = -math.log1p(-range_share) / (records * range_records)
            return _shares(records, lambda count: np.expm1(-rate * count) / math.expm1(-rate * records), heads)
        case "hotspot":
            hot = int(records * float(values["hotspotdatafraction"]))
            return _shares(records, _hotspot_shares(records, hot, float(values["hotspotopnfraction"])))
        case distribution if distribution == EXACT_ZIPFIAN:
            total = _zeta(records, constant)
            return _shares(records, lambda count: np.vectorize(_zeta)(count, constant) / total)
        case "uniform" | "sequential":
            return _shares(records, lambda count: count / records)

    return None


def find_key_shares(
    properties: Mapping[str, str], *, clients: int, warmup_s: int, measure_s: int | None
) -> KeyShares | None:
    """The shares of a run; None where the number of records is not stated.

    `clients` is 1 where all insert the same keys, as YCSB's do; `measure_s` is None for an upload.
    """
    records = properties.get("recordcount", "")
    if not records.isdecimal() or not 1 <= int(records) <= MAX_INT:
        return None
    duration_s = None
    if measure_s is not None:
        duration_s = warmup_s + measure_s + TAIL_S
    return compute_key_shares(properties, clients=clients, duration_s=duration_s)


# The share of the requests that so many of the hottest keys get.
ShareOfHottest = Callable[[Numbers], Numbers]


def _shares(records: int, share_of_hottest: ShareOfHottest, heads: int = 1) -> KeyShares:
    """`heads`: so many clients have keys of their own at each rank, and each an equal part of the requests."""
    hottest = []
    for keys in (_count_hot(records), min(HOT_KEYS, records)):
        ranks = keys / heads
        low, high = share_of_hottest(np.array([math.floor(ranks), math.ceil(ranks)], dtype=np.float64))
        hottest.append(float(low + (high - low) * (ranks - math.floor(ranks))))
    return KeyShares(*hottest)


def _count_hot(records: int) -> int:
    return max(math.floor(records * HOT_SHARE), 1)


def _hotspot_shares(records: int, hot: int, hot_share: float) -> ShareOfHottest:
    """Both sets are uniform; where one is empty YCSB cannot draw from it, and the other gets all."""
    sets = [(hot, hot_share), (records - hot, 1 - hot_share)]
    if 0 in (hot, records - hot):
        sets = [(records, 1.0)]
    (first, first_share), *rest = sorted(sets, key=lambda part: part[1] / part[0], reverse=True)

    def share(count: Numbers) -> Numbers:
        within = np.minimum(count, first) / first * first_share
        for size, size_share in rest:
            within = within + np.maximum(count - first, 0) / size * size_share
        return within

    return share


def _gray_shares(items: int, constant: float, zeta: float | None = None) -> ShareOfHottest:
    """The formula of Gray et al. (Quickly generating billion-record synthetic databases, 1994) as YCSB has it."""
    zeta = zeta or _zeta(items, constant)
    first, second = 1 / zeta, (1 + 0.5**constant) / zeta
    power = 1 - constant
    if items < 3:
        return lambda count: np.where(count < 1, 0.0, np.where(count < 2, first, 1.0))

    eta = (1 - (2 / items) ** power) / (1 - second)

    def share(count: Numbers) -> Numbers:
        by_formula = (np.power(count / items, power) - 1 + eta) / eta
        beyond = np.maximum(by_formula - second, 0)
        return np.where(count < 1, 0.0, np.where(count < 2, first, np.minimum(second + beyond, 1.0)))

    return share


@lru_cache(maxsize=1024)
def compute_scrambled_shares(keys: int, places: int, constant: float = SCRAMBLED_CONSTANT) -> KeyShares:
    """YCSB's zipfian ranks are hashed onto `places`, of which the first `keys` are taken; others are drawn again."""
    zeta = SCRAMBLED_ZETA
    if constant != SCRAMBLED_CONSTANT:
        zeta = _zeta(SCRAMBLED_RANKS, constant)
    share_of_first = _gray_shares(SCRAMBLED_RANKS, constant, zeta)
    if keys <= MAX_HASHED_KEYS:
        return _hash_ranks(keys, places, share_of_first)
    return _sample_places(keys, places, share_of_first)


def _hash_ranks(keys: int, places: int, share_of_first: ShareOfHottest) -> KeyShares:
    shares = np.zeros(keys)
    ranks = max(MIN_HASHED_RANKS, places // PLACES_PER_HASHED_RANK)
    for begin in range(0, ranks, BLOCK):  # Blocks fit a CPU's cache.
        end = min(begin + BLOCK, ranks)
        own = np.diff(share_of_first(np.arange(begin, end + 1, dtype=np.float64)))
        slots = hash_numbers(np.arange(begin, end, dtype=np.uint64)) % places
        taken = slots < keys
        shares += np.bincount(slots[taken], weights=own[taken], minlength=keys)

    shares += (1 - float(share_of_first(np.array([float(ranks)]))[0])) / places
    hot = _count_hot(keys)
    coldest = max(keys - max(hot, HOT_KEYS), 0)
    hottest = np.sort(np.partition(shares, coldest)[coldest:])[::-1]
    total = shares.sum()
    return KeyShares(float(hottest[:hot].sum() / total), float(hottest[:HOT_KEYS].sum() / total))


def _sample_places(keys: int, places: int, share_of_first: ShareOfHottest) -> KeyShares:
    """The first ranks have a place each, other places are like those of a sample, and keys are as uneven as places."""
    hot = _count_hot(places)
    alone = hot // 2
    last = min(RANKS_PER_SAMPLED_PLACE * places, SCRAMBLED_RANKS)
    first_ten = HOT_KEYS * places / keys
    of_first_ten, of_alone, of_last = share_of_first(np.array([first_ten, alone, last], dtype=np.float64))
    generator = np.random.default_rng(0)
    ranks = generator.integers(alone, last, size=SAMPLED_PLACES * (last - alone) // places).astype(np.float64)
    own = share_of_first(ranks + 1) - share_of_first(ranks)
    shares = np.bincount(generator.integers(SAMPLED_PLACES, size=ranks.size), weights=own, minlength=SAMPLED_PLACES)
    shares += (1 - of_last) / places
    coldest = SAMPLED_PLACES - SAMPLED_PLACES * (hot - alone) // places
    others = float(np.partition(shares, coldest)[coldest:].sum()) * places / SAMPLED_PLACES
    mean = float(shares.mean())
    return KeyShares(float(of_alone) + alone * mean + others, float(of_first_ten) + HOT_KEYS * mean)


def _zeta(count: float, constant: float) -> float:
    """The sum of i^-constant for i from 1 to `count`: added up, then by Euler and Maclaurin."""
    terms = int(min(count, ZETA_TERMS))
    total = float(np.power(np.arange(1, terms + 1, dtype=np.float64), -constant).sum())
    if count <= terms:
        return total
    ends = float(count**-constant - terms**-constant) / 2
    power = 1 - constant
    if abs(power) < 1e-9:
        return total + math.log(count / terms) + ends
    return total + float(count**power - terms**power) / power + ends
