"""A reader that takes lines one by one, with no regular expression and no short way, finds the same in any text."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.tests.samples import read_text

pytestmark = pytest.mark.slow

NAMES = [
    "READ",
    "UPDATE",
    "INSERT",
    "SCAN",
    "READ-MODIFY-WRITE",
    "READ-FAILED",
    "Intended-READ",
    "CLEANUP",
    "Join",
    "SUM",
]
CODES = ["OK", "ERROR", "NOT_FOUND", "0", "-1", "BATCHED_OK"]
PERCENTILES = {"50th": "50", "90th": "90", "95th": "95", "99th": "99", "99.9": "99.9", "99.99": "99.99", "1st": "1"}
NOISE = [
    "",
    "   ",
    "Starting test.",
    "[WARN] Running against external dependencies",
    "01:42:34.675 [cluster-ClusterId{value='58', description='null'}-localhost:3017] INFO  org.mongodb.driver - x",
    "Opened connection [connectionId{localValue:2, serverValue:15}] to localhost:3017",
    "servers=[{address=localhost:3017, type=UNKNOWN, state=CONNECTING}], more, 5",
    "2023-06-05 16:13:47,477 WARN  [Thread-8] util.NativeCodeLoader: Unable to load",
    "\tat redis.clients.jedis.Protocol.process(Protocol.java:74)",
    "versionList=[3, 4, 2]}, minWireVersion=0, maxWireVersion=5",
    "DBWrapper: report latency for each error is false and specific error codes to track for latency are: []",
    "[ERROR], something else",
]

whole_numbers = st.integers(0, 10**12)
doubles = st.floats(0, 1e12, allow_nan=False).map(str)


@st.composite
def metric_lines(draw, name: str) -> list[str]:
    """A metric as 0.13 to 0.17 print it, some of its lines left out."""
    lines = [
        f"[{name}], Operations, {draw(whole_numbers)}",
        f"[{name}], AverageLatency(us), {draw(doubles)}",
        f"[{name}], MinLatency(us), {draw(whole_numbers)}",
        f"[{name}], MaxLatency(us), {draw(whole_numbers)}",
    ]
    lines += [f"[{name}], {word}PercentileLatency(us), {draw(whole_numbers)}" for word in PERCENTILES]
    codes = draw(st.lists(st.sampled_from(CODES), max_size=4))
    lines += [f"[{name}], Return={code}, {draw(whole_numbers)}" for code in codes]
    kept = draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    return [line for line, keep in zip(lines, kept, strict=True) if keep]


@st.composite
def run_lines(draw) -> list[str]:
    """A summary, with noise anywhere."""
    lines = [f"[OVERALL], RunTime(ms), {draw(whole_numbers)}", f"[OVERALL], Throughput(ops/sec), {draw(doubles)}"]
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5)):
        lines += draw(metric_lines(name))
    for noise in draw(st.lists(st.sampled_from(NOISE), max_size=6)):
        lines.insert(draw(st.integers(0, len(lines))), noise)
    return lines


def naive(lines: list[str]) -> list[dict[str, dict[str, float]]]:
    """What the lines state: for each run its totals, and for each metric its values by key, return codes added."""
    runs: list[dict[str, dict[str, float]]] = []
    for line in lines:
        parts = line.strip().split(", ")
        if len(parts) != 3 or not parts[0].startswith("[") or not parts[0].endswith("]"):
            continue
        name, key, value = parts[0][1:-1], parts[1], parts[2]
        if not value.replace(".", "").replace("e+", "").replace("e-", "").isdigit():
            continue
        if name == "OVERALL":
            if key == "RunTime(ms)":
                runs.append({"OVERALL": {}})
            runs[-1]["OVERALL"][key] = float(value)
        else:
            values = runs[-1].setdefault(name, {})
            values[key] = values.get(key, 0) + float(value) if key.startswith("Return=") else float(value)
    return runs


def stated(run: ReadRun) -> dict[str, Any]:
    """The same of what was read."""
    found: dict[str, Any] = {"OVERALL": {"RunTime(ms)": run.runtime_ms, "Throughput(ops/sec)": run.throughput_ops_s}}
    words = {number: word for word, number in PERCENTILES.items()}
    for name, operation in run.operations.items():
        values = {
            "Operations": operation.count,
            "AverageLatency(us)": operation.mean_us,
            "MinLatency(us)": operation.min_us,
            "MaxLatency(us)": operation.max_us,
        }
        values |= {f"{words[number]}PercentileLatency(us)": value for number, value in operation.percentiles_us.items()}
        values |= {f"Return={code}": count for code, count in operation.returns.items()}
        found[name] = {key: value for key, value in values.items() if value is not None}
    return found


# Two runs that agree in everything are one and its copy, so each has a run time of its own.
several_runs = st.lists(
    run_lines(), min_size=1, max_size=3, unique_by=lambda lines: next(line for line in lines if "RunTime" in line)
)


@settings(max_examples=60, deadline=None)
@given(several_runs, st.integers(20, 5000), st.sampled_from(["", "    ", "pod-1 | "]))
def test_a_naive_reader_agrees(runs, size, front):
    lines = [line for run in runs for line in run]
    text = read_text("".join(front + line + "\n" for line in lines), size)
    assert [stated(run) for run in text] == naive(lines)
