"""Real outputs of two clients with one thing wrong: what an upload of them is told."""

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runs.checks import CheckResult, profile
from runs.checks.tests.verdicts import worst
from runs.results.recording.client_merge import merge_upload
from runs.tests.importing import DATA
from runs.uploads.inline import read_at_once
from runs.uploads.judgement import build_spec, judge_by
from runs.uploads.metadata import RunMetadata, StatedRun, describe_workload
from runs.uploads.reads import runs_in
from runs.ycsb.encoded import Counts
from runs.ycsb.file_grouping import group
from runs.ycsb.histogram import get_bucket_indices, lowest_values
from runs.ycsb.properties import CORE_WORKLOADS
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.tests.hdrlogs import build_file, get_lines
from runs.ycsb.tests.samples import merge_files

Files = dict[str, str]
COMMAND = (
    "Command line: -db site.ycsb.db.MongoDbClient -P workloads/workloada -p recordcount=1000000 "
    "-p mongodb.url=mongodb://db:27017/ycsb?w=majority&journal=true -threads 2 -s -t"
)


def real(*names: str, of: str = "two_clients") -> Files:
    """These files of both clients, with a command line as stock YCSB prints it."""
    files = {}
    for number in (0, 1):
        for path in sorted((DATA / of / str(number)).iterdir()):
            if not names or path.name in names:
                text = path.read_text()
                files[f"client{number}/{path.name}"] = re.sub("Command line: .*", lambda _: COMMAND, text)
    return files


def changed(files: Files, name: str, old: str, new: str) -> Files:
    """One file with `old` replaced, which must be in it."""
    assert old in files[name], old
    return {**files, name: files[name].replace(old, new)}


def judged(files: Mapping[str, str], *, grouping: str = "told", **stated: Any) -> dict[str, CheckResult]:
    """The findings of the only run in the files, stated as MongoDB in mode majority under workload A."""
    reads = read_at_once([(name, text.encode()) for name, text in files.items()])
    (run,) = runs_in(reads, grouping)
    properties = {**CORE_WORKLOADS["A"], "recordcount": "1000000", **stated.pop("properties", {})}
    usual = {
        "system": "mongodb", "mode": "majority", "database": "MongoDB", "version": "7.0", "replication_factor": 3,
        "workload": describe_workload("A", properties), "purpose": "smoke", "nodes": 3,
        "client_on_database_host": False,
    }  # fmt: skip
    metadata = RunMetadata(**{**usual, **stated})
    spec = build_spec(metadata, StatedRun(index=0, phase="measure", threads=4), run, upload_id="u")
    merged = merge_upload(run, reads, spec)
    return {
        finding.check_id: finding for finding in judge_by(profile(spec["purpose"]), spec, merged.merged, merged.series)
    }


SUMMARIES = ("summary.txt",)
WITH_STATUS = ("summary.txt", "stderr.txt")


@pytest.mark.parametrize("names", [(), WITH_STATUS, ("summary.txt", "stderr.txt", "READ.hdr", "UPDATE.hdr")])
def test_accepts_healthy_upload(names: tuple[str, ...]):
    """Also where CLEANUP has no histogram log."""
    findings = judged(real(*names))
    assert worst(findings.values()) != "reject", findings
    expected = {"V08": "pass", "V20": "pass", "V23": "pass", "V27": "pass", "V28": "pass", "V29": "pass"}
    assert {check_id: findings[check_id].severity for check_id in expected} == expected


@pytest.mark.parametrize("names", [(), SUMMARIES, WITH_STATUS], ids=["logs", "summaries", "status lines"])
@pytest.mark.parametrize("grouping", ["told", "together"])
def test_rejects_same_client_twice(names: tuple[str, ...], grouping: str):
    files = real(*names)
    files |= {name.replace("client0", "client1"): text for name, text in files.items() if name.startswith("client0")}
    findings = judged(files, grouping=grouping)
    assert findings["V27"].severity == "reject"
    assert "client 1 has the numbers of client 0" in findings["V27"].message.lower()


def one_digit_changed(text: str) -> list[str]:
    """The summary with another digit in each of its lines in turn."""
    lines = text.splitlines()
    return [
        "\n".join([*lines[:at], re.sub(r"\d$", lambda digit: str((int(digit[0]) + 3) % 10), line), *lines[at + 1 :]])
        for at, line in enumerate(lines)
        if re.search(r", [\d.]+$", line) and "CLEANUP" not in line
    ]  # fmt: skip


def test_rejects_same_client_with_changed_digit():
    files = real(*SUMMARIES)
    variants = one_digit_changed(files["client0/summary.txt"])
    assert len(variants) > 30
    for variant in variants[::4]:
        findings = judged({**files, "client1/summary.txt": variant + "\n"}, grouping="together")
        assert findings["V27"].severity == "reject", variant


def test_rejects_same_logs_begun_later():
    files = real("READ.hdr", "UPDATE.hdr")
    for name in ("READ.hdr", "UPDATE.hdr"):
        start = re.search(r"StartTime: (\d+)", files[f"client0/{name}"])
        assert start is not None
        later = files[f"client0/{name}"].replace(start[1], str(int(start[1]) + 1))
        files[f"client1/{name}"] = later
    assert judged(files)["V27"].severity == "reject"


def timeouts(log: str) -> str:
    """A log with five timeouts of one length in each interval of `log`."""
    failed = read_file("READ.hdr", io.BytesIO(log.encode()))[0].runs[0].logs[0]
    intervals = len(failed)
    slowest = get_bucket_indices(np.full(intervals, 10_002_431)).astype(np.int32)
    counts = Counts(np.ones(intervals, dtype=np.int64), slowest, np.full(intervals, 5))
    return build_file(get_lines(replace(failed, counts=counts))).decode()


@pytest.mark.parametrize("is_log", [True, False], ids=["logs", "summaries"])
def test_accepts_equal_failures_of_different_clients(is_log: bool):
    """Each timeout takes the same time, and the mean of three values has one of three fractions."""
    files = real("READ.hdr", "UPDATE.hdr") if is_log else real(*SUMMARIES)
    for number in (0, 1):
        for name in ("READ", "UPDATE"):
            if is_log:
                files[f"client{number}/{name}-FAILED.hdr"] = timeouts(files[f"client{number}/{name}.hdr"])
                continue
            files[f"client{number}/summary.txt"] += "".join(
                f"[{name}-FAILED], {key}, {value}\n"
                for key, value in {
                    "Operations": 3, "AverageLatency(us)": f"{10_001_406 + 40 * number}.3333333333",
                    "MinLatency(us)": 10_000_384, "MaxLatency(us)": 10_002_431,
                    "95thPercentileLatency(us)": 10_002_431, "99thPercentileLatency(us)": 10_002_431,
                }.items()
            )  # fmt: skip
    assert judged(files, grouping="together")["V27"].severity == "pass"


def moved(text: str, name: str, to: Callable[[Any], Any]) -> str:
    """The latencies of a log or of a summary, moved."""
    if name.endswith(".hdr"):
        log = read_file(name, io.BytesIO(text.encode()))[0].runs[0].logs[0]
        index = get_bucket_indices(np.rint(to(lowest_values(log.index).astype(float))).astype(np.int64))
        return build_file(get_lines(replace(log, counts=replace(log.counts, index=index.astype(np.int32))))).decode()
    return re.sub(
        r"(?m)^(\[[A-Z]+\], (\w+)Latency\(us\), )([\d.]+)$",
        lambda line: line[1] + (repr(to(float(line[3]))) if line[2] == "Average" else str(round(to(float(line[3]))))),
        text,
    )


@pytest.mark.parametrize(
    "to", [lambda us: us + 1, lambda us: us + 37, lambda us: us * 1.01], ids=["1 µs", "37 µs", "1 %"]
)
@pytest.mark.parametrize("name", ["summary.txt", "*.hdr", "stderr.txt"])
def test_rejects_same_client_with_moved_latencies(name: str, to: Callable[[Any], Any]):
    """By its logs, its summary or its status lines alone."""
    names = ("READ.hdr", "UPDATE.hdr") if name == "*.hdr" else (name,)
    files = real(*names)
    for own in names:
        text = files[f"client0/{own}"]
        # Status lines are those of another minute.
        files[f"client1/{own}"] = text.replace(" 04:04:", " 04:05:") if own == "stderr.txt" else moved(text, own, to)
    assert judged(files, grouping="together")["V27"].severity == "reject"


@pytest.mark.parametrize("of", ["two_clients", "v1_target", "v2_target", "histogram", "load", "go_ycsb/plain"])
def test_keeps_real_clients_apart(of: str):
    """Neither their logs nor their summaries alone look like copies."""
    for is_log in (True, False):
        paths = [
            path for path in sorted((DATA / of).rglob("*")) if path.is_file() and (path.suffix == ".hdr") == is_log
        ]
        read: list[ReadFile] = []
        for path in paths:
            with path.open("rb") as stream:
                read += read_file(str(path.relative_to(DATA / of)), stream)
        if not read:
            continue
        (run,) = group(read)
        assert len(run.clients) == 2
        (merged,) = merge_files(read)
        assert [client.evidence.copy_of for client in merged.clients if client.evidence] == [None, None]


@pytest.mark.parametrize(
    ("old", "new"),
    [("w=majority&journal=true", "w=0"), ("w=majority&journal=true", "W=1"), ("journal=true", "w=1")],
)
def test_rejects_mode_that_command_line_contradicts(old: str, new: str):
    findings = judged(changed(real(*WITH_STATUS), "client1/stderr.txt", old, new))
    assert findings["V20"].severity == "reject"
    assert "w=" in findings["V20"].message


@pytest.mark.parametrize("word", ["unacknowledged", "normal", "safe"])
def test_reads_write_concern_property(word: str):
    url, own = "mongodb.url=mongodb://db:27017/ycsb?w=majority&journal=true", f"mongodb.writeConcern={word}"
    assert judged(changed(real(*WITH_STATUS), "client0/stderr.txt", url, own))["V20"].severity == "reject"


@pytest.mark.parametrize(
    "new",
    [
        "recordcount=2000000",
        "recordcount=1000000 -p requestdistribution=uniform",
        "recordcount=1000000 -p readproportion=0.6",
    ],
)
@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_rejects_clients_of_different_workloads(new: str, names: tuple[str, ...]):
    findings = judged(changed(real(*names), "client1/stderr.txt", "recordcount=1000000", new))
    assert findings["V28"].severity == "reject"
    assert "client 1 " in findings["V28"].message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("recordcount=1000000", "recordcount=2000000", "the upload 1000000"),
        ("recordcount=1000000", "recordcount=1000000 -p requestdistribution=uniform", "requestdistribution"),
        ("recordcount=1000000", "recordcount=1000000 -p fieldlength=10", "the upload 100)"),
        ("recordcount=1000000", "recordcount=1000000 -p readallfields=false", "readallfields"),
        ("-threads 2", "-threads 64", "threadcount (all clients 128, the upload 4)"),
        ("-threads 2", "-threads 2 -target 100", "target (all clients 200, the upload 0)"),
        ("-threads 2", "-threads 2 -p operationcount=1000", "operations of 1,000"),
        ("site.ycsb.db.MongoDbClient", "site.ycsb.BasicDB", "no database"),
    ],
    ids=["records", "distribution", "field length", "fields", "threads", "target", "operation count", "no database"],
)
@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_rejects_statement_that_command_lines_contradict(names: tuple[str, ...], old: str, new: str, message: str):
    """Where all command lines agree with each other."""
    files = real(*names)
    for client in ("client0", "client1"):
        files = changed(files, f"{client}/stderr.txt", old, new)
    findings = judged(files)
    assert findings["V28"].severity == "reject"
    assert message in findings["V28"].message


def test_warns_of_binding_of_another_system():
    """Systems that speak another one's protocol are driven by its binding, so it may be right."""
    findings = judged(changed(real(*WITH_STATUS), "client1/stderr.txt", "MongoDbClient", "RedisClient"))
    assert findings["V28"].severity == "warn" and "that of Redis" in findings["V28"].message


@pytest.mark.parametrize(
    ("url", "severity"),
    [("mongodb://user:secret@other:27017", "warn"), ("mongodb://other:27017,db:27017", "pass")],
    ids=["none in common", "one in common"],
)
def test_warns_of_clients_with_different_servers(url: str, severity: str):
    finding = judged(changed(real(*WITH_STATUS), "client1/stderr.txt", "mongodb://db:27017", url))["V28"]
    assert finding.severity == severity and "secret" not in finding.message


def test_rejects_target_of_one_client_only():
    findings = judged(changed(real(*WITH_STATUS), "client1/stderr.txt", "-threads 2", "-threads 2 -target 100"))
    assert findings["V28"].severity == "reject"
    assert "target (1 of 2 clients 100, the upload 0)" in findings["V28"].message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[READ], 99thPercentileLatency(us), 4085", "[READ], 99thPercentileLatency(us), 408", "p99 is below p95"),
        ("[READ], MaxLatency(us), 52959", "[READ], MaxLatency(us), 5295", "p99.99 is above the maximum"),
        ("[READ], MinLatency(us), 25", "[READ], MinLatency(us), 400", "the minimum is above the mean"),
        ("[READ], Return=OK, 14892", "[READ], Return=OK, 24892", "24,892 return codes of success"),
    ],
    ids=["percentiles", "maximum", "minimum", "return codes"],
)
def test_rejects_impossible_numbers_of_one_client(old: str, new: str, message: str):
    """The bounds of all clients together do not show them."""
    findings = judged(changed(real(*SUMMARIES), "client0/summary.txt", old, new))
    assert findings["V22"].severity == "reject"
    assert message in findings["V22"].message


def test_rejects_status_lines_beyond_summary():
    """The throughput of several clients without histograms is that of their status lines."""
    files = real(*WITH_STATUS)
    tenfold = re.sub(r" sec: (\d+) operations", r" sec: \g<1>0 operations", files["client1/stderr.txt"])
    findings = judged({**files, "client1/stderr.txt": tenfold})
    assert findings["V23"].severity == "reject"
    assert "the status lines count 291,610 operations" in findings["V23"].message


def halved(text: str) -> str:
    """Without every second status line; the last one stays."""
    lines = text.splitlines()
    removed = [number for number, line in enumerate(lines) if " sec: " in line][-2::-2]
    assert len(removed) > 2
    return "".join(line + "\n" for number, line in enumerate(lines) if number not in removed)


def test_warns_of_removed_status_lines():
    files = real(*WITH_STATUS)
    finding = judged({**files, "client1/stderr.txt": halved(files["client1/stderr.txt"])})["V23"]
    assert finding.severity == "warn"
    assert "client 1: its status lines count" in finding.message and "client 0" not in finding.message


def test_warns_of_removed_status_lines_without_counts():
    """As those of the old histograms are: only their distance tells."""
    files = {name: re.sub(r"Count=\d+, ", "", text) for name, text in real(*WITH_STATUS).items()}
    files = {name: text.replace("-threads 2", "-threads 2 -p status.interval=1") for name, text in files.items()}
    assert judged(files)["V23"].severity == "pass"
    finding = judged({**files, "client1/stderr.txt": halved(files["client1/stderr.txt"])})["V23"]
    assert finding.severity == "warn"
    assert "client 1: its status lines are" in finding.message


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("YCSB Client 0.17.0", "YCSB Client 0.12.0", "warn"),
        ("-threads 2", "-threads 2 -p table=others", "warn"),
        ("27017/ycsb?", "27017/other?", "warn"),
        ("-threads 2", "-threads 2 -p cassandra.keyspace=other", "warn"),
        ("mongodb://db:27017/", "mongodb://db:27017,db2:27018/", "pass"),
        ("mongodb://db:27017/", "mongodb://user:secret@db:27017/", "pass"),
    ],
    ids=["version", "table", "database", "keyspace", "hosts", "user"],
)
def test_warns_of_clients_in_other_databases(old: str, new: str, severity: str):
    files = real(*WITH_STATUS)
    stated = files["client0/stderr.txt"].replace(
        "-threads 2", "-threads 2 -p table=usertable -p cassandra.keyspace=ycsb"
    )
    files |= {"client0/stderr.txt": stated, "client1/stderr.txt": files["client1/stderr.txt"].replace(old, new)}
    finding = judged(files)["V28"]
    assert finding.severity == severity, finding
    assert "secret" not in finding.message


@pytest.mark.parametrize("names", [(*WITH_STATUS, "READ.hdr", "UPDATE.hdr"), WITH_STATUS], ids=["logs", "summaries"])
@pytest.mark.parametrize(
    ("file", "severity"), [("workloada", "pass"), ("workloadb", "warn"), ("own.properties", "pass")]
)
def test_warns_of_mix_of_another_workload_file(names: tuple[str, ...], file: str, severity: str):
    """Where the upload states what was counted; the file may have been edited."""
    files = real(*names)
    for client in ("client0", "client1"):
        files = changed(files, f"{client}/stderr.txt", "workloads/workloada", f"workloads/{file}")
    finding = judged(files)["V08"]
    assert finding.severity == severity
    assert ("READ 95" in finding.message) == (severity == "warn")


@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_rejects_wrong_mix(names: tuple[str, ...]):
    findings = judged(real(*names), properties={"readproportion": "0.95", "updateproportion": "0.05"})
    assert findings["V08"].severity == "reject"


@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_warns_of_garbage_collection(names: tuple[str, ...]):
    line = "[TOTAL_GC_TIME_%], Time(%), "
    files = real(*names)
    share = files["client0/summary.txt"].partition(line)[2].split()[0]
    findings = judged(changed(files, "client0/summary.txt", line + share, line + "12.25"))
    assert findings["V03"].severity == "warn"
    assert "collecting garbage" in findings["V03"].message


@pytest.mark.parametrize(
    ("young", "old", "severity"), [("7.3", "5.0", "warn"), ("1.25", "0.5", "not_assessed")], ids=["12 %", "2 %"]
)
@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_adds_garbage_collectors(names: tuple[str, ...], young: str, old: str, severity: str):
    files = real(*names)
    summary = re.sub(r"(?m)^\[TOTAL_GC_TIME_%\].*\n", "", files["client0/summary.txt"])
    for collector, share in (("Young", young), ("Old", old)):
        summary = re.sub(rf"(%_G1_{collector}_Generation\], Time\(%\), ).*", rf"\g<1>{share}", summary)
    finding = judged({**files, "client0/summary.txt": summary})["V03"]
    assert finding.severity == severity
    assert ("12.3" in finding.message) == (severity == "warn")


@pytest.mark.parametrize("message", ["java.net.SocketTimeoutException: Read timed out", "ERROR: connection refused"])
@pytest.mark.parametrize("names", [(), WITH_STATUS], ids=["logs", "summaries"])
def test_warns_of_trouble(names: tuple[str, ...], message: str):
    thrown = f"Starting test.\n{message}\n\tat java.net.Socket.read(Socket.java)"
    findings = judged(changed(real(*names), "client1/stderr.txt", "Starting test.", thrown))
    assert findings["V29"].severity == "warn"
    assert message in findings["V29"].message


def test_reads_exceptions_beside_summary_without_status_lines():
    """Standard error without -s has no results of its own, but it is this client's."""
    files = real(*WITH_STATUS)
    for name in ("client0/stderr.txt", "client1/stderr.txt"):
        files[name] = "\n".join(line for line in files[name].splitlines() if " sec: " not in line) + "\n"
    files["client1/stderr.txt"] += "java.lang.IllegalStateException: closed\n"
    findings = judged(files)
    assert findings["V29"].severity == "warn"
    assert findings["V20"].severity == "pass"


def test_warns_of_client_without_status_lines():
    files = real(*WITH_STATUS)
    del files["client1/stderr.txt"]
    findings = judged(files)
    assert findings["V14"].severity == "warn"
    assert "client 1" in findings["V14"].message


def test_says_that_data_set_fits_cpu_cache():
    assert (
        judged(real(), properties={"recordcount": "10000"})["V30"].severity == "info"
    )  # warn where numbers are claimed
