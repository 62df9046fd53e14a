"""The JSON exporters say the same as the text of the same run, whole, wrapped, mixed with text, or cut."""

import io
import json
import re

import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.metric import split_line
from runs.ycsb.readers import read_file
from runs.ycsb.readers.tests.samples import metric, one, preamble, read_json, statuses, summary

TEXT = summary(READ=600, UPDATE=400, READ_FAILED=7)


def build_objects(text: str) -> list[str]:
    """The lines of a summary as Jackson 1.9 writes them, numbers as Java prints them and NaN in quotes."""
    found = []
    for line in text.splitlines():
        name, key, value = split_line(line) or ("", "", "")
        value = value if re.fullmatch(r"-?\d[\d.]*(?:E-?\d+)?", value) else json.dumps(value)
        found.append(f'{{\n  "metric" : "{name}",\n  "measurement" : "{key}",\n  "value" : {value}\n}}')
    return found


def sequence(text: str) -> str:
    return " ".join(build_objects(text))


def array(text: str) -> str:
    return "[ " + ", ".join(build_objects(text)) + " ]"


WRAPPINGS = {
    "sequence": sequence(TEXT),
    "array": array(TEXT),
    "array with a line end": array(TEXT) + "\n",
    "in an object": '{"results": {"ycsb": ' + array(TEXT) + '}, "host": "a"}\n',
    "a list of arrays": "[" + array(TEXT) + "]\n",
    "one object a line": "\n".join(json.dumps(json.loads(item)) for item in build_objects(TEXT)) + "\n",
    "compact": json.dumps([json.loads(item) for item in build_objects(TEXT)], separators=(",", ":")),
    "with more keys": array(TEXT).replace('"metric"', '"host" : "a", "metric"'),
}


def same(text: str, size: int = 1 << 20):
    (run,) = read_json(text, size)
    plain = one(TEXT)
    assert run.operations == plain.operations
    assert (run.runtime_ms, run.throughput_ops_s) == (plain.runtime_ms, plain.throughput_ops_s)
    assert run.process == plain.process
    assert (run.format, run.version, run.phase) == ("ycsb-json", plain.version, plain.phase)
    return run


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_it_reads_what_the_exporters_write(wrapping):
    assert same(WRAPPINGS[wrapping]).complete


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(list(WRAPPINGS)), st.integers(1, 3000))
def test_it_does_not_matter_in_what_blocks_it_comes(wrapping, size):
    same(WRAPPINGS[wrapping], size)


def test_it_reads_status_lines_and_commands_between():
    text = preamble() + statuses(10, "READ") + array(TEXT) + "\nCould not wait until max specified time\n"
    (run,) = read_json(text)
    assert (len(run.status), run.version, run.properties["threadcount"]) == (11, "0.17.0", "8")
    assert run.operations == one(TEXT).operations


@pytest.mark.parametrize("write", [sequence, array])
def test_the_front_door_finds_objects_behind_text(write):
    text = preamble() + statuses(10, "READ") + "driver {a, b}\nsettings {\n" * 3 + write(TEXT) + "\n"
    (file,) = read_file("client.txt", io.BytesIO(text.encode()))
    (run,) = file.runs
    assert (file.format, file.version, run.phase, len(run.status)) == ("ycsb-json", "0.17.0", "measure", 11)
    assert run.operations == one(TEXT).operations
    assert run.complete


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400))
def test_text_alone_is_text(size):
    text = preamble() + "cluster {hosts=[a], mode=X}\nsettings {\n  a [READ], b {\n" + statuses(3, "READ") + TEXT
    (run,) = read_json(text, size)
    plain = one(text)
    assert (run.format, run.operations, list(run.status)) == ("ycsb-text", plain.operations, list(plain.status))


def test_it_reads_several_runs():
    runs = read_json(sequence(TEXT) + "\n" + sequence(summary(INSERT=5)))
    assert [len(run.operations) for run in runs] == [4, 2]
    assert set(runs[1].operations) == {"CLEANUP", "INSERT"}


def test_it_reads_what_is_no_number():
    text = TEXT + metric("SCAN", 0, mean=float("nan"), returns="").replace("nan", "NaN")
    scan = read_json(array(text))[0].operations["SCAN"]
    assert (scan.count, scan.mean_us, scan.extra) == (0, None, {})
    (run,) = read_json(sequence("[OVERALL], RunTime(ms), 0\n[OVERALL], Throughput(ops/sec), Infinity\n"))
    assert (run.runtime_ms, run.throughput_ops_s) == (0, None)


def test_return_codes_of_one_name_are_added():
    text = TEXT + "[UPDATE], Return=OK, 5\n"
    assert read_json(sequence(text))[0].operations["UPDATE"].returns == {"OK": 405}


def test_rows_are_rows():
    rows = "[READ], 0, 590\n[READ], 1, 10\n[READ], >1000, 0\n"
    assert read_json(sequence(TEXT + rows))[0].operations["READ"].buckets == one(TEXT + rows).operations["READ"].buckets


@pytest.mark.slow
@pytest.mark.parametrize("write", [sequence, array])
def test_wherever_it_is_cut_it_is_not_called_complete(write):
    text = write(TEXT)
    whole = one(TEXT)
    for end in range(text.index("Throughput"), len(text), 7):
        for run in read_json(text[:end]):
            assert not run.complete, text[:end][-80:]
            for name, operation in run.operations.items():
                assert operation.count in (None, whole.operations[name].count)


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(alphabet='{}[]", :\n\\metricasuv0123456789.E-'))
def test_it_never_raises(text):
    read_json(text)
    read_json(array(TEXT)[:200] + text)
