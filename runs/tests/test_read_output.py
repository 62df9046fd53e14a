"""read_output shows what is recognised in files, and needs neither a database nor anything else that runs."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command

from runs.ycsb.tests.samples import DATA

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SUMMARY = """YCSB Client 0.17.0
[OVERALL], RunTime(ms), 10018
[OVERALL], Throughput(ops/sec), 1666.8995807546416
[READ], Operations, 16699
[READ], AverageLatency(us), 3981.7847775315886
[READ], MinLatency(us), 2212
[READ], MaxLatency(us), 222207
[READ], 95thPercentileLatency(us), 6171
[READ], 99.9PercentileLatency(us), 10215
[READ], Return=OK, 16699
[CLEANUP], Operations, 0
[CLEANUP], AverageLatency(us), NaN
[CLEANUP], MinLatency(us), 9223372036854775807
[CLEANUP], MaxLatency(us), 0
[CLEANUP], 95thPercentileLatency(us), 0
[CLEANUP], 99.9PercentileLatency(us), 0
"""
RUN_KEYS = {"phase", "runtime_ms", "throughput_ops_s", "complete", "operations", "series"}
OPERATION_KEYS = {"count", "mean_us", "min_us", "max_us", "percentiles_us", "returns"}


def written(tmp_path: Path, text: str | bytes, name: str = "out.txt") -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def shown(*arguments: str) -> str:
    output = io.StringIO()
    call_command("read_output", *arguments, stdout=output)
    return output.getvalue()


def as_json(*arguments: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(shown(*arguments, "--json"))
    return data


def test_it_shows_a_file_in_the_shape_that_was_promised(tmp_path):
    path = written(tmp_path, SUMMARY)
    (file,) = as_json(path)["files"]
    assert {key: file[key] for key in ("file", "format", "version", "error")} == {
        "file": path, "format": "ycsb-text", "version": "0.17.0", "error": None,
    }  # fmt: skip
    (run,) = file["runs"]
    assert set(run) >= RUN_KEYS
    assert (run["runtime_ms"], run["throughput_ops_s"], run["complete"]) == (10018, 1666.8995807546416, True)
    assert run["series"] == {}
    assert all(set(operation) >= OPERATION_KEYS for operation in run["operations"].values())
    read = run["operations"]["READ"]
    assert {key: read[key] for key in OPERATION_KEYS} == {
        "count": 16699, "mean_us": 3981.7847775315886, "min_us": 2212, "max_us": 222207,
        "percentiles_us": {"95": 6171, "99.9": 10215}, "returns": {"OK": 16699},
    }  # fmt: skip
    nothing = run["operations"]["CLEANUP"]
    assert (nothing["count"], nothing["mean_us"], nothing["min_us"]) == (0, None, None)


def test_milliseconds_become_microseconds_and_series_are_shown(tmp_path):
    text = (
        "[OVERALL], RunTime(ms), 80.0\n[READ], Operations, 2\n[READ], AverageLatency(ms), 1.5\n"
        "[UPDATE], Operations, 3\n[UPDATE], AverageLatency(us), 7.5\n[UPDATE], 0, 12.5\n[UPDATE], 1000, NaN\n"
    )
    (run,) = as_json(written(tmp_path, text))["files"][0]["runs"]
    assert run["operations"]["READ"]["mean_us"] == 1500
    assert run["series"] == {"UPDATE": [[0, 12.5], [1000, None]]}


def test_histogram_logs_and_points_show_what_they_count(tmp_path):
    log = str(DATA / "two_clients/0/READ.hdr")
    points = written(tmp_path, "READ,1458262912345,834\nREAD,1458262913345,836\n")
    first, second = (file["runs"][0] for file in as_json(log, points)["files"])
    assert first["computed"] == second["computed"] == ["READ"]
    assert first["operations"]["READ"]["count"] == 14_892
    read = second["operations"]["READ"]
    assert (read["count"], read["min_us"], read["max_us"], read["mean_us"]) == (2, 834, 836, 835)
    assert second["throughput_ops_s"] is None


def test_fails_on_a_refused_file_and_still_shows_the_others(tmp_path, capsys):
    good, bad = written(tmp_path, SUMMARY), written(tmp_path, "nothing\n", "bad.txt")
    output = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("read_output", good, bad, str(tmp_path / "none.txt"), str(tmp_path), "--json", stdout=output)
    assert ended.value.code == 1
    files = json.loads(output.getvalue())["files"]
    assert [file["error"] is None for file in files] == [True, False, False, False]
    assert [file["runs"] == [] for file in files] == [False, True, True, True]
    assert "No such file" in files[2]["error"]
    assert "folder" in files[3]["error"]
    assert capsys.readouterr() == ("", "")


def test_it_shows_a_table_a_person_can_read(tmp_path):
    lines = shown(written(tmp_path, SUMMARY)).rstrip("\n").split("\n")
    assert lines[0].endswith("out.txt: ycsb-text 0.17.0, 1 run")
    assert lines[1] == "  run: measure, 10,018 ms, 1,666.9 ops/s, complete"
    assert lines[2].split() == ["count", "mean", "µs", "min", "p95", "p99.9", "max", "returns"]
    assert lines[3].split() == ["READ", "16,699", "3,981.8", "2,212", "6,171", "10,215", "222,207", "OK", "16,699"]
    assert lines[4].split() == ["CLEANUP", "0", "-", "-", "0", "0", "0"]
    assert lines[2].index("count") + 5 == lines[3].index("16,699") + 6


def test_warnings_and_reasons_stand_under_their_file(tmp_path):
    cut = gzip.compress(SUMMARY.encode() * 50)[:-30]
    assert "  warning: line " in shown(written(tmp_path, cut, "cut.txt.gz"))
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("read_output", written(tmp_path, "[READ] of a book\n", "bad.txt"), stdout=output)
    assert output.getvalue().split("\n")[1:3] == [
        "  This is not an output of YCSB or of its relatives: nothing of one is in its only line.",
        "    line 1: [READ] of a book",
    ]


def test_it_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(SUMMARY.encode()))))
    (file,) = as_json("-")["files"]
    assert (file["file"], file["runs"][0]["operations"]["READ"]["count"]) == ("standard input", 16699)


def test_it_merges_the_clients_of_a_run():
    logs = [str(DATA / f"two_clients/{client}/{name}.hdr") for client in (0, 1) for name in ("READ", "UPDATE")]
    (merged,) = as_json(*logs, "--merge")["merged"]
    assert merged["merged"] == "2 of 2 clients merged"
    assert merged["operations"]["READ"]["count"] == 14_892 + 14_560
    assert "merged run 1: measure, 2 of 2 clients merged, exact" in shown(*logs, "--merge")


def test_bounds_are_shown_as_bounds(tmp_path):
    paths = [written(tmp_path, SUMMARY.replace("6171", value), f"client-{value}.txt") for value in ("6171", "8171")]
    assert "6,171-8,171" in shown(*paths, "--merge")


def test_it_needs_nothing_that_runs(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BENCHSITE_SECRET_KEY": "for this test",
        "BENCHSITE_VAR": str(tmp_path / "var"),
    }
    command = [sys.executable, str(ROOT / "manage.py"), "read_output", written(tmp_path, SUMMARY), "--json"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["files"][0]["runs"][0]["complete"]
    assert not (tmp_path / "var").exists()
