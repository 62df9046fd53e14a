"""Workloads are checked before they cost anything, and rendered so that Java reads them back."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb import property_schema
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import (
    CLIENT_PROPERTIES,
    CORE_WORKLOADS,
    REFUSED_PROPERTIES,
    WORKLOAD_PROPERTIES,
    YCSB_PROPORTIONS,
    check_workload,
    dataset,
    list_own_properties,
    proportions,
    read_shares,
    render_properties,
    workload_warnings,
)

A = CORE_WORKLOADS["A"]


@pytest.mark.parametrize("letter", "ABCDEF")
def test_it_knows_the_core_workloads_with_every_proportion(letter):
    workload = check_workload(CORE_WORKLOADS[letter])
    assert workload == dict(CORE_WORKLOADS[letter]) | workload
    assert set(YCSB_PROPORTIONS) <= set(workload)
    assert sum(proportions(workload).values()) == pytest.approx(1)
    assert all("add up" not in warning for warning in workload_warnings(workload))


@pytest.mark.parametrize(
    ("letter", "shares", "distribution"),
    [
        ("A", {"READ": 0.5, "UPDATE": 0.5}, "zipfian"),
        ("B", {"READ": 0.95, "UPDATE": 0.05}, "zipfian"),
        ("C", {"READ": 1.0}, "zipfian"),
        ("D", {"READ": 0.95, "INSERT": 0.05}, "latest"),
        ("E", {"SCAN": 0.95, "INSERT": 0.05}, "zipfian"),
        ("F", {"READ": 0.5, "READ-MODIFY-WRITE": 0.5}, "zipfian"),
    ],
)
def test_it_mixes_the_core_workloads_as_ycsb_does(letter, shares, distribution):
    workload = check_workload(CORE_WORKLOADS[letter])
    assert proportions(workload) == pytest.approx(shares)
    assert workload["requestdistribution"] == distribution


def test_it_refuses_an_unknown_name_with_the_nearest():
    with pytest.raises(PropertyError, match="Did you mean 'readproportion'") as caught:
        check_workload({**A, "readporportion": "1"})
    assert list(caught.value.problems) == ["readporportion"]


@pytest.mark.parametrize("name", sorted(REFUSED_PROPERTIES))
def test_it_refuses_classes_and_files(name):
    with pytest.raises(PropertyError, match=r"names a (class|file)"):
        check_workload({**A, name: "x"})


@pytest.mark.parametrize("name", sorted(CLIENT_PROPERTIES))
def test_it_refuses_what_the_matrix_decides(name):
    with pytest.raises(PropertyError, match="leave it out"):
        check_workload({**A, name: "1"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recordcount": "0"}, "recordcount is 0.*Write 1 or more"),
        ({"recordcount": 0}, "recordcount is 0"),
        ({"recordcount": "-5"}, "recordcount"),
        ({"recordcount": "many"}, "whole number"),
        ({"recordcount": "99999999999"}, "recordcount"),
        ({"readproportion": "1.5"}, "readproportion"),
        ({"readproportion": "-0.1"}, "readproportion"),
        ({"readproportion": "nan"}, "readproportion"),
        ({"readproportion": "0", "updateproportion": "0"}, "All proportions are 0"),
        ({"requestdistribution": "zipfan"}, "zipfian"),
        ({"table": "a; drop table b"}, "table"),
        ({"table": "x\ndb=evil"}, "control characters"),
        ({"fieldcount": "10\n"}, "control characters"),
        ({"minscanlength": "5", "maxscanlength": "2"}, "larger than maxscanlength"),
        ({"fieldlengthdistribution": "uniform", "minfieldlength": "200"}, "larger than fieldlength"),
        ({"fieldlengthdistribution": "uniform", "dataintegrity": "true"}, "constant"),
        ({"fieldlengthdistribution": "histogram"}, "fieldlengthdistribution"),
    ],
)
def test_it_says_what_is_wrong(changes, message):
    with pytest.raises(PropertyError, match=message):
        check_workload({**A, **changes})


@pytest.mark.parametrize(
    ("stated", "milliseconds"),
    [
        ({"warmupexecutiontime": "0"}, "0"),
        ({"warmupexecutiontime": "601"}, "601"),
        ({"warmupexecutiontime": "600000"}, "600000"),
        ({"warmup.duration_ms": "500"}, "500"),
        ({"warmupexecutiontime": "60", "warmup.duration_ms": "60"}, "60"),
        ({"warmupexecutiontime": "60", "warmup.duration_ms": "60000"}, "60000"),
    ],
)
def test_warm_up_of_other_ycsbs_is_in_milliseconds(stated, milliseconds):
    checked = check_workload({**A, "recordcount": 10, **stated})

    assert checked["warmup.duration_ms"] == milliseconds
    assert "warmupexecutiontime" not in checked


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"warmupexecutiontime": "60"}, "warmup.duration_ms=60 for 60 ms or warmup.duration_ms=60000 for 60 s"),
        ({"warmupexecutiontime": "600001"}, "between 0 and 600000"),
        ({"warmupexecutiontime": "soon"}, "whole number"),
        ({"warmupexecutiontime": "700", "warmup.duration_ms": "900"}, "differ"),
    ],
)
def test_warm_up_of_either_unit_is_asked_about(stated, message):
    with pytest.raises(PropertyError, match=message):
        check_workload({**A, "recordcount": 10, **stated})


def test_it_names_every_problem_at_once():
    with pytest.raises(property_schema.PropertyError) as caught:
        check_workload({"fieldcount": "x", "colour": "blue"})
    assert set(caught.value.problems) == {"fieldcount", "colour", "recordcount"}


@pytest.mark.parametrize(
    ("read", "update"), [("-1", "1"), ("-1", "2"), ("inf", "1"), ("nan", "1"), ("0", "0"), ("x", "1")]
)
def test_what_is_no_mix_has_no_shares(read, update):
    assert read_shares({"readproportion": read, "updateproportion": update}) == {}
    assert read_shares({"readproportion": "3", "updateproportion": "1"}) == {"READ": 0.75, "UPDATE": 0.25}


def test_it_writes_the_proportions_that_ycsb_would_make_up():
    assert proportions(check_workload({"recordcount": 10})) == pytest.approx({"READ": 0.95, "UPDATE": 0.05})
    only_scans = check_workload({"recordcount": 10, "scanproportion": 1})
    assert proportions(only_scans) == {"SCAN": 1.0}
    assert only_scans["readproportion"] == "0.0"


def test_it_warns_of_weights():
    half = check_workload({"recordcount": 10, "readproportion": 0.5})
    assert "add up to 0.5" in workload_warnings(half)[0]


def test_deletes_are_at_most_as_many_as_inserts():
    mix = {"recordcount": 10, "readproportion": 0.6, "insertproportion": 0.2, "deleteproportion": 0.2}
    checked = check_workload(mix)
    assert proportions(checked) == pytest.approx({"READ": 0.6, "INSERT": 0.2, "DELETE": 0.2})
    assert list_own_properties(checked) == ["deleteproportion"]
    with pytest.raises(PropertyError, match="insert as much"):
        check_workload({**mix, "deleteproportion": 0.3})
    assert "deleteproportion" not in check_workload({**mix, "deleteproportion": 0})


def test_only_exact_zipfian_takes_every_constant():
    exact = check_workload({**A, "requestdistribution": "exactzipfian", "zipfianconstant": "1.2"})
    assert list_own_properties(exact) == ["zipfianconstant", "requestdistribution=exactzipfian"]
    with pytest.raises(PropertyError, match="requestdistribution=exactzipfian"):
        check_workload({**A, "zipfianconstant": "1.2"})


def test_it_is_done_after_one_check():
    checked = check_workload({**A, "recordcount": 10, "readallfields": "yes"})
    assert check_workload(checked) == checked
    assert checked["readallfields"] == "true"


def test_it_describes_every_property():
    for known in WORKLOAD_PROPERTIES.values():
        assert known.help
        if known.default:
            assert known.check(known.default)


def test_it_tells_data_sets_apart_by_what_is_loaded():
    base = dataset(check_workload(A))
    assert (base.records, base.record_bytes) == (1000, 1000)
    same = [{"readproportion": "1"}, {"fieldcount": "10"}, {"insertorder": "hashed"}, {"maxscanlength": "9"}]
    other = [{"recordcount": "1001"}, {"fieldlength": "99"}, {"insertorder": "ordered"}, {"table": "t"}]
    assert {dataset(check_workload({**A, **change})).fingerprint for change in same} == {base.fingerprint}
    assert len({dataset(check_workload({**A, **change})).fingerprint for change in [{}, *other]}) == 5


@pytest.mark.parametrize(("distribution", "record_bytes"), [("uniform", 505), ("constant", 1000), ("zipfian", 196)])
def test_it_counts_the_mean_length_of_fields(distribution, record_bytes):
    data = dataset(check_workload({**A, "fieldlengthdistribution": distribution}))
    assert data.record_bytes == pytest.approx(record_bytes, abs=0.5)


def test_it_escapes_what_java_would_take_apart():
    rendered = render_properties({"a b": " x=y", "c": "C:\\n\n", "ü": "日🙂", "#d": "!e"})
    assert rendered == "\\#d=\\!e\na\\ b=\\ x=y\nc=C:\\\\n\\n\n\\u00fc=\\u65e5\\ud83d\\ude42\n"
    rendered.encode("iso-8859-1")


READ_BACK = """
import java.io.*; import java.util.*;
public class ReadBack { public static void main(String[] a) throws Exception {
  Properties p = new Properties(); p.load(new FileInputStream(a[0]));
  PrintStream out = new PrintStream(System.out, true, "UTF-8");
  for (String k : new TreeSet<>(p.stringPropertyNames())) {
    out.print(hex(k) + "=" + hex(p.getProperty(k)) + "\\n"); } }
  static String hex(String s) { StringBuilder b = new StringBuilder();
    for (char c : s.toCharArray()) b.append(String.format("%04x", (int) c)); return b.toString(); } }
"""


@pytest.mark.slow
def test_java_reads_back_what_was_rendered(tmp_path):
    java = shutil.which("java")
    assert java, "java is needed: apt install default-jdk"
    properties = {}

    @settings(max_examples=150, database=None)
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))  # fmt: skip  # noqa: E501
    def gather(name, value):
        properties[name] = value

    gather()
    (tmp_path / "ReadBack.java").write_text(READ_BACK)
    (tmp_path / "x.properties").write_bytes(render_properties(properties).encode("iso-8859-1"))
    command = [java, str(tmp_path / "ReadBack.java"), str(tmp_path / "x.properties")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    read = dict(line.split("=") for line in lines)
    assert read == {
        name.encode("utf-16-be").hex(): value.encode("utf-16-be").hex() for name, value in properties.items()
    }
