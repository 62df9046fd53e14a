"""Properties of the published studies' YCSBs: taken under their names and units, or refused with the name to use."""

import pytest

from runs.catalog import load_catalog
from runs.ycsb import property_schema
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import CORE_WORKLOADS, OTHER_PROPERTIES, check_workload, workload_warnings

A = {**CORE_WORKLOADS["A"], "recordcount": "100000"}
# Of the Couchbase test of 2013, as its own console printed them.
VARI = {
    "recordcount": "100000", "readallfields": "true", "insertproportion": "0", "readproportion": "0.100",
    "updateproportion": "0", "scanproportion": "0", "memgetproportion": "0.100", "memupdateproportion": "0.0",
    "requestdistribution": "zipfian",
}  # fmt: skip


def test_operations_of_memcached_are_reads_and_updates():
    checked = check_workload({"recordcount": "10", "memgetproportion": "0.9", "memupdateproportion": "0.1"})
    assert (checked["readproportion"], checked["updateproportion"]) == ("0.9", "0.1")


def test_workload_of_2013_is_taken_as_printed():
    checked = check_workload({**VARI, "updateproportion": "0.0"})
    assert (checked["readproportion"], checked["updateproportion"]) == ("0.1", "0.0")
    assert len(workload_warnings(checked)) == 1, "the shares are weights"


def test_two_names_of_one_property_must_agree():
    with pytest.raises(PropertyError, match="memgetproportion is readproportion here, which has another value"):
        check_workload({**A, "memgetproportion": "0.1"})


@pytest.mark.parametrize("name", sorted(OTHER_PROPERTIES))
def test_refusal_says_what_to_use(name):
    with pytest.raises(PropertyError, match=r"leave it out|instead|client properties") as refused:
        check_workload({**A, name: "1"})
    assert list(refused.value.problems) == [name]


@pytest.mark.parametrize(
    ("name", "value", "own", "canonical"),
    [
        ("readretrycount", "3", "benchsite.retries.read", "3"),
        ("updateretrycount", "3", "benchsite.retries.update", "3"),
        ("insertretrycount", "3", "benchsite.retries.insert", "3"),
        ("retrydelay", "250", "benchsite.retry.delay_ms", "250"),
        ("ignoreinserterrors", "true", "benchsite.ignore_insert_errors", "true"),
        ("reconnectiontarget", "5000", "benchsite.reconnect.below_ops_s", "5000"),
    ],
)
def test_every_own_client_takes_the_names_of_2012(name, value, own, canonical):
    for system in load_catalog().systems.values():
        if system.own_client:
            assert system.check_binding_properties({name: value}) == {own: canonical}


def test_names_of_2012_stay_unknown_to_stock_clients():
    with pytest.raises(property_schema.PropertyError, match="'readretrycount' is not known here"):
        load_catalog().system("redis", "ycsb").check_binding_properties({"readretrycount": "3"})


def test_read_preference_is_taken_under_either_name():
    mongodb = load_catalog().system("mongodb")
    for name in ("mongodb.readPreference", "mongodb.read_preference"):
        checked = mongodb.check_binding_properties({name: "primaryPreferred"})
        assert checked == {"mongodb.read_preference": "primaryPreferred"}
    with pytest.raises(property_schema.PropertyError, match=r"mongodb\.read_preference"):
        mongodb.check_binding_properties({"mongodb.readPreference": "arbiter"})


def test_modes_of_stock_clients_decide_their_read_preference():
    with pytest.raises(property_schema.PropertyError, match="decided by the durability mode"):
        load_catalog().system("mongodb", "ycsb").check_binding_properties({"readPreference": "nearest"})


def test_zipfian_constant_needs_zipfian_keys():
    assert check_workload({**A, "zipfianconstant": "0.7"})["zipfianconstant"] == "0.7"
    with pytest.raises(PropertyError, match="needs requestdistribution=zipfian"):
        check_workload({**A, "requestdistribution": "uniform", "zipfianconstant": "0.7"})
    with pytest.raises(PropertyError, match=r"0\.01 to 0\.999"):
        check_workload({**A, "zipfianconstant": "1.2"})
