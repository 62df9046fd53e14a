"""On external servers Benchsite deletes only what its own marker covers, whatever else is there."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchsite.core.prerequisites import is_installed
from benchsite.tests.databases import database_url
from benchsite.tests.needs import need
from runs.catalog import load_catalog
from runs.catalog.data_confirmations import confirm, target_rows
from runs.checks import collect_facts, judge_run, profile
from runs.models import Cluster, Deployment, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason
from runs.tests.factories import make_database, make_user
from runs.ycsb.keys import KeyRange
from runs.ycsb.properties import check_workload
from runs.ycsb.tests.samples import client, merge
from workers.conductor.data_sets import deployments_of_target, get_target
from workers.conductor.deployment import Standing
from workers.provision.administration.redis import MARKER_KEY
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.ownership import DataNotOwned, DataSetMissing, DataTarget, Marker
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build
from workers.tests.conducting import conduct_run
from workers.tests.conftest import site_below_var_tmp
from workers.tests.external import NETWORKS, external_run
from workers.tests.memcached_session import memcached_session
from workers.tests.test_administration import postgresql_session, redis_client

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).resolve().parents[2]
RECORDS = 1000
MODES = {"redis": "off", "postgresql": "off", "memcached": "none"}


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.EXTERNAL_NETWORKS = NETWORKS


@pytest.fixture(scope="module")
def running() -> Iterator[dict[str, Server]]:
    """Real servers that stand for somebody else's."""
    build(settings.YCSB_DIR, ["memcached"])
    with site_below_var_tmp() as site:
        records = [load_catalog().system(system) for system in MODES if system != "memcached" or is_installed(system)]
        provisioners = [
            ProcessProvisioner(
                ServerSpec(deployment=record.slug, system=record, mode=record.mode(MODES[record.slug])), site
            )
            for record in records
        ]
        try:
            yield {provisioner.spec.system.slug: provisioner.start() for provisioner in provisioners}
        finally:
            for provisioner in provisioners:
                provisioner.remove()


@pytest.fixture
def redis_server(running):
    server = running["redis"]
    with redis_client(server) as client:
        client.flushall()
    return server


@pytest.fixture
def postgresql_server(running):
    server = running["postgresql"]
    with postgresql_session(server) as session:
        session.execute("DROP TABLE IF EXISTS usertable, kept")
    return server


@pytest.fixture
def memcached_server(running):
    need("memcached")
    server = running["memcached"]
    with memcached_session(server) as session:
        # Items of the present second survive it.
        while server.administration.read_marker("usertable") or server.administration.content("usertable"):
            session.ask("flush_all")
    return server


@pytest.fixture(params=MODES)
def server(request, running):
    """Each system in turn; the servers start before the test, whose threads are counted."""
    return request.getfixturevalue(f"{request.param}_server")


def target(server: Server, **changes: Any) -> DataTarget:
    """Where a data set of 1,000 records lies on an external server; nobody confirmed anything."""
    system = server.spec.system.name
    data = DataTarget(
        administration=server.administration,
        name=f"{system} at db.example",
        remedy="Empty it.",
        sites=["this site"],
        cluster="this cluster",
        table="usertable",
        fields=["field0"],
        fingerprint="data set",
        keys=KeyRange(first=0, end=RECORDS, hashed=True, zeropadding=1),
        confirmed=False,
    )
    return replace(data, **changes)


def write(server: Server, keys: list[str]) -> None:
    """As a client of the application or of YCSB would."""
    if server.spec.system.slug == "redis":
        with redis_client(server) as client, client.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.hset(key, "field0", "x")
            pipeline.execute()
        return
    if server.spec.system.slug == "memcached":
        with memcached_session(server) as session:
            for key in keys:
                session.ask(f"set {key} 0 0 1\r\nx")
        return
    with postgresql_session(server) as session:
        session.execute("CREATE TABLE IF NOT EXISTS usertable (ycsb_key text PRIMARY KEY, field0 text)")
        session.execute("INSERT INTO usertable SELECT key, 'x' FROM unnest(%s::text[]) AS key", [keys])


def load(server: Server, data: DataTarget) -> None:
    data.prepare_load()
    for batch in data.keys.batches(RECORDS):
        write(server, batch)


def test_load_leaves_an_application_alone(redis_server):
    """200,000 keys that look like YCSB's and 20 others; they were deleted by FLUSHDB once."""
    write(redis_server, [f"user{number}" for number in range(200_000)] + [f"orders:{number}" for number in range(20)])
    run = external_run(redis_server)
    conduct_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.DATA_NOT_OWNED)
    assert f"127.0.0.1:{redis_server.port}, database 0 holds data that Benchsite did not load" in run.reason_detail
    for advice in ("Empty it", "redis.database", f"confirm on the page of the cluster {run.cluster.name}"):
        assert advice in run.reason_detail
    with redis_client(redis_server) as client:
        assert client.dbsize() == 200_020
        assert client.exists("user0", "user199999", "orders:19") == 3


def test_reading_existing_data_needs_no_marker_but_writing_does(server):
    write(server, ["user1"])
    data = target(server)
    with pytest.raises(DataNotOwned, match="whose data Benchsite did not load"):
        data.prepare_writes(inserts=False)
    replace(data, confirmed=True).prepare_writes(inserts=True)
    assert data.administration.read_marker("usertable") == ""


def test_run_over_existing_data_fails_before_it_writes(redis_server):
    write(redis_server, ["user1"])
    run = external_run(redis_server, phase=Phase.MEASURE, load_policy="existing")
    conduct_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.DATA_NOT_OWNED)


@pytest.mark.parametrize(("missing", "severity"), [(0, "pass"), (7, "reject")])
def test_rows_of_existing_data_are_counted_for_v19(server, missing, severity):
    """Those with the workload's own keys, whatever else the server holds; no load has counted them."""
    run = external_run(server, phase=Phase.MEASURE, load_policy="existing", recordcount=str(RECORDS))
    (keys,) = get_target(run, server).keys.batches(RECORDS)
    write(server, [*keys[missing:], *(f"orders:{number}" for number in range(20))])
    provisioner = ExternalProvisioner(server.spec, allowed_networks=NETWORKS)
    rows = Standing(create_deployment(run), provisioner, server, fresh=False).rows_after(run)
    assert rows == RECORDS - missing
    merged = merge([client("two_clients/0", 0)], warmup_s=0)
    workload = check_workload(run.spec["workload"]["properties"])
    facts = collect_facts(merged, threads=2, workload=workload, rows_loaded=rows)
    findings = judge_run(facts, profile("measured"))
    assert [finding.severity for finding in findings if finding.check_id == "V19"] == [severity]


def test_data_set_that_others_replaced_is_loaded_again(redis_server):
    """The deployment's row forgets it, so that the next run gets a load first."""
    run = external_run(redis_server, phase=Phase.MEASURE)
    deployment = create_deployment(run, fingerprint=run.spec["dataset"]["fingerprint"])
    conduct_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.DATASET_MISSING)
    deployment.refresh_from_db()
    assert deployment.fingerprint == ""


def test_load_replaces_the_data_set_of_other_modes_in_its_target(redis_server):
    run = external_run(redis_server)
    loading = create_deployment(run)
    same = create_deployment(run, mode="always", fingerprint="replaced")
    elsewhere = make_database(cluster=run.cluster, binding_properties={"redis.database": "7"})
    other = create_deployment(run, database=elsewhere, fingerprint="kept")
    assert set(deployments_of_target(loading)) == {loading, same}
    Cluster.objects.update(provisioner="process")
    assert set(deployments_of_target(Deployment.objects.get(pk=other.pk))) == {other}


def create_deployment(run: Run, **fields: Any) -> Deployment:
    assert run.cluster is not None and run.sweep is not None
    values = {"database": run.sweep.database, "mode": run.mode, **fields}
    return Deployment.objects.create(cluster=run.cluster, matrix=run.matrix, **values)


def test_confirmed_load_deletes_its_own_keys_only(server):
    write(server, ["user1", "user2", "orders:1"])
    data = target(server, confirmed=True)
    assert (
        data.prepare_load()
        == f"3 other records remain in {server.spec.system.name} at db.example; they are not part of the data set."
    )
    load(server, data)
    assert (data.count(), data.administration.size("usertable")) == (RECORDS, RECORDS + 3)
    assert data.prepare_load().startswith("3 other records remain")
    assert (data.count(), data.administration.size("usertable")) == (0, 3)


def test_withdrawn_confirmation_protects_the_other_records(server):
    write(server, ["orders:1"])
    load(server, target(server, confirmed=True))
    data = target(server)
    with pytest.raises(DataNotOwned, match="holds 1 records beside the data set that Benchsite loaded"):
        data.prepare_load()
    assert (data.count(), data.administration.size("usertable")) == (RECORDS, RECORDS + 1)


def test_records_of_others_in_its_own_target_stop_the_next_load(server):
    data = target(server)
    load(server, data)
    write(server, ["orders:1"])
    with pytest.raises(DataNotOwned, match="Nothing was changed"):
        data.prepare_load()
    assert data.administration.size("usertable") == RECORDS + 1
    assert replace(data, confirmed=True).prepare_load().startswith("1 other records remain")
    assert data.administration.count_keys("usertable", ["orders:1"]) == 1


@pytest.mark.parametrize(
    "other", [{"sites": ["another site"]}, {"cluster": "another cluster"}], ids=["site", "cluster"]
)
def test_marker_of_another_owner_needs_a_confirmation(server, other):
    """Even before the other one has loaded anything."""
    others = target(server, keys=KeyRange(first=0, end=2000, hashed=True, zeropadding=1), **other)
    others.prepare_load()
    data = target(server)
    with pytest.raises(DataNotOwned, match="a data set of another cluster or another Benchsite site"):
        data.prepare_load()
    with pytest.raises(DataSetMissing, match="does not hold the data set of this run any more"):
        data.require_data_set()
    for batch in others.keys.batches(2000):
        write(server, batch)
    assert replace(data, confirmed=True).prepare_load() == ""
    assert data.administration.size("usertable") == 0
    data.require_data_set()
    with pytest.raises(DataSetMissing):
        others.require_data_set()


def test_marker_of_an_earlier_secret_key_is_its_own(server):
    load(server, target(server, sites=["before"]))
    data = target(server, sites=["today", "before"])
    data.require_data_set()
    assert data.prepare_load() == ""


def test_only_one_of_two_sites_marks_an_empty_target(server, race):
    def mark() -> str:
        try:
            data = target(server, sites=[next(sites)])
            data.prepare_load()
        except DataNotOwned:
            return "refused"
        return "marked"

    for _ in range(3):
        sites = iter(["left", "right"])
        assert sorted(race(mark)) == ["marked", "refused"]
        data = target(server, confirmed=True)
        data.prepare_load()
        if server.spec.system.slug == "redis":
            with redis_client(server) as client:
                client.delete(MARKER_KEY)
        else:
            assert data.administration.drop_empty_table("usertable")


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed keys", "ordered keys"])
def test_records_of_others_behind_inserted_ones_are_not_deleted(server, hashed):
    """Somebody writes keys that YCSB, too, would insert next, where a workload has inserted 50 records."""
    keys = KeyRange(first=0, end=RECORDS, hashed=hashed, zeropadding=1)
    data = target(server, keys=keys)
    load(server, data)
    data.prepare_writes(inserts=True)
    inserted, theirs = (replace(keys, first=RECORDS + first, end=RECORDS + end) for first, end in ((0, 50), (50, 70)))
    write(server, next(iter(inserted.batches(50))))
    data.note_inserts(50)
    write(server, next(iter(theirs.batches(20))))
    with pytest.raises(DataNotOwned, match="holds 20 records beside the data set"):
        data.prepare_load()
    assert data.administration.size("usertable") == RECORDS + 70

    # Nobody counted what a killed run inserted: without a confirmation none of it is deleted.
    data.prepare_writes(inserts=True)
    with pytest.raises(DataNotOwned, match="holds 20 records beside the data set"):
        data.prepare_load()
    assert data.administration.size("usertable") == RECORDS + 70
    replace(data, confirmed=True).prepare_load()
    assert data.administration.size("usertable") == 0


def test_inserted_records_are_deleted_with_the_data_set(server):
    data = target(server)
    load(server, data)
    data.prepare_writes(inserts=True)
    write(server, next(iter(replace(data.keys, first=RECORDS, end=RECORDS + 50).batches(50))))
    data.note_inserts(60)
    assert data.prepare_load() == ""
    assert data.administration.size("usertable") == 0


def test_ordered_keys_beyond_the_data_set_are_not_deleted(server):
    """An application whose keys follow those of the data set, in a target that was confirmed."""
    ordered = KeyRange(first=0, end=10, hashed=False, zeropadding=1)
    write(server, [f"user{number}" for number in range(10, 50)])
    data = target(server, keys=ordered, confirmed=True)
    data.prepare_load()
    data.prepare_writes(inserts=True)
    assert data.prepare_load().startswith("40 other records remain")
    assert data.administration.size("usertable") == 40


def test_adopts_an_earlier_data_set_that_was_confirmed(redis_server):
    """Before there were markers, Redis held bare records."""
    for batch in KeyRange(first=0, end=3 * RECORDS, hashed=True, zeropadding=1).batches(3 * RECORDS):
        write(redis_server, batch)
    write(redis_server, ["orders:1"])
    with pytest.raises(DataNotOwned):
        target(redis_server).prepare_load()
    assert target(redis_server, confirmed=True).prepare_load().startswith("1 other records remain")
    with redis_client(redis_server) as client:
        assert sorted(client.keys()) == [MARKER_KEY, "orders:1"]


def test_adopts_an_earlier_table_that_was_confirmed(postgresql_server):
    """Before there were markers, a comment told Benchsite's tables."""
    load(postgresql_server, target(postgresql_server))
    with postgresql_session(postgresql_server) as session:
        session.execute(
            "COMMENT ON TABLE usertable IS 'A data set of Benchsite; it is dropped and loaded again without asking.'"
        )
        with pytest.raises(DataNotOwned, match="a data set of an earlier release of Benchsite"):
            target(postgresql_server).prepare_load()
        wider = target(postgresql_server, confirmed=True, fields=["field0", "field1"])
        assert wider.prepare_load() == ""
        assert session.execute("SELECT field1 FROM usertable").fetchall() == []
    load(postgresql_server, wider)
    assert Marker.parse(wider.administration.read_marker("usertable")).created


def test_table_of_the_owner_is_emptied_but_not_dropped(postgresql_server):
    with postgresql_session(postgresql_server) as session:
        session.execute("CREATE TABLE usertable (ycsb_key text PRIMARY KEY, field0 text, note text DEFAULT 'kept')")
        load(postgresql_server, target(postgresql_server))
        target(postgresql_server).prepare_load()
        session.execute("INSERT INTO usertable VALUES ('user1', 'x')")
        assert session.execute("SELECT note FROM usertable").fetchall() == [("kept",)]


def test_renamed_table_is_not_its_own_any_more(postgresql_server):
    load(postgresql_server, target(postgresql_server))
    with postgresql_session(postgresql_server) as session:
        session.execute("ALTER TABLE usertable RENAME TO kept")
    with pytest.raises(DataNotOwned):
        target(postgresql_server, table="kept").prepare_load()


@pytest.mark.parametrize("text", ["{", "[]", '{"site": 1, "end": -5}', "[" * 100_000, '{"end": 99999999999}'])
def test_unreadable_marker_belongs_to_nobody(redis_server, text):
    with redis_client(redis_server) as client:
        client.set(MARKER_KEY, text)
    with pytest.raises(DataNotOwned):
        target(redis_server).prepare_load()
    assert Marker.parse(text) == Marker()


@pytest.mark.parametrize("confirmed", [False, True])
def test_key_of_another_type_under_the_name_of_the_marker(redis_server, confirmed):
    with redis_client(redis_server) as client:
        client.rpush(MARKER_KEY, "a job of the owner")
        data = target(redis_server, confirmed=confirmed)
        message = "In Redis at db.example the key benchsite:data-set is a list and not a marker of Benchsite. Nothing"
        for act in (data.prepare_load, data.require_data_set, lambda: data.prepare_writes(inserts=False)):
            with pytest.raises(DataNotOwned, match=message):
                act()
        assert client.lrange(MARKER_KEY, 0, -1) == ["a job of the owner"]


def test_conductor_killed_between_marker_and_load(redis_server):
    """The next load finds the site's own marker, and nothing that it must not touch."""
    run = external_run(redis_server)
    environment = {**os.environ, "DATABASE_URL": database_url(), "BENCHSITE_EXTERNAL_NETWORKS": ",".join(NETWORKS)}
    program = (
        "import django, sys, uuid; django.setup(); from benchsite.accounts import tenancy; tenancy.serve_all_teams(); "
        "from workers.tests.conducting import conduct_run; conduct_run(uuid.UUID(sys.argv[1]))"
    )
    conductor = subprocess.Popen([sys.executable, "-c", program, str(run.pk)], env=environment, cwd=ROOT)
    try:
        with redis_client(redis_server) as client:
            end = time.monotonic() + 60
            while not client.exists(MARKER_KEY):
                assert conductor.poll() is None and time.monotonic() < end
                time.sleep(0.001)
    finally:
        conductor.kill()
        conductor.wait()
    data = get_target(run, redis_server)
    with pytest.raises(DataNotOwned):
        replace(data, cluster="another").prepare_load()
    assert data.prepare_load() == ""
    data.require_data_set()


def test_confirmation_of_a_team_lets_the_next_load_write(redis_server):
    write(redis_server, ["orders:1"])
    run = external_run(redis_server)
    (row,) = target_rows(run.cluster)
    assert not get_target(run, redis_server).confirmed
    confirm(run.cluster, row.target, make_user(team=run.team))
    assert get_target(run, redis_server).prepare_load().startswith("1 other records remain")


def test_no_code_empties_a_whole_redis():
    """But for the fault that empties the Redis of a private site, and the command that a person may run in a script."""
    pattern = re.compile(r"flush(db|all)", re.I)
    files = [
        path
        for package in ("benchsite", "runs", "workers", "reports", "benchmarks")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".java", ".html", ".toml") and "tests" not in path.parts
    ]
    assert len(files) > 500
    matches = {str(path.relative_to(ROOT)) for path in files if pattern.search(path.read_text())}
    assert matches == {"benchmarks/faults/servers.py", "runs/plans/files/script.py"}
