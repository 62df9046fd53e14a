"""Whole findings of clients and threads, at and just beyond their limits: value, limits, sentence and advice.

Limits are those of the profile "measured" and of docs/evidence/checks.md.
"""

from dataclasses import replace
from typing import Any

import pytest

from benchsite.core.formatting import THIN
from runs.checks import CheckResult, OperationFacts, RunFacts
from runs.checks.tests.test_checks import both, client, facts, result
from runs.ycsb.evidence import ClientEvidence


def finding(check_id: str, run: RunFacts) -> CheckResult | None:
    """The finding with ordinary spaces before units."""
    known = result(check_id, run)
    if known is None:
        return None
    texts = {name: getattr(known, name).replace(THIN, " ") for name in ("measured", "threshold", "message", "remedy")}
    return replace(known, **texts)


def alone(**changes: Any) -> dict[str, Any]:
    """A run of one client."""
    return {"clients_expected": 1, "clients": (client(0, **changes),)}


# --- V23: 300,000 operations in 305.2 s; throughput within 0.1 % and 0.05 where one decimal is printed ---


def v23(severity: str, measured: str, message: str, remedy: str = "") -> tuple[Any, ...]:
    return severity, "Arithmetic", measured, "throughput within 0.1 %, counts equal", message, remedy


def contradicts(problem: str) -> tuple[Any, ...]:
    return v23(
        "reject",
        "contradictions: 1",
        f"The printed numbers contradict each other (client 0: {problem}).",
        "Output is missing or was edited: read the raw files, and run it again.",
    )


def has_gaps(doubt: str) -> tuple[Any, ...]:
    return v23(
        "warn",
        "clients with gaps: 1",
        f"Status lines are missing (client 0: {doubt}), so the course over time is not that of the run.",
        "Upload the whole standard error of every client.",
    )


AGREES = v23("pass", "summaries: 1", "Every client's log and summary agree to the last operation.")
BY_RUN_TIME = v23("pass", "summaries: 1", "Every client's throughput is its operations by its run time.")
UNKNOWN = v23("not_assessed", "", "There is no run time, throughput or counts of client 0.")


def printed(counts: dict[str, int], runtime_ms: float | None, throughput_ops_s: float | None, **more: Any) -> Any:
    """A client of a summary alone."""
    numbers = {"printed_counts": counts, "runtime_ms": runtime_ms, "printed_throughput_ops_s": throughput_ops_s}
    return alone(log_counts=None, **numbers, **more)


def spaced(interval: str | None, apart_s: float | None) -> Any:
    properties = {} if interval is None else {"status.interval": interval}
    return alone(evidence=ClientEvidence(properties), status_interval_s=apart_s)


FAILING = {"INSERT": 1000, "INSERT-FAILED": 100}

ARITHMETIC: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    (alone(), AGREES),
    (
        alone(printed_counts={"READ": 1_234_567}, log_counts={"READ": 1_234_566}),
        contradicts("READ has 1,234,567 operations in the summary and 1,234,566 in the log"),
    ),
    (
        alone(printed_counts={"READ": 1_234_567}, log_counts={}),
        contradicts("READ has 1,234,567 operations in the summary and no log"),
    ),
    (alone(printed_counts={"READ": 300_000, "SCAN": 0}, log_counts={"READ": 300_000}), AGREES),
    # run time
    (
        alone(log_counts=None, runtime_ms=-5731.0),
        contradicts("the run time is \N{MINUS SIGN}5,731 ms: its clock was set back"),
    ),
    (printed({"READ": 1}, 0.0, 5.0), contradicts("the run time is 0 ms")),
    (printed({"READ": 1}, 0.5, 2000.0), AGREES),
    # status lines
    (alone(operations=300_000, status_operations=300_000), AGREES),
    (
        alone(operations=300_000, status_operations=300_001),
        contradicts("the status lines count 300,001 operations, and the summary 300,000"),
    ),
    (
        alone(operations=None, status_operations=1),
        contradicts("the status lines count 1 operations, and the summary 0"),
    ),
    (alone(status_coverage=0.999), AGREES),
    (alone(status_coverage=0.998), has_gaps("its status lines count 99.8 % of an operation of its summary")),
    (spaced("10", 15.0), AGREES),
    (spaced("10", 16.0), has_gaps("its status lines are 16 s apart, and its command line states 10 s")),
    (spaced(None, 16.0), AGREES),
    (spaced("10", None), AGREES),
    (alone(status_interval_s=16.0), AGREES),
    # throughput: a load counts no failed operations, a run does, and a client's own total counts before all
    (printed(FAILING, 1000.0, 1000.0) | {"phase": "load"}, AGREES),
    (printed(FAILING, 1000.0, 1100.0) | {"phase": "measure"}, AGREES),
    (printed(FAILING, 1000.0, 1000.0) | {"phase": None}, AGREES),
    (printed(FAILING, 1000.0, 1100.0) | {"phase": None}, AGREES),
    (printed(FAILING | {"TOTAL": 500}, 1000.0, 500.0), AGREES),
    (
        printed(FAILING, 1000.0, 1100.0) | {"phase": "load"},
        contradicts("1,100.0 ops/s are printed, and operations by run time are 1,000.0"),
    ),
    (
        printed(FAILING, 1000.0, 1000.0) | {"phase": "measure"},
        contradicts("1,000.0 ops/s are printed, and operations by run time are 1,100.0"),
    ),
    # The nearer of the two is the one that it is off from.
    (
        printed(FAILING, 1000.0, 1090.0) | {"phase": None},
        contradicts("1,090.0 ops/s are printed, and operations by run time are 1,100.0"),
    ),
    # 10 / 1.009 s = 9.9108: off by 0.0108 of at most 0.0099, and of at most 0.0599 where one decimal is printed.
    (printed({"READ": 10}, 1009.0, 9.9), AGREES),
    (printed({"READ": 10}, 1009.0, 9.96), contradicts("10.0 ops/s are printed, and operations by run time are 9.9")),
    (printed({"READ": 10}, 1009.0, 10.1), contradicts("10.1 ops/s are printed, and operations by run time are 9.9")),
    # summaries alone
    (printed({"READ": 1000}, 1000.0, 1000.0) | {"whole_runs": True}, BY_RUN_TIME),
    (printed({"READ": 1000}, None, 1000.0) | {"whole_runs": True}, UNKNOWN),
    (printed({"READ": 1000}, 1000.0, None) | {"whole_runs": True}, UNKNOWN),
    (alone(printed_counts=None), v23("not_assessed", "", "There is no summary of client 0.")),
    ({"clients": (), "clients_expected": 1}, v23("not_assessed", "", "There is no summary of client any.")),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), ARITHMETIC)
def test_arithmetic_names_what_disagrees(changes, expected):
    assert finding("V23", facts(**changes)) == CheckResult("V23", *expected)


# --- V22: latencies ---

HISTOGRAM = "Measure with measurementtype=hdrhistogram."
BOTH = "Measure with measurement.interval=both."
FROM_THE_CALL = "The load had a target, but latencies count from the call: a stalled database hides its queue."


def read(operation: str = "READ", **changes: Any) -> OperationFacts:
    values: dict[str, Any] = {
        "ok": 10,
        "mean_us": 50.0,
        "min_us": 10.0,
        "max_us": 100.0,
        "percentiles_us": {99.0: 90.0},
    }
    return OperationFacts(operation, **{**values, **changes})


ESTIMATED = (
    read("READ", response_estimated_us=5_000.0),
    read("UPDATE", response_estimated_us=9_000.0),
    read("SCAN"),
)
LATENCIES: list[tuple[tuple[OperationFacts, ...], dict[str, Any], str, str, str]] = [
    ((read(),), {}, "pass", "The latencies of every operation are in order.", ""),
    ((read(resolution_us=999.0),), {}, "pass", "The latencies of every operation are in order.", ""),
    (
        (read(), read("SCAN", resolution_us=1000.0)), {},
        "warn", "Percentiles are known to 1.00 ms only.", HISTOGRAM,
    ),
    (
        (read(averaged=True), read("SCAN", averaged=True)), {}, "warn",
        "Counts or percentiles of READ, SCAN are fractions, which YCSB never prints: they are means over clients or "
        "runs, and a mean of percentiles is no percentile.",
        "Upload the output of every client as it was printed.",
    ),
    # A percentile may lie above the maximum by the resolution.
    (
        (read(resolution_us=1000.0, percentiles_us={99.0: 1100.0}),), {},
        "warn", "Percentiles are known to 1.00 ms only.", HISTOGRAM,
    ),
    (
        (read(percentiles_us={99.0: 100.5}),), {},
        "reject", "Latencies contradict each other (READ: p99 is above the maximum).",
        "The output is damaged or was edited: read the raw files.",
    ),
    ((read(),), {"target_ops_s": 1000.0}, "warn", FROM_THE_CALL, BOTH),
    (
        ESTIMATED, {"target_ops_s": 1000.0},
        "warn", f"{FROM_THE_CALL} Estimated from them, p99 of UPDATE was 9.00 ms.", BOTH,
    ),
    (
        (read(), read(kind="response")), {"target_ops_s": 1000.0},
        "pass", "The latencies of every operation are in order.", "",
    ),
    ((read(), read("SCAN", percentiles_us=None)), {}, "not_assessed",
     "Percentiles of SCAN are not known; what is known of the latencies is in order.", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operations", "changes", "severity", "message", "remedy"), LATENCIES)
def test_latencies_are_named_by_their_doubts(operations, changes, severity, message, remedy):
    limits = "min <= mean <= max, percentiles ascending, buckets add up; response times with a target"
    shown = f"distributions: {len(operations)}"
    run = facts(operations=operations, **changes)
    assert finding("V22", run) == CheckResult("V22", severity, "Latencies", shown, limits, message, remedy)


# --- V14 and V28: clients of an upload ---


def v14(measured: str, numbers: str) -> CheckResult:
    return CheckResult(
        "V14", "warn", "Clients together", measured,
        "1 s apart and 90 % in common warn; 5 % of the window reject",
        f"The files do not show when client {numbers} began and ended, so the throughputs that were added may be of "
        "different times.",
        "Run the clients with -s and upload their standard error: its status lines have dates.",
    )  # fmt: skip


def lasting(first_ms: float | None, second_ms: float | None) -> dict[str, Any]:
    return {"clients": (client(0, runtime_ms=first_ms), client(1, runtime_ms=second_ms, ended_s=None))}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"clients": both(started_s=None)}, v14("no times of client 0, 1", "0, 1")),
        (lasting(300_000.0, 200_000.0), v14("at most 66.7 % in common by their run times", "1")),
        (lasting(0.5, 1.0), v14("at most 50 % in common by their run times", "1")),
        (lasting(0.0, 100.0), v14("no times of client 1", "1")),
        (lasting(300_000.0, None), v14("no times of client 1", "1")),
        (lasting(None, None), v14("no times of client 1", "1")),
    ],
)
def test_clients_without_times_share_the_shorter_run_time(changes, expected):
    assert finding("V14", facts(**changes)) == expected


def stating(*clients: ClientEvidence | None, **changes: Any) -> dict[str, Any]:
    """Clients 0, 1, ... of an upload, with what their command lines state."""
    return {"clients": tuple(client(number, evidence=entry) for number, entry in enumerate(clients)), **changes}


def line(**properties: str) -> ClientEvidence:
    return ClientEvidence(properties, written=tuple(properties))


NOT_STATED = ("not_assessed", "", "The command lines do not state the workload.", "")
STATE_IT = "State what the command lines say; run all clients with the same workload."


def differs(differences: str, compared: int = 0, severity: str = "reject") -> tuple[str, str, str, str]:
    message = f"The command lines contradict each other or the upload: {differences}."
    return severity, f"properties compared: {compared}", message, STATE_IT


SAME_READS = {"readproportion": "0.5"}
AGREE = ("pass", "properties compared: 1", "The command lines agree with each other and with the upload.", "")
LONG = "x" * 300


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # the sum of the threads is 16, where every client states its own; otherwise at most 16
        (stating(line(threadcount="8"), line(threadcount="8")), NOT_STATED),
        (stating(line(threadcount="8"), line(threadcount="9")), differs("threadcount (all clients 17, the upload 16)")),
        (stating(line(threadcount="8"), line(threadcount="7")), differs("threadcount (all clients 15, the upload 16)")),
        (stating(line(threadcount="16"), line(threadcount="many")), NOT_STATED),
        (stating(line(threadcount="15"), line()), NOT_STATED),
        (stating(line(threadcount="16"), None), NOT_STATED),
        (
            stating(line(threadcount="17"), line()),
            differs("threadcount (1 of 2 clients 17, the upload 16)"),
        ),
        (stating(line(threadcount="8"), line(threadcount="9"), threads=None), NOT_STATED),
        (stating(line(threadcount="17"), line(), threads=None), NOT_STATED),
        # no target is one, too
        (
            stating(line(target="500"), line(target="500")),
            differs("target (all clients 1,000, the upload 0)"),
        ),
        (stating(line(target="500"), line(target="500"), target_ops_s=1000.0), NOT_STATED),
        (
            stating(line(target="500"), line(target="501"), target_ops_s=1000.0),
            differs("target (all clients 1,001, the upload 1,000)"),
        ),
        # a property that no line of its own states is YCSB's guess
        (stating(ClientEvidence({"threadcount": "99"}), ClientEvidence({"threadcount": "99"})), NOT_STATED),
        # a client prints no more operations of a kind than `operationcount`
        (stating(line(operationcount="150000"), None), NOT_STATED),
        (
            stating(None, line(operationcount="149999")),
            differs("client 1 printed 150,000 operations of 149,999"),
        ),
        (
            {"clients": both(evidence=line(operationcount="10"), printed_counts=None)},
            NOT_STATED,
        ),
        # names within the database, its address and versions only warn
        (stating(line(table="t", **SAME_READS), line(table="t", **SAME_READS)), AGREE),
        (
            stating(line(table="t", **SAME_READS), line(table="u", **SAME_READS)),
            differs("table (client 0 t, client 1 u)", 1, "warn"),
        ),
        (
            stating(line(version=LONG, **SAME_READS), line(**SAME_READS), line(version="0.17.0", **SAME_READS)),
            differs(f"version (client 0 {'x' * 191})", 1, "warn"),
        ),
        (stating(line(**SAME_READS), line(readproportion=" .50 ")), AGREE),
        (
            stating(line(requestdistribution="uniform"), line(requestdistribution="Zipfian")),
            differs("requestdistribution (client 0 uniform, client 1 Zipfian)", 1),
        ),
        (stating(line(requestdistribution="zipfian"), line(requestdistribution=" Zipfian")), AGREE),
    ],
)
def test_command_lines_state_one_load(changes, expected):
    severity, measured, message, remedy = expected
    limits = "the workload, load and system that the command lines state"
    changes = {"properties": {}, **changes}
    assert finding("V28", facts(**changes)) == CheckResult(
        "V28", severity, "Upload as stated", measured, limits, message, remedy
    )


# --- V03: cores of a machine, of all its clients ---


@pytest.mark.parametrize(
    ("cpu_percent", "severity", "shown"),
    [(160.0, "pass", "80 %"), (161.0, "warn", "80.5 %"), (180.0, "warn", "90 %"), (181.0, "reject", "90.5 %")],
)
def test_clients_of_one_machine_share_its_cores(cpu_percent, severity, shown):
    known = finding("V03", facts(clients=both(cpu_percent=cpu_percent, machine="lab", gc_share=None)))
    assert known is not None
    assert (known.severity, known.measured) == (severity, f"{shown} of lab")


# --- V01 and V02: threads ---


def v01(severity: str, measured: str, limits: str, message: str, remedy: str = "") -> CheckResult:
    return CheckResult("V01", severity, "Threads accounted for", measured, limits, message, remedy)  # type: ignore[arg-type]


WITHOUT_TARGET = "90 % to 103 %"  # 102 %, and 16 operations of 3 s that began before a window of 300 s: 1 %
NEARLY_ALL = "The threads spent 95 % of their time in operations."
BUSY = 8 * 300e6  # microseconds of a client's 8 threads in 300 s
SPARE = "Look at the load generators' CPU and garbage collection, or use more of them."


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"clients": both(busy_us=0.95 * BUSY)},
            v01("pass", "95 % of the time of 16 threads", WITHOUT_TARGET, NEARLY_ALL),
        ),
        (
            {"clients": both(busy_us=0.75 * BUSY)},
            v01(
                "warn", "75 % of the time of 16 threads", WITHOUT_TARGET,
                "The threads spent 75 % of their time in operations; the rest went into the clients themselves.", SPARE,
            ),
        ),
        (
            {"clients": both(busy_us=0.5 * BUSY), "target_ops_s": 1000.0},
            v01(
                "pass", "50 % of the time of 16 threads", "at most 103 %",
                "The threads had time to spare, as a target wants it.",
            ),
        ),
        (
            {"clients": both(covered_s=0.5, busy_us=0.95 * 8 * 0.5e6)},
            v01("pass", "95 % of the time of 16 threads", WITHOUT_TARGET, NEARLY_ALL),
        ),
        (
            {"threads": None},
            v01("not_assessed", "", "90 % to 102 %", "How many client threads ran is not known."),
        ),
        (
            {"missing": ("client 2: gone",)},
            v01("not_assessed", "", WITHOUT_TARGET, "Without all clients' times it cannot be computed."),
        ),
        *[
            (
                {"clients": (client(0), client(1, **unknown))},
                v01(
                    "not_assessed", "", WITHOUT_TARGET,
                    "The clients' run times, or the counts and means of their operations, are not known.",
                ),
            )
            for unknown in ({"busy_us": None}, {"covered_s": 0.0})
        ],
    ],
)  # fmt: skip
def test_operations_explain_the_threads_time(changes, expected):
    assert finding("V01", facts(**{"longest_us": 16 * 3e6, **changes})) == expected


def slow(p99_us: float | None, *others: OperationFacts) -> dict[str, Any]:
    """All threads busy at 77.3 % of a target of 2,500 ops/s, with a mean of 1 ms."""
    percentiles = None if p99_us is None else {50.0: 900.0, 99.0: p99_us, 99.9: 1e6}
    operations = (OperationFacts("READ", ok=1000, mean_us=1000.0, percentiles_us=percentiles), *others)
    return {"operations": operations, "target_ops_s": 2500.0, "clients": both(busy_us=0.97 * BUSY)}


MISSED = "97 % busy at 77.3 % of the target, mean 1.00 ms"
UNMEASURED = OperationFacts("SCAN", ok=1000), OperationFacts("INSERT", ok=0, mean_us=5000.0)


def build_missed_target(threads: str) -> tuple[str, str, str, str]:
    return (
        "warn",
        f"{MISSED}, lowest rung 501 µs",
        "Every thread was busy while the database answered as quickly as on the lowest rung: the target was missed for "
        "want of threads, and this rung says nothing about the database's ceiling.",
        f"Give it at least {threads} threads and run it again.",
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # 1.5 x 2,500 ops/s x p99, and at least 1.5 x the 16 threads
        (slow(40_000.0) | {"low_latency_us": 501.0}, build_missed_target("150")),
        (slow(4_000.0) | {"low_latency_us": 501.0}, build_missed_target("24")),
        (slow(None, *UNMEASURED) | {"low_latency_us": 501.0}, build_missed_target("24")),
        (
            slow(4_000.0) | {"low_latency_us": 500.0},
            ("pass", f"{MISSED}, lowest rung 500 µs", "The database slowed down: the limit is its own.", ""),
        ),
        (
            slow(4_000.0),
            (
                "not_assessed", MISSED,
                "All threads were busy and the target was missed. Whether the threads or the database set the limit "
                "shows only beside a lower rung of the sweep, and there is none yet.", "",
            ),
        ),
        (
            {**slow(4_000.0), "operations": UNMEASURED},
            (
                "not_assessed", "",
                "The clients' run times, or the counts and means of their operations, are not known.", "",
            ),
        ),
    ],
)  # fmt: skip
def test_threads_are_advised_by_target_and_p99(changes, expected):
    severity, measured, message, remedy = expected
    limits = "95 % busy, latency under 2 x the lowest rung's"
    assert finding("V02", facts(**changes)) == CheckResult(
        "V02", severity, "Threads for the target", measured, limits, message, remedy
    )
