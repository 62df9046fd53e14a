"""Outputs of clients to measure reading with: as long as wanted, with latencies as a database gives them."""

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from runs.ycsb.histogram import Ints, get_bucket_indices

CLIENTS: Final = 4
# Operations a second of one client, and their latencies: the median in µs and the spread of its logarithm.
OPERATIONS: Final = {"READ": (2_500, 350.0, 0.5), "UPDATE": (2_500, 500.0, 0.55)}
KINDS: Final = ("", "Intended-")
_DIFFERENT: Final = 250  # histograms of one operation; every second has one of them
_STARTED_S: Final = 1_700_000_000.127
_INNER: Final = struct.Struct(">iiiiqqd")
_OUTER: Final = struct.Struct(">ii")
_SEED: Final = 20_160_502


def write_logs(folder: Path, seconds: int) -> int:
    """Interval histograms of a run, a folder for each client; answers how many."""
    dice = np.random.default_rng(_SEED)
    number = 0
    for operation, (rate, median_us, spread) in OPERATIONS.items():
        histograms = [encoded(latencies(dice, rate, median_us, spread)) for _ in range(_DIFFERENT)]
        for client in range(CLIENTS):
            for kind in KINDS:
                path = folder / str(client) / f"{kind}{operation}.hdr"
                path.parent.mkdir(parents=True, exist_ok=True)
                number += _write_log(path, dice.choice(_DIFFERENT, seconds), histograms, client)
    return number


def write_status(folder: Path, seconds: int) -> None:
    """What each client of the same run says on its standard error: a line a second, and its summary in the end."""
    for client in range(CLIENTS):
        path = folder / str(client) / "client.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            file.writelines(status_lines(seconds))
            file.writelines(summary_lines(seconds))


def write_text(path: Path, megabytes: int) -> None:
    """A realistic text: long status lines, a driver that chatters now and then, a summary."""
    with path.open("w") as file:
        file.write("YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n")
        lines, second = status_lines(10**9), 0
        while file.tell() < megabytes << 20:
            file.writelines(line for line, _ in zip(lines, range(50), strict=False))
            second += 50
            file.write("16:13:47.463 [cluster1-nio-worker-2] WARN  c.d.d.core.Connection - heartbeat, [id 7, 8] late\n")
        file.writelines(summary_lines(second))


def write_points(path: Path, megabytes: int) -> int:
    """Raw points of one client in the order of their operations; answers how many."""
    dice = np.random.default_rng(_SEED)
    number = 0
    with path.open("w") as file:
        for operation, (rate, median_us, spread) in OPERATIONS.items():
            file.write(f"{operation} latency raw data: op, timestamp(ms), latency(us)\n")
            until = file.tell() + (megabytes << 19)
            now_ms = int(_STARTED_S * 1000)
            while file.tell() < until:
                drawn = latencies(dice, 20 * rate, median_us, spread)
                times = now_ms + np.sort(dice.integers(0, 20_000, drawn.size))
                rows = zip(times.tolist(), drawn.tolist(), strict=True)
                file.write("".join(f"{operation},{time},{latency}\n" for time, latency in rows))
                now_ms += 20_000
                number += drawn.size
    return number


def status_lines(seconds: int) -> Iterator[str]:
    dice = np.random.default_rng(_SEED)
    began = int(_STARTED_S)
    for second in range(seconds):
        rate, total = int(dice.integers(4_800, 5_200)), 5_000 * second
        clock = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        operations = " ".join(
            f"[{operation}: Count={rate // 2}, Max={rate * 9}, Min=97, Avg={median + rate / 97:.2f}, 90={rate // 7}, "
            f"99={rate // 4}, 99.9={rate}, 99.99={rate * 3}]"
            for operation, (_, median, _) in OPERATIONS.items()
        )
        yield (
            f"2023-11-14 {clock}:{began % 1000:03d} {second} sec: {total} operations; {rate}.25 current ops/sec; "
            f"est completion in 11 hours 59 minutes {operations} \n"
        )


def summary_lines(seconds: int) -> Iterator[str]:
    yield f"[OVERALL], RunTime(ms), {seconds * 1000 + 812}\n[OVERALL], Throughput(ops/sec), 4998.1\n"
    for operation, (rate, median, _) in OPERATIONS.items():
        for key, value in (
            ("Operations", rate * seconds),
            ("AverageLatency(us)", median * 1.13),
            ("MinLatency(us)", 97),
            ("MaxLatency(us)", 46_123),
            ("95thPercentileLatency(us)", 812),
            ("99thPercentileLatency(us)", 1_251),
            ("Return=OK", rate * seconds),
        ):
            yield f"[{operation}], {key}, {value}\n"


def latencies(dice: np.random.Generator, rate: int, median_us: float, spread: float) -> Ints:
    number = int(rate * dice.uniform(0.95, 1.05))
    return np.maximum(dice.lognormal(np.log(median_us), spread, number), 1.0).astype(np.int64)


def _write_log(path: Path, which: Ints, histograms: list[bytes], client: int) -> int:
    head = (
        f"#[Logging for: {path.stem}]\n#[Histogram log format version 1.3]\n"
        f"#[StartTime: {_STARTED_S + client / 3:.3f} (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )
    with path.open("wb") as file:
        file.write(head.encode())
        for second, number in enumerate(which.tolist()):
            file.write(b"%d.%03d,1.000,0.009,%s\n" % (second, number % 3, histograms[number]))
    return which.size


def encoded(values: Ints) -> bytes:
    """An interval's histogram in HdrHistogram's encoding V2."""
    index, count = np.unique(get_bucket_indices(values), return_counts=True)
    body, last = bytearray(), -1
    for at, number in zip(index.tolist(), count.tolist(), strict=True):
        if at > last + 1:
            body += _number(last + 1 - at)
        body += _number(number)
        last = at
    # Java's histograms grow with their values, by doubling.
    highest = (1 << int(values.max()).bit_length()) - 1
    packed = zlib.compress(_INNER.pack(0x1C849313, len(body), 0, 3, 1, highest, 1.0) + body)
    return base64.b64encode(_OUTER.pack(0x1C849314, len(packed)) + packed)


def _number(value: int) -> bytes:
    """ZigZag LEB128."""
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])
