"""The text of a java.util.Properties file, as people write it."""

import io

import pytest

from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import MAX_RECORDS, check_stated_workload, check_workload, parse_properties
from runs.ycsb.readers import read_file
from runs.ycsb.redact import redact

TEXT = r"""# A comment
! another
recordcount=1000
  operationcount : 2000
readproportion 0.5
updateproportion=0.\
    5
fieldnameprefix = f\u0069eld
table\ name=a\tb
requestdistribution=zipfian
empty=
"""


def test_parses_every_way_to_write_a_property():
    assert parse_properties(TEXT) == [
        (3, "recordcount", "1000"),
        (4, "operationcount", "2000"),
        (5, "readproportion", "0.5"),
        (6, "updateproportion", "0.5"),
        (8, "fieldnameprefix", "field"),
        (9, "table name", "a\tb"),
        (10, "requestdistribution", "zipfian"),
        (11, "empty", ""),
    ]


@pytest.mark.parametrize("separator", ["=", " = ", ":", " ", "\t", "=\\\n  "])
def test_reads_files_of_properties(separator: str):
    text = f"# client\nrecordcount{separator}1000\nthreadcount{separator}8\n"
    (file,) = read_file("workloada", io.BytesIO(text.encode()))
    assert file.preface is not None
    assert dict(file.preface.properties) == {"recordcount": "1000", "threadcount": "8"}


@pytest.mark.parametrize("text", ["a few words\nthat say nothing\n", "recordcount 1000\nand then some words\n"])
def test_words_are_no_properties(text: str):
    (file,) = read_file("notes", io.BytesIO(text.encode()))
    assert file.preface is None


def test_hides_secrets_that_are_continued():
    text = redact("db.passwd=\\\n   hunter2\nthreadcount=8\n")
    assert "hunter2" not in text
    assert text.count("\n") == 3 and "threadcount=8" in text


def test_takes_data_sets_beyond_31_bits_from_uploads():
    workload = {"recordcount": "5000000000", "readproportion": "1"}
    assert check_stated_workload(workload)["recordcount"] == "5000000000"
    with pytest.raises(PropertyError):
        check_workload(workload)
    with pytest.raises(PropertyError):
        check_stated_workload({**workload, "recordcount": str(MAX_RECORDS + 1)})
