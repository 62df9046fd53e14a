"""Outputs that people averaged over several runs, and values that are no numbers: kept and marked, never dropped."""

import re

from runs.checks import Surroundings, collect_facts, judge_run, profile
from runs.ycsb.readers.tests.samples import read_text
from runs.ycsb.summary import parse_summary
from runs.ycsb.summary_client import SummaryClient
from runs.ycsb.summary_run import summarise
from runs.ycsb.tests.samples import DATA

REAL = (DATA / "two_clients" / "0" / "summary.txt").read_text()


def averaged(text: str) -> str:
    """As a script writes the mean of three runs: every count with a third behind it."""
    return re.sub(r"(Operations|Return=OK), (\d+)", r"\1, \2.3333333333", text)


def test_keeps_values_of_average():
    (run,) = read_text(averaged(REAL))
    assert run.complete
    assert (run.operations["READ"].count, run.operations["READ"].is_average) == (14_892, True)
    assert run.operations["READ"].returns == {"OK": 14_892}
    assert run.operations["READ"].mean_us == 314.95225624496373
    assert any("averages of several runs" in note.text for note in run.warnings)


def test_marks_average_and_does_not_check_its_arithmetic():
    (run,) = read_text(averaged(REAL))
    facts = collect_facts(
        summarise([SummaryClient(0, run)]), threads=2, context=Surroundings(made_elsewhere=True), phase="measure"
    )
    findings = {finding.check_id: finding for finding in judge_run(facts, profile("smoke"))}
    assert findings["E01"].severity == "pass"
    assert findings["V22"].severity == "warn"
    assert "means over clients or runs" in findings["V22"].message
    assert findings["V23"].severity == "not_assessed"


def test_reads_whole_counts_as_before():
    (run,) = read_text(REAL)
    assert not run.operations["READ"].is_average
    assert not any("averages" in note.text for note in run.warnings)


def test_keeps_infinity_unparsed():
    text = re.sub(r"Throughput\(ops/sec\), [\d.]+", "Throughput(ops/sec), Infinity", REAL)
    text = text.replace("[READ], MaxLatency(us), 52959", "[READ], MaxLatency(us), Infinity")
    (run,) = read_text(text)
    assert run.throughput_ops_s is None
    assert run.operations["READ"].max_us is None
    assert run.operations["READ"].extra == {"MaxLatency(us)": "Infinity"}
    assert parse_summary(text).throughput_ops_s is None
