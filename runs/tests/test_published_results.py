"""The published numbers: each is there as it was printed, with its source."""

import csv
import hashlib
import json

import pytest

from runs.plans.studies import read_facts, studies
from runs.plans.studies.published import FACTS

# Of the numbers as they were collected from the studies, before each got an id.
COLLECTED_SHA256 = "0316b7764d74ee342c8a0e887e1185efcb8c1c969251b60c8e99698f7de6c9b2"
TABLE = FACTS.read_text("utf-8")


def test_five_studies_print_269_numbers():
    assert [(study.slug, len(study.facts)) for study in studies()] == [
        ("thumbtack-2013", 31),
        ("vari-2013", 48),
        ("thumbtack-2014", 58),
        ("columbia-2016", 45),
        ("aerospike-2017", 87),
    ]


def test_every_number_is_as_it_was_collected():
    columns = ("mode", "database", "version", "dataset", "workload", "nodes", "metric", "value", "unit", "qualifier")

    rows = [[row[name] for name in columns] for row in csv.DictReader(TABLE.splitlines())]

    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == COLLECTED_SHA256


def test_every_number_has_its_source():
    for study in studies():
        assert len({fact.source for fact in study.facts}) == 1
        assert str(study.year) in study.source


def test_sources_say_who_paid():
    sources = {study.slug: study.source for study in studies()}
    assert "commissioned and subsidized by Couchbase" in sources["thumbtack-2014"]
    assert "Aerospike paid for" in sources["thumbtack-2013"]
    assert "vendor's white paper" in sources["aerospike-2017"]


def test_digits_stay_as_printed():
    facts = {fact.id: fact for study in studies() for fact in study.facts}
    assert len(facts) == 269
    assert (facts["tt14-046"].printed, facts["tt14-046"].value) == ("25.10", 25.1)
    assert facts["iv13-010"].printed == "66648.89362836577"
    assert facts["tt13-001"].mark == ">"
    assert facts["iv13-014"].microseconds == 2_110_000


def test_disputed_numbers_have_a_reason():
    disputed = {fact.id: fact.disputed for study in studies() for fact in study.disputed}
    assert len(disputed) > 20 and all(len(reason) > 20 for reason in disputed.values())
    assert "107.89 %" in disputed["tt14-008"]
    assert "820,000" in disputed["as17-025"]


def test_names_of_studies_come_from_their_slugs():
    assert [study.name for study in studies()] == [
        "Thumbtack 2013", "Vari 2013", "Thumbtack 2014", "Columbia 2016", "Aerospike 2017",
    ]  # fmt: skip


def test_parts_of_an_overlay_name_an_overlay():
    for study in studies():
        labelled = {fact.id for fact in study.facts if fact.overlay}
        parts = [fact for fact in study.facts if fact.beside]
        assert {fact.beside for fact in parts} <= labelled
        assert all(fact.operation and fact.statistic for fact in parts if fact.microseconds is not None)
        assert sum(len(overlay.throughputs) - 1 + len(overlay.latencies) for overlay in study.overlays) == len(parts)


def test_refuses_other_columns():
    with pytest.raises(ValueError, match="the columns must be id, study"):
        read_facts(TABLE.replace("note,", "remark,", 1))
