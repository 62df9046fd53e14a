"""Outputs made to order: what a client of some version would print."""

from runs.ycsb.block import Block
from runs.ycsb.readers.json_exporters import ExporterReader
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.text import TextReader


def build_blocks(data: bytes, size: int = 1 << 20) -> list[Block]:
    """Blocks of whole lines of about `size` bytes."""
    found: list[Block] = []
    line, start = 1, 0
    while start < len(data):
        end = data.find(b"\n", min(start + size, len(data)) - 1) + 1 or len(data)
        found.append(Block(data[start:end], line, not data[start:end].endswith(b"\n")))
        line += data.count(b"\n", start, end)
        start = end
    return found


def read_text(text: str | bytes, size: int = 1 << 20) -> tuple[ReadRun, ...]:
    return _read(TextReader(), text, size)


def read_json(text: str | bytes, size: int = 1 << 20) -> tuple[ReadRun, ...]:
    return _read(ExporterReader(), text, size)


def _read(reader: TextReader | ExporterReader, text: str | bytes, size: int) -> tuple[ReadRun, ...]:
    for block in build_blocks(text.encode() if isinstance(text, str) else text, size):
        reader.feed(block)
    return reader.done()


def one(text: str | bytes) -> ReadRun:
    """The only run."""
    (run,) = read_text(text)
    return run


def metric(name: str, count: int, *, returns: str = "OK", mean: float = 500.0, p99: int = 2000) -> str:
    """One metric as 0.13 to 0.17 print it."""
    lines = [
        f"[{name}], Operations, {count}",
        f"[{name}], AverageLatency(us), {mean}",
        f"[{name}], MinLatency(us), 100",
        f"[{name}], MaxLatency(us), 9000",
        f"[{name}], 95thPercentileLatency(us), 1000",
        f"[{name}], 99thPercentileLatency(us), {p99}",
    ]
    if returns:
        lines.append(f"[{name}], Return={returns}, {count}")
    return "\n".join(lines) + "\n"


def summary(runtime_ms: int = 10_000, **counts: int) -> str:
    """A summary of 0.13 to 0.17, with garbage collection and clean-up; `READ_FAILED` stands for READ-FAILED."""
    names = {name.replace("_", "-"): count for name, count in (counts or {"READ": 600, "UPDATE": 400}).items()}
    total = sum(names.values()) - 2 * names.get("READ-MODIFY-WRITE", 0)
    return (
        f"[OVERALL], RunTime(ms), {runtime_ms}\n[OVERALL], Throughput(ops/sec), {total * 1000 / runtime_ms!r}\n"
        "[TOTAL_GCS_G1_Young_Generation], Count, 4\n[TOTAL_GC_TIME_G1_Young_Generation], Time(ms), 24\n"
        "[TOTAL_GC_TIME_%_G1_Young_Generation], Time(%), 0.24\n[TOTAL_GCs], Count, 4\n"
        "[TOTAL_GC_TIME], Time(ms), 24\n[TOTAL_GC_TIME_%], Time(%), 0.24\n"
        + metric("CLEANUP", 4, returns="")
        + "".join(
            metric(name, count, returns="" if "FAILED" in name or "MODIFY" in name else "OK")
            for name, count in names.items()
        )
    )


def status(second: int, operations: int, *names: str, label: str = "", rate: str = "100") -> str:
    """One status line of 0.17."""
    middle = f" {rate} current ops/sec;" if second else ""
    parts = " ".join(
        f"[{name}: Count=50, Max={9000 + second}, Min=10, Avg=512.34, 90=700, 99=900, 99.9=1000, 99.99=2000]"
        for name in names
    )
    time = f"2026-11-21 04:{10 + second // 60:02d}:{second % 60:02d}:348"
    return f"{label}{time} {second} sec: {operations} operations;{middle} est completion in 1 day {parts} \n"


def statuses(seconds: int, *names: str, per_second: int = 100) -> str:
    return "".join(status(second, second * per_second, *names) for second in range(seconds + 1))


PREAMBLE = (
    "Command line: -db site.ycsb.BasicDB -s -P workloads/workloada -threads 8 -target 1000 {phase}\n"
    "YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n"
)


def preamble(phase: str = "-t") -> str:
    return PREAMBLE.format(phase=phase)
