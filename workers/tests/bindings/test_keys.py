"""The keys that Benchsite generates are those that YCSB wrote, so a data set can be deleted by its keys alone."""

import psycopg
import pytest
import redis

from runs.catalog import load_catalog
from runs.ycsb.keys import loaded_keys
from workers.provision.administration.factory import administration_for
from workers.provision.ownership import DataTarget
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
RECORDS = {"recordcount": "1000", "dataintegrity": "false"}


@pytest.mark.parametrize(
    "properties",
    [{}, {"zeropadding": "20"}, {"insertorder": "ordered"}, {"insertorder": "ordered", "zeropadding": "6"}],
    ids=["hashed", "hashed and padded", "ordered", "ordered and padded"],
)
def test_generates_the_keys_that_ycsb_writes(redis_target: Target, properties):
    redis_target.load({**RECORDS, **properties})
    (keys,) = loaded_keys({**RECORDS, **properties}).batches(1000)
    with redis.Redis(port=redis_target.server.port, decode_responses=True) as client:
        assert set(client.keys()) == set(keys)


def test_deletes_what_a_workload_inserted(target: Target):
    """Workload D inserts behind the loaded records; one of its inserts is missing, as if it had failed."""
    data = data_target(target)
    assert data.prepare_load() == ""
    target.run(RECORDS, phase="-load")
    assert data.count() == 1000
    data.prepare_writes(inserts=True)
    mix = {"readproportion": "0.5", "updateproportion": "0", "insertproportion": "0.5", "requestdistribution": "latest"}
    ended = target.run({**RECORDS, **mix, "operationcount": "1000"})
    inserted = ended.returns["INSERT"]["OK"]
    assert inserted > 300
    first_inserted = next(loaded_keys({"recordcount": "1001"}).batches(1001))[1000]
    assert data.administration.delete_keys("usertable", [first_inserted]) == 1
    assert data.administration.size("usertable") == 1000 + inserted - 1
    assert data.count() == 1000
    data.note_inserts(sum(ended.returns["INSERT"].values()))
    assert data.prepare_load() == ""
    assert data.administration.size("usertable") == 0


def data_target(target: Target) -> DataTarget:
    """The target of a site that confirmed nothing. The tests' PostgreSQL comes with a table, which it drops."""
    if target.manifest.binding == "postgresql":
        with psycopg.connect(host="127.0.0.1", port=target.server.port, user="ycsb", dbname="ycsb") as session:
            session.execute("DROP TABLE usertable")
    return DataTarget(
        administration=administration_for(load_catalog().system(target.manifest.binding), target.port),
        name="the server",
        remedy="Empty it.",
        sites=["this site"],
        cluster="this cluster",
        table="usertable",
        fields=[f"field{number}" for number in range(10)],
        fingerprint="data set",
        keys=loaded_keys(RECORDS),
        confirmed=False,
    )
