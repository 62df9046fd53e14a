"""The pack of published studies: every number is there as printed, and a wrong file is refused with its place."""

import csv
import hashlib
import json

import pytest

from runs.studies import Kind, Qualifier, StudyError, expanded, read_facts, read_pack, read_study, studies
from runs.studies.loader import FACTS, FOLDER

# Of the numbers as they were collected from the studies, before each got an id.
COLLECTED_SHA256 = "0316b7764d74ee342c8a0e887e1185efcb8c1c969251b60c8e99698f7de6c9b2"
TABLE = (FOLDER / FACTS).read_text("utf-8")
VARI = (FOLDER / "vari-2013.toml").read_text("utf-8")
FACTS_OF_VARI = [fact for fact in read_facts(TABLE) if fact.study == "vari-2013"]
HEADING = TABLE.splitlines()[0]
ROW = "iv13-001,vari-2013,Couchbase,1.8.0,,production,GET,4,latency,5,ms,,approx"


def test_five_studies_print_269_numbers():
    assert [(study.slug, len(study.facts)) for study in studies()] == [
        ("thumbtack-2013", 31),
        ("vari-2013", 48),
        ("thumbtack-2014", 58),
        ("columbia-2016", 45),
        ("aerospike-2017", 87),
    ]


def test_every_fact_is_as_it_was_collected():
    columns = ("mode", "database", "version", "dataset", "workload", "nodes", "metric", "value", "unit", "qualifier")
    rows = [[row[name] for name in columns] for row in csv.DictReader(TABLE.splitlines())]
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == COLLECTED_SHA256


def test_digits_stay_as_printed():
    facts = {fact.id: fact for study in studies() for fact in study.facts}
    assert facts["tt14-046"].printed == "25.10" and facts["tt14-046"].value == 25.1
    assert facts["iv13-010"].printed == "66648.89362836577"
    assert facts["tt13-001"].qualifier is Qualifier.GREATER and facts["tt13-001"].qualifier.mark == ">"
    assert facts["iv13-014"].microseconds == 2_110_000


def test_every_qualifier_and_kind_has_words():
    assert all(qualifier.words for qualifier in Qualifier)
    assert {fact.kind for study in studies() for fact in study.facts} == set(Kind)


def test_each_study_says_what_a_reader_asks_first():
    for study in studies():
        assert study.citation and study.sponsor and study.question and study.headline
        assert study.machines and study.systems and study.workloads and study.method and study.conclusions


def test_a_dispute_is_found_at_each_of_its_facts():
    for study in studies():
        for dispute in study.disputes:
            assert all(dispute.why in study.fact(identity).disputed for identity in dispute.facts)
        named = {identity for dispute in study.disputes for identity in dispute.facts}
        assert {fact.id for fact in study.disputed} == named


def test_what_was_marked_as_suspect_is_disputed():
    for study in studies():
        for fact in study.facts:
            if fact.qualifier in (Qualifier.SUSPECT, Qualifier.NOT_REPRODUCIBLE, Qualifier.LABEL_CONFLICT):
                assert fact.disputed, fact.id


def test_ranges_of_ids():
    assert expanded(["a1-002..a1-004", "b-010"]) == ("a1-002", "a1-003", "a1-004", "b-010")
    for wrong in ("a1", "a1-004..a1-002", "a1-001..b-002", "1..3"):
        with pytest.raises(ValueError, match=r"id|ends before"):
            expanded([wrong])


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("5,ms,,approx", "many,ms,,approx", "iv13-001: the value 'many' is no number"),
        ("5,ms,,approx", "nan,ms,,approx", "is not finite"),
        ("5,ms,,approx", "inf,ms,,approx", "is not finite"),
        ("5,ms,,approx", "5,min,,approx", "the unit 'min' is none of"),
        ("5,ms,,approx", "5,ms,,perhaps", "the qualifier 'perhaps' is none of"),
        ("latency,5", ",5", "needs a database and a metric"),
        ("iv13-001", "first", "'first' is no id"),
        ("approx", "approx,more", "14 cells where there must be 13"),
        ("vari-2013", "vari-2031", "no file describes the study 'vari-2031'"),
        (ROW, f"{ROW}\n{ROW}", "line 3: the id iv13-001 is given twice"),
        (HEADING, HEADING.replace("metric", "metrics"), "the columns are"),
    ],
)
def test_a_wrong_table_is_refused(right, wrong, complaint):
    text = f"{HEADING}\n{ROW}\n"
    assert right in text
    with pytest.raises(StudyError, match=FACTS) as refused:
        read_pack({}, text.replace(right, wrong, 1))
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ('slug = "vari-2013"', "slug = ", "vari-2013.toml: Invalid value"),
        ('slug = "vari-2013"', 'slug = "vari-2014"', "name the file vari-2014.toml"),
        ('key = "iv13"', 'key = "iv14"', "its facts' ids begin with iv14-"),
        ('sponsor = "', 'sponser = "', "sponsor is missing"),
        ("wished = []", "wishes = []", "'wishes' is not known here"),
        ('"iv13-041", "iv13-007', '"iv13-941", "iv13-007', "headline names iv13-941, which is no fact"),
        ('facts = ["iv13-040"]', "facts = []", "facts must name what is disputed"),
        ('facts = ["iv13-040"]', 'facts = ["forty"]', "'forty' is no id"),
        ('each = ["iv13-002"]', 'each = ["iv13-012"]', "iv13-012 is no throughput"),
        ('each = ["iv13-002"]', 'each = ["iv13-002"]\nsum = ["iv13-041"]', 'give either "sum" or "each"'),
        ('latency = ["iv13-003"]\noperation = "READ"', 'latency = ["iv13-003"]', "a latency needs"),
        ('what = "Servers"', 'whatever = "Servers"', "machines 1: what is missing"),
    ],
)
def test_a_wrong_study_is_refused(right, wrong, complaint):
    assert right in VARI
    with pytest.raises(StudyError) as refused:
        read_study(VARI.replace(right, wrong, 1), "vari-2013.toml", FACTS_OF_VARI)
    assert str(refused.value).startswith("vari-2013.toml") and complaint in str(refused.value)


def test_a_list_is_written_as_tables():
    text = VARI[: VARI.index("[[overlays]]")].replace("wished = []", 'wished = []\noverlays = "many"')
    with pytest.raises(StudyError, match=r"write each of the overlays as \[\[overlays\]\]"):
        read_study(text, "vari-2013.toml", FACTS_OF_VARI)
