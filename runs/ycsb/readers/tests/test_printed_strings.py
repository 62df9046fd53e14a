"""Output in strings as Python prints them gives the numbers of the output itself."""

import pytest

from runs.ycsb.readers.tests.test_writers import client, read

LINES = client(1)
TEXT = "".join(f"{line}\n" for line in LINES)
FORMS = {
    "list": repr([f"{line}\n" for line in LINES]),
    "result": repr({"rc": 0, "stdout": TEXT, "stderr": "it's fine\n"}),
    "bytes": repr(TEXT.encode()),
    "process": f"CompletedProcess(args=['bin/ycsb'], returncode=0, stdout={TEXT!r})",
    "logger": f"2026-03-01 09:00:00,123 INFO runner: stdout={TEXT!r}",
    "one for each line": "\n".join(repr(f"{line}\n") for line in LINES),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
def test_reads_printed_strings(text: str):
    (run,) = read(text + "\n").runs

    assert (run.throughput_ops_s, len(run.status), run.properties["threadcount"]) == (1100, 6, "4")
    assert run.operations["READ"].count == 66_000


@pytest.mark.timeout(20)
@pytest.mark.parametrize("end", ["", "\\"])
def test_strings_without_end_take_no_time(end: str):
    assert not read("['YCSB Client 0\\n" + "'\\\"" * 100_000 + end).runs
