"""How often the statistical checks fire where nothing is wrong, and how often where something is: on made-up runs.

Every case draws runs from a seeded generator and asks the check itself, with the thresholds of purpose `measured`.
`manage.py false_alarms` prints the table that docs/evidence/checks-simulated.md quotes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from benchsite.core.formatting import exact
from runs.checks import (
    ClientFacts,
    ClusterFacts,
    OperationFacts,
    OverTime,
    RunFacts,
    judge_ladder,
    judge_run,
    profile,
)
from runs.checks.environment import KEY_BYTES
from runs.results.measures.coordinated_omission import throttled_thread
from runs.ycsb.duplicate_outputs import collect_numbers, find_copies
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.failure_symptoms import describe, find_symptoms
from runs.ycsb.histogram import Floats
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadRun

Random = np.random.Generator
MadeUpLadder = list[tuple[str, list[float]]]  # what each rung asked for, and the throughput of its repeats
SEED: Final = 20_260
FIRES: Final = frozenset({"info", "warn", "reject"})


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of run. Healthy: the check fires in at most `limit` of them; faulty: in at least `limit`."""

    check_id: str
    label: str
    healthy: bool
    limit: float
    make: Callable[[Random], RunFacts | MadeUpLadder]


@dataclass(frozen=True, slots=True)
class Rate:
    """In which share of its runs a case's check fired."""

    case: Case
    runs: int
    share: float

    @property
    def is_kept(self) -> bool:
        """Whether it is within its limit, but for three standard deviations of so few runs."""
        limit = self.case.limit
        chance = 3 * math.sqrt(limit * (1 - limit) / self.runs)
        return self.share <= limit + chance if self.case.healthy else self.share >= limit - chance


def rates(runs: int, seed: int = SEED) -> Iterator[Rate]:
    """The rate of every case over that many runs; one seed, one answer."""
    thresholds = profile("measured")
    for number, case in enumerate(CASES):
        random = np.random.default_rng([seed, number])
        fired = 0
        for _ in range(runs):
            made = case.make(random)
            findings = judge_run(made, thresholds) if isinstance(made, RunFacts) else [judge_ladder(made)]
            fired += any(finding.check_id == case.check_id and finding.severity in FIRES for finding in findings)
        yield Rate(case, runs, fired / runs)


# --- Made-up runs ---


def _run(**changes: object) -> RunFacts:
    """A run of which only what a case changes is known."""
    bare = RunFacts(
        phase="measure", threads=None, target_ops_s=None, clients_expected=1, clients=(), missing=(), window_s=180.0,
        window_asked_s=None, operations=(), total_operations=None, ok_operations=None, failed_operations=None,
        throughput_ops_s=None,
    )  # fmt: skip
    return replace(bare, **changes)  # type: ignore[arg-type]


def noise(random: Random, seconds: int, variation: float, memory: float = 0.5) -> Floats:
    """A second-by-second throughput around 1: normal, each second resembling the one before by `memory`."""
    drawn = random.normal(0.0, 1.0, seconds)
    values = np.empty(seconds)
    values[0] = drawn[0]
    for second in range(1, seconds):
        values[second] = memory * values[second - 1] + np.sqrt(1 - memory**2) * drawn[second]
    return np.maximum(1 + variation * values, 0.0)


def _over_time(warmup_s: int, rate: Floats) -> RunFacts:
    return _run(over_time=OverTime(warmup_s, (1000 * rate).tolist()), rate_ops_s=(1000 * rate[warmup_s:]).tolist())


def _warming(random: Random, warmup_s: int, measure_s: int, variation: float, warm_after_s: int) -> RunFacts:
    """Throughput that comes up to 98 % within `warm_after_s`."""
    seconds = warmup_s + measure_s
    up = 1 - np.exp(-4 * (np.arange(seconds) + 1) / warm_after_s)
    return _over_time(warmup_s, up * noise(random, seconds, variation))


def _drifting(random: Random, share: float) -> RunFacts:
    return _over_time(0, np.linspace(1 - share / 2, 1 + share / 2, 180) * noise(random, 180, 0.05))


def _dips(random: Random) -> RunFacts:
    """Every 30 s three seconds at half the throughput, as a checkpoint makes them."""
    rate = noise(random, 180, 0.02)
    rate[np.arange(180) % 30 < 3] *= 0.5
    return _over_time(0, rate)


def _counted(random: Random, per_second: float, stall_s: int) -> RunFacts:
    """Operations that arrive by chance, none of them in `stall_s` seconds in the middle."""
    counts = random.poisson(per_second, 300).astype(np.float64)
    counts[150 : 150 + stall_s] = 0
    return _run(
        over_time=OverTime(0, counts.tolist()),
        rate_ops_s=counts.tolist(),
        operations=(OperationFacts("READ", ok=int(counts.sum()), max_us=50_000.0),),
    )


def _mixed(random: Random, operations: int, reads: float) -> RunFacts:
    """A workload of 95 % reads and 5 % updates of which `reads` were done."""
    read = int(random.binomial(operations, reads))
    done = (OperationFacts("READ", ok=read), OperationFacts("UPDATE", ok=operations - read))
    return _run(proportions={"READ": 0.95, "UPDATE": 0.05}, total_operations=operations, operations=done)


def _failing(random: Random, share: float) -> RunFacts:
    return _run(total_operations=100_000, failed_operations=int(random.binomial(100_000, share)))


def _offered(random: Random, reached: float) -> RunFacts:
    """A target of 1,000 ops/s over 60 s, of which this share was reached but for what starting and ending cost."""
    done = 60_000 * reached - random.uniform(0, 300)
    return _run(target_ops_s=1000.0, throughput_ops_s=done / 60)


def _answering(random: Random) -> RunFacts:
    """A kept target: response times of some milliseconds, and in one second of a hundred a pause of up to 200 ms."""
    response = 2000 * random.lognormal(0.0, 0.5, 180)
    response += np.where(random.random(180) < 0.01, random.uniform(0, 200_000, 180), 0.0)
    return _run(target_ops_s=1000.0, throughput_ops_s=999.0, over_time=OverTime(0, [1.0], (), response.tolist()))


def _overloaded(random: Random, deficit: float) -> RunFacts:
    """One thread that is to do 100 operations a second, of a database that does this share less."""
    interval_us = 10_000.0
    service = random.exponential(interval_us / (1 - deficit), 18_000)
    ends, response = throttled_thread(service.tolist(), interval_us)
    second = (ends / 1e6).astype(np.int64)
    kept = second < 180
    means = np.bincount(second[kept], response[kept], 180) / np.maximum(np.bincount(second[kept], minlength=180), 1)
    reached = float(kept.sum()) / 180
    return _run(target_ops_s=100.0, throughput_ops_s=reached, over_time=OverTime(0, [1.0], (), means.tolist()))


def _clients(random: Random, slowest: float) -> RunFacts:
    """Four clients of nearly equal strength, one of them at this share of it, 5,000 operations each."""
    speeds = random.normal(1.0, 0.02, 4) * np.array([1.0, 1.0, 1.0, slowest])
    done = random.poisson(5000 * np.maximum(speeds, 0.0)) / 60
    clients = tuple(ClientFacts(number, throughput_ops_s=float(throughput)) for number, throughput in enumerate(done))
    return _run(clients=clients, clients_expected=4)


def _copied(random: Random, digits: int, moved_us: float = 0.0) -> RunFacts:
    """Two clients of 60 s at a target of 1,000 ops/s each; the second is the first with so many digits changed and all
    latencies moved, or, below 0, another client.
    """
    first = _client_output(random)
    second = _client_output(random) if digits < 0 else _with_changes(random, _moved(first, moved_us), digits)
    copies = find_copies({number: collect_numbers(run, ()) for number, run in enumerate((first, second))})
    clients = tuple(ClientFacts(number, evidence=ClientEvidence(copy_of=copies.get(number))) for number in range(2))
    return _run(clients=clients, clients_expected=2)


def _client_output(random: Random) -> ReadRun:
    """The summary of 60,000 reads and updates, as YCSB rounds it."""
    reads = int(random.binomial(60_000, 0.5))
    operations = {}
    for name, count in (("READ", reads), ("UPDATE", 60_000 - reads)):
        values = np.floor(random.lognormal(6.0, 0.4, count))
        p95, p99 = np.percentile(values, (95, 99), method="higher")
        operations[name] = ReadOperation(
            count=count, mean_us=float(values.mean()), min_us=float(values.min()), max_us=float(values.max()),
            percentiles_us={"95": float(p95), "99": float(p99)},
        )  # fmt: skip
    runtime_ms = float(random.integers(60_000, 60_040))
    return ReadRun("ycsb-text", "measure", runtime_ms, 60_000 / runtime_ms * 1000, operations=operations)


def _moved(run: ReadRun, moved_us: float) -> ReadRun:
    operations = {
        name: replace(
            operation,
            percentiles_us={key: value + moved_us for key, value in operation.percentiles_us.items()},
            **{
                key: value + moved_us
                for key in ("mean_us", "min_us", "max_us")
                if (value := getattr(operation, key)) is not None
            },
        )
        for name, operation in run.operations.items()
    }
    return replace(run, operations=operations)


def _with_changes(random: Random, run: ReadRun, digits: int) -> ReadRun:
    """The same run with one digit changed in each of so many of its means, maxima and counts."""
    operations = dict(run.operations)
    fields = [(name, field) for name in operations for field in ("mean_us", "max_us", "count")]
    for at in random.permutation(len(fields))[:digits]:
        name, field = fields[at]
        value = getattr(operations[name], field)
        changes = {field: type(value)(value + 10 ** int(random.integers(0, 3)))}
        operations[name] = replace(operations[name], **changes)
    return replace(run, operations=operations)


def _stating(random: Random, is_alike: bool) -> RunFacts:
    """Two clients whose command lines state some of a workload's properties, numbers written in different ways; where
    they are not alike, both state the one in which they differ.
    """
    zipfian = {"requestdistribution": "zipfian"}
    workload = {"recordcount": "1000000", "fieldlength": "100", "readproportion": "0.5", **zipfian}
    written = {
        "recordcount": "1000000.0",
        "fieldlength": "1e2",
        "readproportion": "0.50",
        "requestdistribution": "Zipfian",
    }
    other = {"recordcount": "100000", "fieldlength": "1000", "readproportion": "0.95", "requestdistribution": "uniform"}
    names = list(workload)
    wrong = names[int(random.integers(len(names)))]
    first = {name: workload[name] for name in names if name == wrong or random.random() < 0.8}
    second = {name: written[name] for name in names if name == wrong or random.random() < 0.8}
    if not is_alike:
        second[wrong] = other[wrong]
    clients = tuple(ClientFacts(i, evidence=ClientEvidence(properties=each)) for i, each in enumerate((first, second)))
    return _run(clients=clients, clients_expected=2)


HEALTHY_LINES: Final = (
    'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".',
    "OpenJDK 64-Bit Server VM warning: Options -Xverify:none and -noverify were deprecated in JDK 13.",
    "DBWrapper: report latency for each error is false and specific error codes to track for latency are: []",
    "INFO: Cluster created with settings {hosts=[db:27017], serverSelectionTimeout='30000 ms', maxWaitQueueSize=500}",
    "Initializing generator...",
)
EXCEPTION_LINES: Final = (
    "com.mongodb.MongoTimeoutException: Timed out after 30000 ms while waiting for a server",
    "java.net.SocketTimeoutException: Read timed out",
    'Exception in thread "Thread-4" java.lang.NullPointerException',
    "Error inserting, not retrying any more. number of attempts: 1Insertion Retry Limit: 0",
    "redis.clients.jedis.exceptions.JedisConnectionException: Unexpected end of stream.",
)


def _writing(random: Random, exceptions: int) -> RunFacts:
    """A client of 60 s with its status lines on standard error, and so many lines of exceptions between them."""
    lines = [f"2026-01-01 00:00:{i:02d}:000 {i} sec: {1000 * i} operations; 1000 current ops/sec;" for i in range(60)]
    lines += [HEALTHY_LINES[i] for i in random.permutation(len(HEALTHY_LINES))[:3]]
    lines += [EXCEPTION_LINES[i] for i in random.integers(0, len(EXCEPTION_LINES), exceptions)]
    messages = [describe([symptom]) for symptom in find_symptoms([lines[i] for i in random.permutation(len(lines))])]
    return _run(clients=(ClientFacts(0, evidence=ClientEvidence(has_messages=True, messages=messages)),))


def _sized(random: Random, low_mib: float, high_mib: float) -> RunFacts:
    """Records of 100 B to 10 kB on 1 to 5 nodes, with as many copies as nodes, of a size between these."""
    record_bytes = float(random.uniform(100, 10_000))
    recordcount = int(random.uniform(low_mib, high_mib) * 2**20 / (record_bytes + KEY_BYTES))
    nodes = int(random.integers(1, 6))
    cluster = ClusterFacts(nodes=nodes, replication_factor=nodes)
    return _run(recordcount=recordcount, record_bytes=record_bytes, cluster=cluster)


def _threads(random: Random, stated: int) -> RunFacts:
    """Eight threads in a closed loop, 60 s of service times of 200 ms on average, said to be of `stated` threads."""
    service = random.exponential(200_000.0, (8, 600))
    ends = np.cumsum(service, axis=1) - random.uniform(0, 200_000.0, (8, 1))
    counted = service[(ends > 0) & (ends <= 60e6)]
    longest = float(np.sort(counted)[-stated:].sum())
    client = ClientFacts(0, covered_s=60.0, busy_us=float(counted.sum()))
    return _run(threads=stated, window_s=60.0, clients=(client,), longest_us=longest)


def _ladder(random: Random, truths: Sequence[Sequence[float]], variation: float, repeats: int) -> MadeUpLadder:
    """Normal repeats of rungs whose true throughput is one of these, in 1,000 ops/s."""
    truth = 1000 * np.array(truths[int(random.integers(len(truths)))])
    drawn = truth[:, None] * (1 + variation * random.normal(size=(len(truth), repeats)))
    return [(f"{2**i} threads", values.tolist()) for i, values in enumerate(drawn)]


def _ladders() -> Iterator[Case]:
    """Curves of one peak at most, then such with one rung that is too low."""
    flat, rising, plateau = (5.0,) * 5, tuple(2.0**i for i in range(6)), (1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0)
    shapes = {
        "flat": flat, "flat up to the last": (*flat, 15.0), "rising": rising, "up to a plateau": plateau,
        "peaked": (1.0, 2.0, 4.0, 5.0, 4.5, 4.0),
    }  # fmt: skip
    for repeats in (1, 2, 3):
        for name, truth in shapes.items():
            make = partial(_ladder, truths=[truth], variation=0.05, repeats=repeats)
            yield Case("V26", f"{name}, {len(truth)} rungs, n = {repeats}, CV 5 %", True, 0.05, make)
        for variation in (0.01, 0.03):
            make = partial(_ladder, truths=[*shapes.values()], variation=variation, repeats=repeats)
            yield Case("V26", f"one of these, n = {repeats}, CV {exact(100 * variation)} %", True, 0.05, make)
    for low, repeats, limit in ((0.7, 1, 0.95), (0.8, 1, 0.5), (0.8, 2, 0.95), (0.85, 3, 0.9)):
        truth = (*plateau[:5], low * 5.0, *plateau[6:])
        label = f"a rung of the plateau {exact(100 * (1 - low))} % low, n = {repeats}, CV 3 %"
        yield Case("V26", label, False, limit, partial(_ladder, truths=[truth], variation=0.03, repeats=repeats))


CASES: Final[tuple[Case, ...]] = (
    Case("V01", "8 threads, 60 s, service 200 ms", True, 0.01, lambda random: _threads(random, 8)),
    Case("V01", "the same, said to be 6 threads", False, 0.99, lambda random: _threads(random, 6)),
    Case("V07", "0.05 % of 100,000 fail", True, 0.01, lambda random: _failing(random, 0.0005)),
    Case("V07", "0.2 % of 100,000 fail", False, 0.99, lambda random: _failing(random, 0.002)),
    Case("V08", "95/5 as asked, 2,000 operations", True, 0.01, lambda random: _mixed(random, 2_000, 0.95)),
    Case("V08", "95/5 as asked, 1,000,000 operations", True, 0.01, lambda random: _mixed(random, 1_000_000, 0.95)),
    Case("V08", "93/7 instead, 100,000 operations", False, 0.99, lambda random: _mixed(random, 100_000, 0.93)),
    Case("V09", "target reached but for start and end", True, 0.01, lambda random: _offered(random, 1.0)),
    Case("V09", "93 % of the target reached", False, 0.99, lambda random: _offered(random, 0.93)),
    Case("V10", "target kept, pauses of up to 200 ms", True, 0.01, _answering),
    Case("V10", "3 % more offered than can be done, 180 s", False, 0.99, lambda random: _overloaded(random, 0.03)),
    Case("V11", "warm after 20 of 60 s, 180 s, CV 5 %", True, 0.02, lambda random: _warming(random, 60, 180, 0.05, 20)),
    Case("V11", "warm at once, 60 s, CV 5 %", True, 0.06, lambda random: _warming(random, 5, 60, 0.05, 1)),
    Case("V11", "warm after 20 of 60 s, 180 s, CV 8 %", True, 0.04, lambda random: _warming(random, 60, 180, 0.08, 20)),
    Case("V11", "warm after 150 s, 60 s cut off", False, 0.99, lambda random: _warming(random, 60, 180, 0.02, 150)),
    Case("V11", "drifts by 10 % in 180 s, CV 5 %", False, 0.95, lambda random: _drifting(random, 0.10)),
    Case("V12", "180 s, CV 2 %", True, 0.01, lambda random: _over_time(0, noise(random, 180, 0.02))),
    Case("V12", "180 s, CV 5 %", True, 0.05, lambda random: _over_time(0, noise(random, 180, 0.05))),
    Case("V12", "180 s, CV 15 %", False, 0.99, lambda random: _over_time(0, noise(random, 180, 0.15))),
    Case("V12", "3 s in 30 at half, CV 2 %", False, 0.99, _dips),
    Case("V13", "300 s, 20 ops/s by chance", True, 0.01, lambda random: _counted(random, 20.0, 0)),
    Case("V13", "nothing for 2 s", False, 0.99, lambda random: _counted(random, 1000.0, 2)),
    Case("V15", "4 equal clients, 5,000 operations each", True, 0.01, lambda random: _clients(random, 1.0)),
    Case("V15", "one of 4 clients at 70 %", False, 0.99, lambda random: _clients(random, 0.70)),
    *_ladders(),
    Case("V27", "2 clients at one target, 60,000 operations each", True, 0.001, lambda random: _copied(random, -1)),
    Case("V27", "one client twice, 1 digit changed", False, 0.999, lambda random: _copied(random, 1)),
    Case("V27", "one client twice, 4 digits changed", False, 0.95, lambda random: _copied(random, 4)),
    Case("V27", "one client twice, latencies 1 µs higher", False, 0.999, lambda random: _copied(random, 0, 1.0)),
    Case("V28", "2 clients, one workload in other writing", True, 0.001, lambda random: _stating(random, True)),
    Case("V28", "2 clients, another value of one property", False, 0.999, lambda random: _stating(random, False)),
    Case("V29", "status lines and usual warnings", True, 0.001, lambda random: _writing(random, 0)),
    Case("V29", "one exception between them", False, 0.999, lambda random: _writing(random, 1)),
    Case("V30", "70 MiB to 64 GiB on each node", True, 0.001, lambda random: _sized(random, 70, 65_536)),
    Case("V30", "1 to 63 MiB on each node", False, 0.999, lambda random: _sized(random, 1, 63)),
    Case("V31", "target reached but for start and end", True, 0.001, lambda random: _offered(random, 1.0)),
    Case("V31", "a backlog of 5 % of the window made up for", False, 0.99, lambda random: _offered(random, 1.05)),
)
