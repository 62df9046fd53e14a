"""Output inside JSON strings gives the numbers of the output itself, whatever wrote the strings."""

import json

import pytest

from runs.ycsb.file_grouping import group
from runs.ycsb.readers.tests.test_writers import client, interleaved, read


def docker(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-03-01T00:00:01.1Z"})


def loki(line: str) -> str:
    return json.dumps({"timestamp": "1772323201", "labels": {"job": "bench"}, "line": line})


def cloudwatch(line: str) -> str:
    return json.dumps({"eventId": str(abs(hash(line))), "ingestionTime": 1772323201, "message": line})


@pytest.mark.parametrize("wrap", [docker, loki, cloudwatch])
def test_reads_lines_in_entries(wrap):
    text = "".join(wrap(line) + "\n" for line in client(1))
    (run,) = read(text).runs
    assert (run.throughput_ops_s, len(run.status), run.properties["threadcount"]) == (1100, 6, "4")
    assert run.operations["READ"].count == 66_000


@pytest.mark.parametrize("indent", [4, None])
def test_reads_list_of_lines(indent):
    result = {"changed": True, "out.stdout_lines": client(1)}
    (run,) = read(f"ok: [client1] => {json.dumps(result, indent=indent)}\n").runs
    assert (run.throughput_ops_s, len(run.status)) == (1100, 6)


def test_reads_whole_output_in_one_string():
    result = {"rc": 0, "stdout": "\n".join(client(1)), "stderr": ""}
    (run,) = read(json.dumps(result, indent=2)).runs
    assert (run.throughput_ops_s, len(run.status)) == (1100, 6)


def test_tells_writers_of_entries_apart():
    lines = interleaved(client(1), client(2))
    text = "".join(
        json.dumps({"log": line, "kubernetes": {"pod_name": f"ycsb-{number}", "labels": {}}}) + "\n"
        for number, line in lines
    )
    (run,) = group([read(text)])
    assert len(run.clients) == 2
