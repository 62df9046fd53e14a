"""Small outputs of every format, ways to pack and to damage them, and what was read of them as plain numbers."""

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import zstandard

from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile, ReadRun

DATA = Path(__file__).parents[2] / "tests" / "data"

THUMBTACK = b"""YCSB Client 0.1
Command line: -db com.yahoo.ycsb.db.MongoDbClient -s -P workloads/workloada -p measurementtype=timeseries -t
[UPDATE], 0, 8000.5, 1470.0
[UPDATE], 100, 9000.25, 1480.0
[UPDATE], Operations, 2416
[UPDATE], Retries, 3
[UPDATE], AverageLatency(us), 15478.233029801324
[UPDATE], MinLatency(us), 406
[UPDATE], MaxLatency(us), 297533
[UPDATE], Return=0, 2416
[UPDATE], 0, 8000.5, 1470.0
[UPDATE], 100, 9000.25, 1480.0
[OVERALL], Reconnections, 0.0
[OVERALL], RunTime(ms), 2353.0
[OVERALL], Operations, 2416
[OVERALL], Throughput(ops/sec), 1026.7743306417339
"""
LOAD_GENERATOR = b"""[OVERALL] RunTime(ms), 30008.0
[OVERALL] Throughput(ops/sec), 66648.89362836577
[GET] Operations, 2000000
[GET] AverageLatency, 401.87us
[GET] MinLatency, 146.0us
[GET] MaxLatency, 2.11s
[GET] 95thPercentileLatency, 2ms
[GET] 99thPercentileLatency, 4ms
[GET] Return=0, 1989077
[GET] Return=-1, 10923
[GET] 0us    - 256us , 732757
[GET] 256us  - 512us , 1071121
[GET] >128s  , 196122
"""
YCSB_CPP = b"""Load runtime(sec): 1.25
Load operations(ops): 1000
Load throughput(ops/sec): 800
Run runtime(sec): 12.5
Run operations(ops): 10000
Run throughput(ops/sec): 813.5
"""
YCSB_C = b"""# Loading records:\t10000
# Transaction throughput (KTPS)
redis\tworkloada.spec\t4\t123.456
"""


def data(name: str) -> bytes:
    return (DATA / name).read_bytes()


def first_lines(text: bytes, count: int) -> bytes:
    return b"".join(text.splitlines(keepends=True)[:count])


# By the name that each is read under.
SAMPLES: dict[str, bytes] = {
    "summary.txt": data("load/0/summary.txt"),
    "with-status.txt": data("load/0/stderr.txt") + data("load/0/summary.txt"),
    "timeseries.txt": data("timeseries/0/stdout.txt"),
    "histogram.txt": data("histogram/0/stdout.txt"),
    "exporter.json": data("json/0/stdout.txt"),
    "array.json": data("json_array/0/summary.json"),
    "READ.hdr": data("load/0/INSERT.hdr"),
    "points.txt": first_lines(data("raw_file/0/points.txt"), 40),
    "raw-stdout.txt": first_lines(data("raw_stdout/0/stdout.txt"), 30) + data("load/0/summary.txt"),
    "go.txt": data("go_ycsb/plain/0/stdout.txt"),
    "go-table.txt": data("go_ycsb/table/0/stdout.txt"),
    "go-json.txt": data("go_ycsb/json/0/stdout.txt"),
    "go-points.csv": first_lines(data("go_ycsb/csv/0/points.csv"), 40),
    "thumbtack.txt": THUMBTACK,
    "load-generator.txt": LOAD_GENERATOR,
    "ycsb-cpp.txt": YCSB_CPP,
    "ycsb-c.txt": YCSB_C,
}


def read(content: bytes, name: str = "output.txt") -> tuple[ReadFile, ...]:
    return read_file(name, io.BytesIO(content))


# --- Ways to pack ---


def zipped(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


PACKINGS = {
    "plain": lambda content: content,
    "gzip": lambda content: gzip.compress(content, mtime=0),
    "zstd": lambda content: zstandard.ZstdCompressor().compress(content),
    "zip": lambda content: zipped({"output.txt": content}),
    "tar": lambda content: tarred({"output.txt": content}),
}


def packed_zeros(size: int) -> bytes:
    """`size` zero bytes as gzip has them, made without ever holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = bytes(1 << 20)
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


def overlapping_zip(entries: int, size: int) -> bytes:
    """A zip archive whose directory names the same packed bytes `entries` times."""
    single = zipped({"0": bytes(size)})
    directory = single.rfind(b"PK\x01\x02")
    end = single.rfind(b"PK\x05\x06")
    one = single[directory:end]
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, entries, entries, len(one) * entries, directory, 0)
    return single[:directory] + one * entries + tail


# --- Ways to damage ---


def flipped(content: bytes, seed: int, most: int = 8) -> bytes:
    """A few bytes of `content` replaced, always the same ones for a seed."""
    chance = random.Random(seed)
    damaged = bytearray(content)
    for _ in range(chance.randint(1, most)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


# --- What was read ---


def get_runs(files: Iterable[ReadFile]) -> list[ReadRun]:
    return [run for file in files for run in file.runs]


def read_values(run: ReadRun) -> dict[str, object]:
    """Every number of a run by a name of its own, but for what is a sequence in time."""
    found: dict[str, object] = {"runtime_ms": run.runtime_ms, "throughput_ops_s": run.throughput_ops_s}
    found |= {f"process {name}": value for name, value in run.process.items()}
    for name, operation in run.operations.items():
        found |= {f"{name} {field}": value for field, value in _fields(operation).items()}
    return {name: value for name, value in found.items() if value is not None}


def _fields(operation: ReadOperation) -> dict[str, object]:
    plain = ("count", "mean_us", "min_us", "max_us", "variance_us2", "rate_ops_s")
    found: dict[str, object] = {field: getattr(operation, field) for field in plain}
    found |= {f"p{rank}": value for rank, value in operation.percentiles_us.items()}
    found |= {f"return {code}": count for code, count in operation.returns.items()}
    found |= {f"bucket {bucket.from_us} {bucket.to_us}": bucket.count for bucket in operation.buckets}
    found |= {f"extra {key}": value for key, value in operation.extra.items()}
    return found


def get_sequences(run: ReadRun) -> dict[str, list[object]]:
    """What a run holds in the order of time: a cut file has a beginning of each."""
    found: dict[str, list[object]] = {"status": list(run.status)}
    for name, operation in run.operations.items():
        found[f"series {name}"] = list(operation.series)
    for log in run.logs:
        parts = [slice(int(log.offsets[at]), int(log.offsets[at + 1])) for at in range(len(log))]
        found[f"log {log.operation}"] = [
            (float(log.start_s[at]), float(log.length_s[at]), log.index[part].tolist(), log.count[part].tolist())
            for at, part in enumerate(parts)
        ]
    return found
