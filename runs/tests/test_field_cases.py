"""The cases of the field give the values that their READMEs state, or a clear refusal.

The collection is read from ../shared, as the corpus is; what it taught is tested with inputs of our own beside this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from django.conf import settings

from runs.tests.judged_files import JudgedUpload, files_below, judge_files
from runs.uploads.file_redaction import without_secrets
from runs.ycsb.merged import MergedRun

CASES = settings.BASE_DIR.parent / "shared" / "data" / "field-cases"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"{CASES} is not on this machine: it holds the cases of the field"),
]


@dataclass(frozen=True)
class Run:
    """One run as it is to be stored. None: the README says nothing about it."""

    operations: Mapping[str, int] | None = None  # successful ones
    throughput_ops_s: float | None = None  # NaN: there is none
    clients: int = 1
    phase: str | None = "measure"
    failed: int = 0
    rejected: frozenset[str] | None = frozenset()  # the checks that reject; None: nothing is said of them
    warned: frozenset[str] = frozenset()  # some of the checks that warn
    statuses: int | None = None  # status lines of each client
    means_us: Mapping[str, float] = field(default_factory=dict)
    is_exact: bool = False  # its percentiles are those of histograms


@dataclass(frozen=True)
class Case:
    path: str  # of a file, or of a folder with all its files
    runs: tuple[Run, ...] = ()
    refused: str = ""  # a part of the refusal
    says: str = ""  # a part of what a person is told
    never_says: str = ""
    grouping: str = "told"
    threads: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def rejected(*checks: str) -> frozenset[str]:
    return frozenset(checks)


def even(total: int, rate: float, **more: object) -> Run:
    """A workload A whose reads and updates are known together."""
    return Run({"": total}, rate, **more)  # type: ignore[arg-type]


HALVES = {"READ": 120_000, "UPDATE": 120_000}
ONE_MINUTE = Run(HALVES, 4000)
THREE_MINUTES = even(720_000, 4000)
WITH_STATUSES = replace(THREE_MINUTES, statuses=18)
SIX_STATUSES = replace(ONE_MINUTE, statuses=6)
TWO_CLIENTS = Run({"": 1_420_000}, 7888.9, clients=2)

PREFIXES = (
    "compose-v1", "compose-v2-ansi", "cri", "fabric", "github-actions-job", "github-actions", "gitlab",
    "grep-file-prefix", "jenkins-plain-ts", "jenkins", "journald", "kubectl-prefix-timestamps", "kubectl-prefix",
    "kubectl-timestamps", "line-numbers", "log4j", "nohup-script", "pdsh-one", "pssh", "python-logging", "quoted-tee",
    "stern", "syslog-iso", "tabs", "spdlog", "ansible-console",
)  # fmt: skip
TWO_PODS = (
    "compose", "compose-v2", "fabric", "journald", "one-after-the-other", "pdsh", "pdsh-dshbak", "pods", "stern",
    "systemd-same-host",
)  # fmt: skip

ALL = (
    Case("00-control", (THREE_MINUTES,)),
    Case("01-ycsbc-hdr-us-buckets", (
        Run({"READ": 50_120, "UPDATE": 49_880}, 80_000, rejected=rejected("V01"),
            means_us={"READ": 5.25, "UPDATE": 14.1}),
    )),
    Case("02-histogram-ranges-fork", (Run({"READ": 100_000}, 5000, rejected=None),)),
    Case("03-ycsb-rs", (Run({}, 40_000, phase=None, rejected=rejected("E01")),), says="states no operation"),
    Case("05-cumulative-blocks", (Run({"WRITE": 36_478}, 1215.9, failed=122, rejected=None),)),
    Case("06-script-merged", (Run({"UPDATE": 10_000}, rejected=rejected("E01")),)),
    Case("07-readme-fences", (
        Run({"UPDATE": 905}, 101.5, rejected=None),
        Run({"UPDATE": 911}, 24.25, rejected=None),
    )),
    Case("08-comments-behind-values", (Run({"READ": 516, "UPDATE": 484}, 250, rejected=None),)),
    Case("09-markdown-table-br", refused="a table made of outputs"),
    Case("10-markdown-comparison", refused="a table made of outputs"),
    Case("11-goycsb-transactions", (Run({"READ": 60_000, "UPDATE": 60_000}, 12_000, failed=500, rejected=None),)),
    Case("12-goycsb-wrapped", (
        Run({"INSERT": 100_000}, phase="load", rejected=None),
        Run({"READ": 110_000, "UPDATE": 5_800}, 1930, failed=12, rejected=None),
    )),
    Case("14-interleaved-statuses/nohup.out", refused="Several clients"),
    Case("14-interleaved-statuses/with-summaries.out", refused="Several clients"),
    Case("15-status-twice", (
        Run({"READ": 20_000, "UPDATE": 28_500}, failed=8_500, rejected=rejected("V01", "V07"), statuses=6),
    )),
    Case("16-timeseriesops/decimals.txt", (Run({"READ": 900_540}, 5003),)),
    Case("16-timeseriesops/out.txt", (Run({"READ": 100_190}, 5009.5, rejected=None),), says="operations of a second"),
    Case("17-timeseries-repeats", (Run({"READ": 84_000}, 400, rejected=rejected("V01")),)),
    *(Case(f"18-prefixes/{name}.txt", (ONE_MINUTE,)) for name in PREFIXES),
    *(Case(f"19-two-pods-interleaved/{name}.log", (TWO_CLIENTS,)) for name in TWO_PODS),
    Case("20-compression/macos.zip", (ONE_MINUTE,)),
    Case("20-compression/out.tar.bz2", refused="bzip2"),
    Case("20-compression/out.txt.bz2", refused="bzip2"),
    Case("20-compression/out.txt.xz", refused="xz"),
    Case("20-compression/truncated.txt.gz", refused="cut off"),
    Case("20-compression/two-members.txt.gz", (ONE_MINUTE,)),
    Case("21-powershell/out-utf16.txt", (SIX_STATUSES,)),
    Case("21-powershell/mixed-append.txt", (
        Run({"": 240_000}, 4000, rejected=None), Run({"": 120_000}, 2000, rejected=None),
    )),
    Case("22-decimal-comma/out.txt", (SIX_STATUSES,)),
    Case("22-decimal-comma/german-summary.txt", refused="[OVERALL]; RunTime(ms); 60000"),
    Case("23-tail-append", (
        Run({"": 240_000}, 4000),
        Run({"READ": 100_000, "UPDATE": 50_100, "READ-MODIFY-WRITE": 50_100}, rejected=None),
        Run({"READ": 150_000}, 5000),
    )),
    Case("24-out-and-err/client1", (even(240_000, 4000),)),
    Case("24-out-and-err/client2", (even(180_000, 3000, rejected=None),)),
    Case("24-out-and-err/flat", (even(240_000, 4000),)),
    Case("26-threads-died", (Run(HALVES, 4000, warned=rejected("V29")),), says="OutOfMemoryError"),
    Case("29-threads-end-apart", (Run({"READ": 770_000}, warned=rejected("V09", "V11", "V12")),)),
    Case("31-threads-vs-cleanup", (Run(HALVES, 4000, rejected=rejected("V01")),)),
    Case("32-misspelt-property", (Run({"": 1000}, 1111.1, rejected=None),), says="operationcount"),
    Case("33-more-than-2-31/big.txt", (Run({"": 3_000_000_000}, 69_444.4, rejected=None),)),
    Case("33-more-than-2-31/overflowed.txt", (Run(rejected=rejected("E01", "V01", "V23")),)),
    Case("34-odd-numbers/arabic-digits.txt", (Run({"READ": 240_000}, 4000),)),
    Case("34-odd-numbers/fullwidth-infinity.txt", (Run({"READ": 12}, np.nan, rejected=rejected("V23")),)),
    Case("34-odd-numbers/nan.txt", (Run({}, np.nan, rejected=rejected("E01")),)),
    Case("34-odd-numbers/negative-latency.txt", (Run({"READ": 240_000}, rejected=rejected("V01", "V22")),)),
    Case("34-odd-numbers/zero-runtime.txt", (Run({"READ": 12}, np.nan, rejected=rejected("V23")),)),
    Case("35-foreign-tools/go-tpc.txt", refused="TPC-C"),
    *(
        Case(f"35-foreign-tools/{name}", refused="not an output of YCSB")
        for name in ("cassandra-stress.txt", "memtier.json", "memtier.txt", "sysbench.txt", "yb-sample-app.txt")
    ),
    *(Case(f"36-json-by-hand/{name}", (ONE_MINUTE,)) for name in ("lines.jsonl", "strings.json", "wrapped.json")),
    Case("36-json-by-hand/nested.json", refused="not an output of YCSB"),
    Case("36-json-by-hand/truncated.json", (Run(HALVES, 4000, rejected=rejected("E01")),)),
    Case("37-csv-by-hand/stripped.csv", (ONE_MINUTE,)),
    *(
        Case(f"37-csv-by-hand/{name}.csv", refused="[OVERALL]")
        for name in ("excel-de", "quoted-stripped", "quoted", "semicolon")
    ),
    Case("41-daylight-saving", (even(2_400_000, 4000),)),
    Case("42-sequential-no-times", (Run({"": 1_420_000}, clients=2, warned=rejected("V14")),)),
    Case("43-same-file-twice", (Run({"": 1_440_000}, clients=2, rejected=rejected("V27")),)),
    Case("45-same-insert-range/client-*.txt",
         (Run({"INSERT": 2_000_000}, clients=2, phase="load", rejected=rejected("V32")),),
         says="1,000,000 different keys"),
    Case("45-same-insert-range/partial",
         (Run({"INSERT": 2_000_000}, clients=2, phase="load", rejected=rejected("V32")),),
         says="1,500,000 different keys"),
    Case("46-proportions-add-up", (even(720_000, 4000, rejected=rejected("V08")),),
         says="INSERT 2.5\u202f%, SCAN 47.5\u202f%", properties={"recordcount": "1000"}),
    Case("47-secrets", (THREE_MINUTES,)),
    Case("48-intended-huge", (even(720_000, 4000, warned=rejected("V09")),)),
    Case("49-goycsb-properties", (Run({"": 2_400_000}, 13_332),)),
    Case("49-goycsb-properties", (Run({"": 2_400_000}, 13_332, rejected=rejected("V01", "V28")),), says="recordcount",
         threads=8, properties={"recordcount": "77"}),
    Case("50-periodic-histogram/out.txt", (THREE_MINUTES,)),
    Case("50-periodic-histogram/only-json.txt", refused="not an output of YCSB"),
    Case("52-load-cut", (Run({"INSERT": 400_000}, phase="load", rejected=rejected("E01")),)),
    Case("55-p-threads-only", (THREE_MINUTES,)),
    Case("55-p-threads-only", (even(720_000, 4000, rejected=rejected("V01")),), threads=100),
    Case("56-restarted-container", (Run({"": 710_000}, 3944.4, warned=rejected("V29")),), says="not stored"),
    Case("57-raw-real-order", (
        Run({"READ": 12_000, "UPDATE": 15_000}, failed=3_000, rejected=rejected("V01", "V07"), is_exact=True),
    )),
    Case("60-goycsb-bucket-overflow/out.txt", (Run({"": 240_000}, 1333.2),), says="above 1.024 s",
         never_says="what is quicker reads as 0"),
    Case("60-goycsb-bucket-overflow/p99-known.txt", (Run({"": 240_000}, 1333.2),)),
    Case("61-goycsb-warmuptime", (Run({"": 2_400_000}, 13_333.3),)),
    Case("62-goycsb-batches/load.txt", (Run({"INSERT": 1_000_000}, 10_000, phase="load"),)),
    Case("62-goycsb-batches/run.txt", (Run({"READ": 1_200_000, "UPDATE": 1_200_000}, 13_330),)),
    Case("63-cat-of-clients/all.txt", (TWO_CLIENTS,), grouping="together", threads=16),
    Case("63-cat-of-clients/all.txt", (TWO_CLIENTS,)),
    Case("63-cat-of-clients/no-status.txt", (Run({"": 1_420_000}, 7888.9, clients=2, warned=rejected("V14")),),
         grouping="together", threads=16),
    Case("63-cat-of-clients/apart.txt", (THREE_MINUTES, even(700_000, 3888.9))),
    Case("64-raw-rerun-with-summary/raw.csv", (
        Run({"READ": 12_000}, 66.7, rejected=None), Run({"READ": 10_000}, 55.6, rejected=None),
    )),
    Case("64-raw-rerun-with-summary", (Run({"READ": 10_000}, 55.6, rejected=rejected("V01")),), says="12,000"),
    *(
        Case(f"65-hdr-logs-apart-from-summary/{name}", (replace(THREE_MINUTES, is_exact=True),))
        for name in ("control-same-stem", "prefix-test", "subfolder-histograms")
    ),
    Case("65-hdr-logs-apart-from-summary/two-clients", (Run({"": 1_440_000}, 8000, clients=2, is_exact=True),)),
    Case("66-hdr-nanoseconds/absolute.hlog", (Run({"READ": 36_000}, 200, rejected=rejected("V01")),)),
    Case("66-hdr-nanoseconds/jhiccup.hlog", (Run(rejected=rejected("V01")),)),
    Case("66-hdr-nanoseconds/nosqlbench.hdr", (Run(rejected=rejected("V01")),)),
    Case("67-recordcount-over-2-31/goycsb.txt", (Run({"": 2_400_000}, 13_332),)),
    Case("67-recordcount-over-2-31/java.txt", (THREE_MINUTES,)),
    Case("68-summary-twice", (THREE_MINUTES,)),
    Case("69-killed-no-summary", (Run({"": 720_000}, rejected=rejected("E01")),)),
    Case("70-hung-threads", (even(720_000, 4000, warned=rejected("V29")),)),
    Case("71-ycsb-t", (even(720_000, 4000),)),
    Case("72-trackjvm", (THREE_MINUTES,)),
    Case("73-archive-with-others", refused="top.txt"),
    # A binding without a database: V28.
    Case("74-two-in-one/real-hdr-histogram.txt", (
        Run({"READ": 4_128, "UPDATE": 3_872}, 3501.1, rejected=rejected("V28")),
    )),
    Case("74-two-in-one/real-hdr-raw.txt", (Run({"READ": 4_004, "UPDATE": 3_996}, 2674.7, rejected=rejected("V28")),)),
    Case("75-latency-for-each-error/failed.txt", (even(678_000, 3766.7, failed=42_000, rejected=rejected("V07")),)),
    Case("75-latency-for-each-error/out.txt", (even(678_000, 3766.7, failed=42_000, rejected=rejected("V07")),)),
    Case("76-ycsb-cpp-scientific", (
        Run({"INSERT": 50_000_000}, 1_599_940, phase="load"),
        Run({"READ": 25_000_000, "UPDATE": 25_000_000}, 1_440_260),
    )),
    Case("77-label/glued.txt", (WITH_STATUSES,)),
    Case("77-label/out.txt", (WITH_STATUSES,)),
    Case("78-inserts-of-two-clients", (Run(None, clients=2, warned=rejected("V32")),), says="same keys"),
    Case("79-json-bare-nan", (THREE_MINUTES,)),
    Case("80-many-percentiles", (THREE_MINUTES,)),
    Case("82-couchbase-transactions", (even(720_000, 4000),)),
    Case("83-nul-bytes", (THREE_MINUTES,)),
    Case("84-carriage-returns", (WITH_STATUSES,)),
    Case("85-target-of-each-client", (Run({"": 720_000}, 4000, clients=2),)),
    *(
        Case(f"86-other-ycsb-runners/{name}", refused="not an output of YCSB")
        for name in (
            "benchbase.raw.csv", "benchbase.summary.json", "cockroach-workload.txt", "pebble-bench.txt",
            "redis-benchmark.csv",
        )
    ),
    Case("87-verify-failed/out.txt", (even(720_000, 4000, rejected=rejected("V33")),), says="9,000 of 360,016"),
    Case("87-verify-failed/real-ycsb-0.17.txt", (Run({"": 16_000}, rejected=rejected("V28", "V33")),),
         says="7,970 of 7,970"),
    Case("88-goycsb-load-collapses", (Run({"INSERT": 990_000}, phase="load"),)),
)  # fmt: skip


def get_name(case: Case) -> str:
    words = [case.path, case.grouping if case.grouping != "told" else "", str(case.threads or "")]
    return " ".join(filter(None, words))


def judge(case: Case) -> JudgedUpload:
    path = CASES / case.path
    names = sorted(file.name for file in path.parent.glob(path.name))
    files = files_below(path) if path.is_dir() else files_below(path.parent, *names)
    return judge_files(
        files, grouping=case.grouping, threads=case.threads, properties=case.properties, purpose="measured"
    )


@pytest.mark.parametrize("case", ALL, ids=get_name)
def test_gives_stated_value(case: Case):
    upload = judge(case)

    assert case.refused in upload.refusal, upload.refusal
    assert bool(case.refused) == bool(upload.refusal), upload.refusal
    assert case.says in upload.sentences, upload.sentences
    assert not case.never_says or case.never_says not in upload.sentences, upload.sentences
    assert len(upload.runs) == len(case.runs), [run.operations for run in upload.runs]
    for run, expected in zip(upload.runs, case.runs, strict=True):
        assert (run.files.phase, len(run.files.clients)) == (expected.phase, expected.clients)
        if expected.operations is not None:
            operations = {name: count or 0 for name, count in run.operations.items()}
            assert (operations if "" not in expected.operations else {"": sum(operations.values())}) == dict(
                expected.operations
            )
            assert (run.merged.failed_operations or 0) == expected.failed
        if expected.throughput_ops_s is not None:
            throughput = run.merged.throughput_ops_s
            assert (np.nan if throughput is None else throughput) == pytest.approx(
                expected.throughput_ops_s, rel=2e-3, nan_ok=True
            )
        for client in run.files.clients if expected.statuses is not None else ():
            assert client.summary is not None and len(client.summary.status) == expected.statuses
        means_us = {entry.operation: entry.mean_us for entry in run.merged.operations if entry.kind == "service"}
        assert means_us | dict(expected.means_us) == means_us
        assert isinstance(run.merged, MergedRun) or not expected.is_exact
        rejecting = run.checks("reject") - {"V05"}  # many are cut short
        messages = {check_id: run.findings[check_id].message for check_id in rejecting}
        assert expected.rejected is None or rejecting == expected.rejected, messages
        assert expected.warned <= run.checks("warn") | rejecting, run.sentences


def test_keeps_no_secret():
    content = (CASES / "47-secrets" / "out.txt").read_bytes()
    secrets = (
        b"wJalr", b"acc#9", b"AbCdEf123", b"tok_998", b"Cb!23", b"hunter2", b"ElaPw7", b"PgPass1", b"MonGo",
        b"Pw3iaq1M",
    )  # fmt: skip

    stored, _ = without_secrets(content)

    assert all(secret in content for secret in secrets)
    assert not [secret for secret in secrets if secret in stored]
