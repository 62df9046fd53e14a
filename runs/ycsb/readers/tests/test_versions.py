"""What each version of YCSB printed, what its numbers mean, and that exceptions are applied and named."""

import pytest

from runs.ycsb.numbers import ungrouped
from runs.ycsb.operation import Bucket, ReadOperation, SeriesPoint
from runs.ycsb.readers.tests.samples import metric, one, preamble, status, summary
from runs.ycsb.redact import HIDDEN

TOTALS = "[OVERALL], RunTime(ms), 10000.0\n[OVERALL], Throughput(ops/sec), 100.0\n"
OLD_BANNER = "YCSB Client 0.1\nCommand line: -db com.yahoo.ycsb.BasicDB -P workloads/workloada -t\n"
BUCKETS = (
    "".join(f"[{{name}}], {floor}, {count}\n" for floor, count in enumerate([900, 90, 0, 8])) + "[{name}], >4, 2\n"
)


def old_metric(name: str, unit: str = "us", percentile_unit: str = "ms") -> str:
    return (
        f"[{name}], Operations, 1000\n[{name}], AverageLatency({unit}), 450.5\n[{name}], MinLatency({unit}), 7\n"
        f"[{name}], MaxLatency({unit}), 9000\n[{name}], 95thPercentileLatency({percentile_unit}), 1\n"
        f"[{name}], 99thPercentileLatency({percentile_unit}), 3\n[{name}], Return=0, 1000\n" + BUCKETS.format(name=name)
    )


def said(run) -> str:
    return " ".join(note.text for note in run.warnings)


def test_it_reads_0_1_0_in_which_everything_is_milliseconds():
    text = "YCSB Client 0.1\n[OVERALL],RunTime(ms), 10000\n[OVERALL],Throughput(ops/sec), 100.0\n"
    run = one(text + old_metric("READ", "ms"))
    read = run.operations["READ"]
    assert (run.version, run.runtime_ms, run.throughput_ops_s) == ("0.1.0-0.1.2", 10_000, 100)
    assert (read.mean_us, read.min_us, read.max_us) == (450_500, 7000, 9_000_000)
    assert (read.percentiles_us, read.resolution_us) == ({"95": 1000, "99": 3000}, 1000)
    assert "0.1.0 to 0.1.2" in said(run)


def test_reads_0_1_4_with_read_modify_writes_in_ms():
    run = one(OLD_BANNER + TOTALS + old_metric("READ") + old_metric("READ-MODIFY-WRITE"))
    read, modify = run.operations["READ"], run.operations["READ-MODIFY-WRITE"]
    assert run.version == "0.1.3-0.1.4"
    assert (read.mean_us, read.percentiles_us) == (450.5, {"95": 1000, "99": 3000})
    assert (modify.mean_us, modify.max_us) == (450_500, 9_000_000)
    assert (modify.percentiles_us, modify.resolution_us) == ({"95": 1_000_000, "99": 3_000_000}, 1_000_000)
    assert modify.buckets[0] == Bucket(0, 1_000_000, 900)
    assert modify.count == read.count == 1000
    assert "READ-MODIFY-WRITE in milliseconds" in said(run)


def test_read_modify_writes_of_later_versions_stay_unscaled():
    run = one(TOTALS + old_metric("READ-MODIFY-WRITE") + old_metric("CLEANUP"))
    assert (run.version, run.operations["READ-MODIFY-WRITE"].mean_us) == ("0.2.0-0.3.1", 450.5)


def test_it_shows_the_p90_that_0_3_calls_p95():
    text = TOTALS + old_metric("READ").split("[READ], 0,")[0] + old_metric("CLEANUP").split("[CLEANUP], 0,")[0]
    run = one(text.replace("Operations, 1000", "Operations, 1000.0"))
    assert run.version == "0.2.0-0.3.1"
    assert run.operations["READ"].percentiles_us == {"90": 1000, "99": 3000}
    assert "90th percentile" in said(run)
    histogram = one(text)
    assert histogram.operations["READ"].percentiles_us == {"95": 1000, "99": 3000}


def test_it_reads_buckets():
    read = one(TOTALS + old_metric("READ")).operations["READ"]
    assert read.buckets == (
        Bucket(0, 1000, 900), Bucket(1000, 2000, 90), Bucket(3000, 4000, 8), Bucket(4000, None, 2),
    )  # fmt: skip
    assert read.series == ()


def test_it_reads_a_histogram_without_buckets():
    """From 0.13 on they are printed on demand only; the variance tells that the percentiles are coarse."""
    text = metric("READ", 1000).replace("[READ], Min", "[READ], LatencyVariance(us), 12.5\n[READ], Min")
    run = one(TOTALS + text)
    read = run.operations["READ"]
    assert (read.variance_us2, read.resolution_us, read.buckets) == (12.5, 1000, ())
    assert "cut off" in said(run)


def test_it_reads_a_histogram_that_lacks_a_percentile():
    """Where more values than 1 % lie beyond the last bucket, the 99th is not printed."""
    lines = [line for line in old_metric("READ").splitlines() if "99th" not in line]
    run = one(TOTALS + "\n".join(lines) + "\n" + old_metric("CLEANUP"))
    assert run.operations["READ"].percentiles_us == {"95": 1000}
    assert run.complete


def test_it_reads_the_recorded_values_of_hdrhistogram():
    rows = "[READ], 100, 3.0\n[READ], 2047, 5.0\n[READ], 2049, 1.0\n[READ], 4099, 991.0\n"
    read = one(TOTALS + metric("READ", 1000) + rows).operations["READ"]
    assert read.buckets == (
        Bucket(100, 101, 3), Bucket(2047, 2048, 5), Bucket(2048, 2050, 1), Bucket(4096, 4100, 991),
    )  # fmt: skip
    assert (read.resolution_us, read.series) == (None, ())


def test_it_reads_a_time_series():
    lines = [line for line in metric("READ", 1000).splitlines() if "Percentile" not in line]
    rows = "[READ], 0, 8912.27\n[READ], 1000, NaN\n[READ], 2000, 1.5E7\n"
    read = one(TOTALS + "\n".join(lines) + "\n" + rows).operations["READ"]
    assert read.series == (SeriesPoint(0, 8912.27), SeriesPoint(1000, None), SeriesPoint(2000, 1.5e7))
    assert (read.buckets, read.percentiles_us) == ((), {})


def test_it_reads_two_measurements_of_one():
    """hdrhistogram+histogram prints both, and return codes for the first only."""
    text = metric("HdrREAD", 1000) + old_metric("BucketREAD", percentile_unit="us").replace(
        "Return=0, 1000\n", "X, 1\n"
    )
    run = one(TOTALS + text)
    assert run.operations["HdrREAD"].resolution_us is None
    assert run.operations["BucketREAD"].resolution_us == 1000
    assert run.operations["BucketREAD"].returns == {}
    assert run.operations["BucketREAD"].extra == {"X": "1"}


def test_it_reads_the_summary_of_raw_points():
    text = (
        "READ latency raw data: op, timestamp(ms), latency(us)\nREAD,1458262912345,834\nREAD,1458262913345,1200\n"
        + TOTALS
        + "[READ], Total Operations, 1000\n[READ], Below is a summary of latency in microseconds:, -1\n"
        "[READ], Average, 450.5\n[READ], Min, 7\n[READ], Max, 9000\n[READ], p1, 8\n[READ], p99.9, 8000\n"
        "[READ], Return=OK, 1000\n"
    )
    run = one(text)
    assert run.operations["READ"] == ReadOperation(
        1000, 450.5, 7, 9000, percentiles_us={"1": 8, "99.9": 8000}, returns={"OK": 1000}
    )
    assert [(log.operation, int(log.count.sum())) for log in run.logs] == [("READ", 2)]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (TOTALS + metric("READ", 5) + metric("READ-FAILED", 5, returns=""), "0.6.0-0.8.0"),
        (OLD_BANNER + TOTALS + metric("READ", 5), "0.5.0-0.7.0"),
        (TOTALS + metric("READ", 5, returns="0"), "0.4.0"),
        (TOTALS + "[TOTAL_GCs], Count, 5.0\n" + metric("READ", 5), "0.9.0-0.12.0"),
        (summary(), "0.13.0-0.17.0"),
        (preamble() + summary(), "0.17.0"),
        ("java -cp /y/core-0.15.0.jar com.yahoo.ycsb.Client -t\n" + summary(), "0.15.0"),
        ("java -cp /y/x.jar site.ycsb.Client -t\n" + summary(), "0.17.0"),
        (status(1, 5, "READ").replace("90=", "50=3, 90=") + summary(), "0.18.0-SNAPSHOT"),
        ("[OVERALL], Throughput(ops/sec), 5.0\n", None),
    ],
)
def test_it_narrows_the_version_down(text, version):
    assert one(text).version == version


def test_codes_of_old_verifications_are_no_latencies():
    text = metric("VERIFY", 10).replace("MaxLatency(us), 9000", "MaxLatency(us), 2").replace("500.0", "0.25")
    run = one(TOTALS + metric("READ", 1000) + text)
    verify = run.operations["VERIFY"]
    assert (verify.count, verify.mean_us, verify.max_us, verify.percentiles_us) == (10, None, None, {})
    assert "VERIFY has no latencies" in said(run)
    assert one(summary() + metric("VERIFY", 10)).operations["VERIFY"].mean_us == 500


@pytest.mark.parametrize("version", ["0.10.0", "0.11.0"])
def test_it_says_where_batches_count_as_failed(version):
    text = TOTALS + "[TOTAL_GCs], Count, 5.0\n" + metric("INSERT-FAILED", 1000, returns="")
    text += "[INSERT], Operations, 0.0\n[INSERT], Return=BATCHED_OK, 1000\n"
    assert "count BATCHED_OK as failed" in said(one(f"YCSB Client {version}\n{text}"))
    assert "BATCHED_OK" not in said(one(f"YCSB Client 0.12.0\n{text}"))


@pytest.mark.parametrize(
    "stated", ["YCSB Client 0.10.0\n", "java -cp /y/core-0.10.0.jar com.yahoo.ycsb.Client -load\n"]
)
def test_stated_version_counts_if_the_copy_lacks_lines(stated):
    """Without garbage collection the layout alone would say that it is from 0.6 to 0.8."""
    text = TOTALS + metric("INSERT-FAILED", 1000, returns="").replace("Operations, 1000", "Operations, 1000.0")
    text += "[INSERT], Operations, 0.0\n[INSERT], Return=BATCHED_OK, 1000\n"
    run = one(stated + text)
    assert run.version == "0.10.0"
    assert "count BATCHED_OK as failed" in said(run)
    assert "not laid out" not in said(run)
    assert one("YCSB Client 0.1\n" + text).version == "0.6.0-0.7.0"


@pytest.mark.parametrize(
    ("stated", "text"),
    [("0.17.0", TOTALS + metric("READ", 1000)), ("0.10.0", summary()), ("0.5.0", summary())],
)
def test_stated_version_outranks_layout_with_a_note(stated, text):
    run = one(f"YCSB Client {stated}\n{text}")
    assert run.version == stated
    assert f"states YCSB {stated}, but is not laid out" in said(run)


def test_a_development_build_of_0_2_measures_all_in_microseconds():
    """It states 0.1.4, in which a read-modify-write is a thousandth of what it should be."""
    text = "java -cp /y/core-0.1.4.jar com.yahoo.ycsb.Client -t\n" + TOTALS + old_metric("READ-MODIFY-WRITE")
    assert one(text).operations["READ-MODIFY-WRITE"].mean_us == 450_500
    run = one(text + old_metric("CLEANUP"))
    assert (run.version, run.operations["READ-MODIFY-WRITE"].mean_us) == ("0.1.4", 450.5)
    assert "development build" in said(run)


def test_it_says_where_failures_are_mixed_in():
    assert "together with the successful" in said(one(OLD_BANNER + TOTALS + metric("READ", 5, returns="-1")))


def test_it_tells_response_times_that_have_plain_names():
    run = one(preamble("-p measurement.interval=intended -t") + summary())
    assert run.properties["measurement.interval"] == "intended"
    assert "response times" in said(run)


@pytest.mark.parametrize(
    ("arguments", "phase"),
    [
        ("-load", "load"),
        ("-t", "measure"),
        ("-s", "measure"),
        ("-load -t", "measure"),
        ("-p dotransactions=false", "load"),
    ],
)
def test_it_tells_the_phase_by_the_command(arguments, phase):
    assert one(preamble(arguments) + summary()).phase == phase


@pytest.mark.parametrize(
    ("counts", "phase"),
    [
        ({"INSERT": 5}, "load"),
        ({"INSERT": 5, "SCAN": 5}, "measure"),
        ({"Join": 5}, None),
        ({"INSERT_FAILED": 5}, "load"),
    ],
)
def test_it_tells_the_phase_by_the_operations(counts, phase):
    assert one(summary(**counts)).phase == phase


def test_it_keeps_operations_and_measurements_of_forks():
    text = TOTALS + metric("Join", 300) + "[Join], Rows(count), 12\n[SUM], Operations, 700\n[Colour], of, blue\n"
    run = one(text)
    assert set(run.operations) == {"Join", "SUM"}
    assert run.operations["Join"].extra == {"Rows(count)": "12"}
    assert run.complete


def test_it_keeps_the_process_apart():
    text = "[MAX_MEM_USED], MBs, 512\n[MIN_SYS_LOAD_AVG], Load, 4.9E-324\n[USED_MEM_MB], AverageLatency(us), 300.5\n"
    run = one(summary() + text)
    assert set(run.operations) == {"CLEANUP", "READ", "UPDATE"}
    assert run.process["MAX_MEM_USED MBs"] == 512
    assert run.process["USED_MEM_MB AverageLatency(us)"] == 300.5


# --- secrets -----------------------------------------------------------------------------------------------------


def test_no_secret_stays():
    secret = "hunter2"
    arguments = f"-p db.passwd={secret} -p mongodb.url=mongodb://alice:{secret}@host/ycsb -p redis.host=h -threads 4 -t"
    text = (
        f"java -cp /y/core-0.17.0.jar site.ycsb.Client {arguments}\nCommand line: {arguments}\nYCSB Client 0.17.0\n"
        f"mongo client connection created with mongodb://alice:{secret}@host/ycsb\n"
        f"java.net.ConnectException: password={secret} refused\n" + summary()
    )
    run = one(text)
    assert secret not in repr(run)
    assert (run.properties["db.passwd"], run.properties["redis.host"]) == (HIDDEN, "h")
    assert run.properties["mongodb.url"] == f"mongodb://alice:{HIDDEN}@host/ycsb"
    assert run.symptoms


def test_a_value_with_blanks_goes_on_until_the_next_option():
    properties = one(preamble("-p label=two words here -p a=1 -l mine -t") + summary()).properties
    assert (properties["label"], properties["a"]) == ("mine", "1")
    assert one(preamble("-p note=two words -t") + summary()).properties["note"] == "two words"


# --- numbers that people touched ---------------------------------------------------------------------------------


def test_thousands_separators_are_removed_if_certain():
    text = summary(READ=44_214_000).replace("44214000", "44,214,000").replace("Time(ms), 10000\n", "Time(ms), 10,000\n")
    run = one(text)
    assert (run.operations["READ"].count, run.operations["READ"].returns) == (44_214_000, {"OK": 44_214_000})
    assert (run.runtime_ms, run.complete) == (10_000, True)


def test_a_comma_that_may_be_anything_is_not_guessed():
    run = one(summary().replace("Throughput(ops/sec), 100.0", "Throughput(ops/sec), 1,234"))
    assert (run.throughput_ops_s, run.runtime_ms) == (None, 10_000)
    assert "its comma may part thousands or decimals" in said(run)
    read = one(TOTALS + metric("READ", 1000, mean=5).replace("Latency(us), 5\n", "Latency(us), 1,234\n")).operations[
        "READ"
    ]
    assert (read.mean_us, read.extra) == (None, {"AverageLatency(us)": "1,234"})


def test_a_decimal_comma_is_read_where_it_can_be_nothing_else():
    text = summary().replace("(us), 500.0", "(us), 12,5").replace("(ops/sec), 100.0", "(ops/sec), 100,0")
    run = one(text)
    assert (run.operations["READ"].mean_us, run.operations["READ"].extra) == (12.5, {})
    assert (run.throughput_ops_s, run.complete, said(run)) == (100.0, True, "")
    line = status(1, 100, "READ").replace("Avg=512.34", "Avg=512,34")
    assert one(line).status[0].operations["READ"].avg == 512.34


def test_integers_printed_as_doubles_may_have_decimal_comma():
    run = one(TOTALS.replace("10000.0", "10000,0") + metric("READ", 1000).replace("1000\n", "1000,0\n"))
    assert (run.runtime_ms, run.operations["READ"].count, run.version) == (10_000, 1000, "0.5.0-0.8.0")


def test_it_warns_of_every_value_whose_comma_may_be_anything():
    text = (
        summary().replace("(us), 500.0", "(us), 1,234").replace("[READ], Operations, 600", "[READ], Operations, 6,0,0")
    )
    run = one(text)
    assert [note.text.partition(" reads")[0] for note in run.warnings if "its comma" in note.text] == [
        "[CLEANUP], AverageLatency(us)",
        "[READ], Operations",
        "[READ], AverageLatency(us)",
        "[UPDATE], AverageLatency(us)",
    ]


@pytest.mark.parametrize(
    ("text", "is_whole", "digits"),
    [
        ("12,5", False, "12.5"),
        ("0,125", False, "0.125"),
        ("1234,567", False, "1234.567"),
        ("1,234", False, None),
        ("1,234", True, "1234"),
        ("1,234.5", False, "1234.5"),
        ("1,234,567", False, "1234567"),
        ("1,23,456", False, None),
        ("1.234,5", False, None),
        ("12.5", False, "12.5"),
    ],
)
def test_commas_are_read_where_they_are_certain(text, is_whole, digits):
    assert ungrouped(text, is_whole=is_whole) == digits


# --- files that were cut -----------------------------------------------------------------------------------------


def test_a_cut_value_is_left_out():
    text = summary().rstrip("\n")
    assert one(text).complete, "the last return code makes up the number of operations"
    cut = one(text[:-1])
    assert (cut.complete, cut.operations["UPDATE"].returns, cut.operations["UPDATE"].count) == (False, {}, 400)
    assert "in the middle of a line" in said(cut)


@pytest.mark.slow
def test_wherever_an_output_is_cut_it_is_not_called_complete():
    text = preamble() + summary(INSERT=3, READ=600, READ_MODIFY_WRITE=200, UPDATE=400, READ_FAILED=7)
    whole = one(text)
    start = text.index("[OVERALL]")
    for end in range(start + 30, len(text) - 1):
        (run,) = (one(text[:end]),)
        assert not run.complete, text[:end][-60:]
        for name, operation in run.operations.items():
            assert operation.count in (None, whole.operations[name].count)
            assert operation.percentiles_us.items() <= whole.operations[name].percentiles_us.items()


def test_it_says_when_metrics_are_missing():
    run = one(summary(READ=600, UPDATE=400).split("[UPDATE]")[0])
    assert not run.complete and "1,000 operations, the metrics of 600" in said(run)
