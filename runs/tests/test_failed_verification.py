"""Wrong data rejects a run, whatever printed it and in whatever order; V33 says how many of how many."""

import json
import re
import shutil

import pytest

from runs.results.recording.recut import recut
from runs.tests.importing import DATA
from runs.tests.judged_files import JudgedRun, judge_files
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]

COMMAND = "Command line: -t -db site.ycsb.db.RedisClient -P workloads/workloada -threads 8 -p dataintegrity=true\n"


def output(verify: str, *, threads: int = 8) -> str:
    """A client of 0.17 that read and updated for three minutes."""
    lines = ["[OVERALL], RunTime(ms), 180000", "[OVERALL], Throughput(ops/sec), 4000.0"]
    for name in ("READ", "UPDATE"):
        lines += [
            f"[{name}], Operations, 360000",
            f"[{name}], AverageLatency(us), 1900.5",
            f"[{name}], MinLatency(us), 100",
            f"[{name}], MaxLatency(us), 90000",
            f"[{name}], 95thPercentileLatency(us), 3000",
            f"[{name}], 99thPercentileLatency(us), 5000",
            f"[{name}], Return=OK, 360000",
        ]
    return COMMAND.replace("8", str(threads)) + "\n".join(lines) + "\n" + verify


def verify(*returns: tuple[str, int], name: str = "VERIFY", count: int = 360_000, average: float = 12.5) -> str:
    lines = [
        f"[{name}], Operations, {count}",
        f"[{name}], AverageLatency(us), {average}",
        f"[{name}], MinLatency(us), 2",
        f"[{name}], MaxLatency(us), 900",
        f"[{name}], 95thPercentileLatency(us), 30",
        f"[{name}], 99thPercentileLatency(us), 60",
    ]
    return "\n".join([*lines, *(f"[{name}], Return={code}, {number}" for code, number in returns)]) + "\n"


def as_json(text: str) -> str:
    """The summary as YCSB's JSON array exporter writes it."""
    rows = re.findall(r"\[([\w-]+)\], ([^,]+), ([\d.]+)", text)
    entries = [{"metric": metric, "measurement": key, "value": json.loads(value)} for metric, key, value in rows]
    return text.partition("\n")[0] + "\n" + json.dumps(entries)


def judged(text: str) -> JudgedRun:
    (run,) = judge_files({"out.txt": text.encode()}).runs
    return run


WRONG = (("OK", 351_000), ("UNEXPECTED_STATE", 9_000))


@pytest.mark.parametrize(
    "text",
    [
        output(verify(*WRONG)),
        output(verify(("ERROR", 9_000), ("OK", 351_000))),
        output(verify(("OK", 351_000), ("NOT_FOUND", 9_000))),
        as_json(output(verify(*WRONG))),
        output(verify(*WRONG)).replace("\n", "\r\n"),
        output(verify(*WRONG, name="HdrVERIFY") + verify(*WRONG, name="BucketVERIFY")),
        # Measured under the name of the status, as a fork does with reportlatencyforeacherror.
        output(verify(("OK", 351_000), count=351_000) + verify(name="VERIFY-UNEXPECTED_STATE", count=9_000)),
        output(verify(("OK", 351_000), count=351_000) + verify(name="VERIFY-FAILED", count=9_000)),
        output("").replace("[READ], Operations", verify(*WRONG) + "[READ], Operations"),
    ],
    ids=["status", "ERROR", "NOT_FOUND", "JSON", "CRLF", "two types", "by status", "by failure", "before the reads"],
)
def test_rejects_wrong_data(text):
    finding = judged(text).findings["V33"]

    assert finding.severity == "reject"
    assert "9,000 of 360,000 verified reads" in finding.message


def test_rejects_result_codes_of_old_versions():
    """Before 0.8 VERIFY measures codes: 0 where data is right, 1 where it differs."""
    codes = (
        "[VERIFY], Operations, 1000\n[VERIFY], AverageLatency(us), 0.025\n[VERIFY], MinLatency(us), 0\n"
        "[VERIFY], MaxLatency(us), 1\n[VERIFY], 95thPercentileLatency(us), 0\n[VERIFY], 99thPercentileLatency(us), 1\n"
    )

    _, _, text = output(codes).replace("180000\n", "180000.0\n").partition("\n")

    finding = judged(text).findings["V33"]

    assert finding.severity == "reject"
    assert "25 of 1,000" in finding.message


@pytest.mark.parametrize("has_summary", [True, False], ids=["summary without it", "killed"])
def test_rejects_wrong_data_that_status_lines_count(has_summary):
    statuses = [
        f"2026-03-01 09:0{second // 60}:{second % 60:02}:000 {second} sec: {4000 * second} operations; 4000 current "
        "ops/sec; [READ: Count=20000, Max=9, Min=1, Avg=5, 90=6, 99=7, 99.9=8, 99.99=9] "
        "[VERIFY-UNEXPECTED_STATE: Count=500, Max=9, Min=1, Avg=5, 90=6, 99=7, 99.9=8, 99.99=9] "
        for second in range(10, 181, 10)
    ]
    command, *summary = output("").splitlines()

    run = judged("\n".join([command, *statuses, *(summary if has_summary else [])]) + "\n")

    assert run.findings["V33"].severity == "reject"
    assert "9,000" in run.findings["V33"].message


def test_accepts_right_data():
    run = judged(output(verify(("OK", 360_000))))

    assert run.findings["V33"].severity == "pass"
    assert run.operations == {"READ": 360_000, "UPDATE": 360_000}
    assert not run.checks("reject")


def test_does_not_assess_verification_without_codes():
    stated = judge_files({"out.txt": output("").encode()}, properties={"recordcount": "1000", "dataintegrity": "true"})
    assert stated.runs[0].findings["V33"].severity == "not_assessed"


def test_does_not_apply_without_verification():
    assert "V33" not in judged(output("").replace("-p dataintegrity=true", "")).findings


@pytest.mark.parametrize("names", [("summary.txt", "stderr.txt"), ()], ids=["summaries", "logs"])
def test_rejects_wrong_data_of_one_of_several_clients(names):
    files = {
        f"{number}/{path.name}": path.read_bytes()
        for number in (0, 1)
        for path in sorted((DATA / "two_clients" / str(number)).iterdir())
        if not names or path.name in names
    }
    files["1/summary.txt"] += verify(("OK", 990), ("UNEXPECTED_STATE", 10), count=1000).encode()

    (run,) = judge_files(files).runs

    assert len(run.files.clients) == 2
    assert run.findings["V33"].severity == "reject"
    assert "10 of 1,000" in run.findings["V33"].message


@pytest.mark.slow
@pytest.mark.django_db
def test_rejects_wrong_data_of_scheduled_run(team, user, artifact_folder, tmp_path):
    """Also of another cut, which has no summary any more."""
    for number in ("0", "1"):
        shutil.copytree(DATA / "two_clients" / number, tmp_path / number)
    with (tmp_path / "1" / "summary.txt").open("a") as summary:
        summary.write(verify(("OK", 990), ("ERROR", 10), count=1000))

    run = recorded_run(team, str(tmp_path / "0"), str(tmp_path / "1"))
    again = recut(run, warmup_s=2, tail_s=0, user=user)

    assert run.verdict == "reject"
    for measured in (run.measurement_sets.get(number=1), again):
        finding = measured.findings.get(check_id="V33")
        assert (finding.severity, finding.measured) == ("reject", "10 of 1,000 reads with wrong data")
