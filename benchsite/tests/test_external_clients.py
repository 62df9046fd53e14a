"""Runs on external clusters: stock clients with a Redis that Benchsite reads and a memcached of which everything is
stated, and a server that is not the product.
"""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.tests.live_site import GENERATORS, LiveSite, rejections, shared_site as site
from benchsite.tests.needs import need
from reports.compare.curves import Standing
from reports.compare.figures.ladder import LadderFigure
from reports.compare.queries import curves
from runs.catalog import data_target, get_flavour, load_catalog
from runs.catalog.data_confirmations import confirm
from runs.models import Cluster, Database, LoadGenerator, Matrix, Node, Run
from runs.models.run import Phase, Status, Verdict
from runs.plans import PlanError, submit
from runs.queue.reasons import Reason
from runs.results.annotations import AnnotationRefused, include
from runs.tests.factories import (
    WORKLOAD_A,
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_team,
    make_user,
    make_workload,
)
from workers.provision.ports import free_port
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import ROOT, build
from workers.tests.conftest import site_below_var_tmp
from workers.tests.distributions import make_distribution
from workers.tests.stand_ins.aerospike import aerospike_stand_in

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
HOME = "ycsb-0.17.0"


@pytest.fixture(scope="module", autouse=True)
def home() -> Iterator[Path]:
    """A YCSB distribution, in the environment of the site that starts behind it."""
    build(ROOT / "var" / "ycsb", ["aerospike"])
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp", prefix="benchsite-test-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        home = make_distribution(Path(folder) / HOME, build(ROOT / "var" / "ycsb"))
        patch.setenv("BENCHSITE_YCSB_HOMES", str(home))
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
        yield home


@pytest.fixture
def redis_server() -> Iterator[Server]:
    system = load_catalog().system("redis")
    with site_below_var_tmp() as paths:
        provisioner = ProcessProvisioner(ServerSpec(deployment="redis", system=system, mode=system.mode("off")), paths)
        try:
            yield provisioner.start()
        finally:
            provisioner.remove()


@pytest.fixture
def memcached() -> Iterator[int]:
    """The port of a memcached of this test's own."""
    need("memcached")
    port = free_port()
    argv = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"]
    with subprocess.Popen(argv) as server:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port
        finally:
            server.kill()


def external_database(team, port: int, system: str, client: str = "", **properties: str) -> Database:
    cluster = make_cluster(team=team, provisioner="external", machines=[])
    Node.objects.create(cluster=cluster, machine=make_machine(), address=f"127.0.0.1:{port}")
    return make_database(
        team=team,
        cluster=cluster,
        system=system,
        version="stated 1",
        flavour=get_flavour(client),
        client=client,
        binding_properties=properties,
    )


def submitted(database: Database, mode: str, user, rungs: list[int], **workload: str) -> Matrix:
    properties = {**WORKLOAD_A, "recordcount": "1000", "requestdistribution": "uniform", **workload}
    matrix = make_matrix(
        team=database.team,
        entries=[(database, mode)],
        workloads=[make_workload(team=database.team, properties=properties)],
        load_generators=LoadGenerator.objects.filter(name__in=GENERATORS),
        rungs=rungs,
        warmup_s=1,
        min_measure_s=2,
        max_measure_s=2,
        load_threads=4,
        submitted_at=None,
    )
    submit(matrix, user)
    return matrix


def target_of_database(database: Database) -> tuple[Cluster, str]:
    system = load_catalog().system(database.system, "ycsb")
    return database.cluster, data_target(system, database.cluster.address, database.binding_properties, "usertable")


def succeeded(runs: list[Run]) -> None:
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    for run in runs:
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (2, 2)
        assert run.spec["client"]["flavour"] == "ycsb"
        assert run.spec["client"]["ycsb_version"] == "0.17.0"
        assert run.evidence["rows"] == 1000
        assert not kept.measurements.filter(failed__gt=0).exists()


def test_runs_ladders_with_stock_clients(site: LiveSite, redis_server: Server, memcached: int, home: Path):
    team, live = make_team(), site
    user = make_user(team=team, role=Role.ADMIN)
    cache = external_database(team, memcached, "memcached", f"{HOME}/memcached")
    password = {"redis.password": redis_server.password}
    store = external_database(team, redis_server.port, "redis", f"{HOME}/redis", **password)

    # Nobody confirmed the target: nothing is written.
    [refused, *_] = live.until_ended(submitted(cache, "none", user, [2]))
    assert (refused.status, refused.reason) == (Status.FAILED, Reason.DATA_NOT_OWNED)
    assert "cannot look whether memcached at" in refused.reason_detail

    confirm(*target_of_database(cache), user)
    stated, read = submitted(cache, "none", user, [2, 4]), submitted(store, "off", user, [2])
    runs = live.until_ended(stated)
    succeeded(runs)
    assert [run.phase for run in runs] == [Phase.LOAD, Phase.MEASURE, Phase.MEASURE]
    for run in runs:
        assert run.evidence["server_version"] == "stated 1"
        assert run.evidence["mode_stated"] and "before" not in run.evidence
        finding = run.measurement_sets.get().findings.get(check_id="V20")
        assert finding.severity == "warn" and run.verdict != Verdict.PASS
        assert rejections(run) == []
        assert "The durability mode was not read back" in finding.message
    classes = {client.order["java_class"] for run in runs for client in run.client_runs.all()}
    assert classes == {"site.ycsb.db.MemcachedClient"}

    runs = live.until_ended(read)
    succeeded(runs)
    assert all(run.evidence["before"]["in_force"] and run.evidence["after"]["in_force"] for run in runs)

    # Another data set over the same target; and jars that are not those of the submission.
    (home / "redis-binding" / "lib" / "patch.jar").write_bytes(b"")
    other, changed = submitted(cache, "none", user, [2], fieldlength="50"), submitted(store, "off", user, [2])
    [refused, *_] = live.until_ended(other)
    assert (refused.status, refused.reason) == (Status.FAILED, Reason.DATA_NOT_OWNED)
    assert "holds another data set" in refused.reason_detail
    [mismatch, *_] = live.until_ended(changed)
    assert (mismatch.status, mismatch.reason) == (Status.FAILED, Reason.BINDING_MISMATCH)
    assert "unpack the same YCSB distribution as a folder ycsb-0.17.0" in mismatch.reason_detail

    # A binding that no load generator has, and a mode that the client cannot request.
    for fields, mode, words in (
        ({"client": "ycsb-9/redis"}, "off", "has no ycsb-9/redis binding: unpack"),
        ({"client": f"{HOME}/redis"}, "off-wait-1", "YCSB's own client sends no WAIT."),
        ({"client": f"{HOME}/memcached"}, "off", "cannot drive Redis: choose a stock binding called redis."),
    ):
        Database.objects.filter(pk=store.pk).update(**fields)
        with pytest.raises(PlanError, match=words):
            submitted(Database.objects.get(pk=store.pk), mode, user, [2])


@pytest.mark.long
def test_runs_against_a_stand_in_are_drawn_and_never_count(site: LiveSite, client):
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN)
    with aerospike_stand_in() as server:
        runs = site.until_ended(submitted(external_database(team, server.port, "aerospike"), "master", user, [2, 4]))
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 3
    measured = runs[1]
    assert measured.sweep is not None
    assert measured.throughput_ops_s and not measured.counts and measured.config_key == ""
    assert measured.stand_in == "wire stand-in"

    [curve] = curves([measured.sweep])
    sentence = "2 runs against a wire stand-in, hollow where drawn: not the product"
    assert [point.standing for point in curve.points] == [Standing.STAND_IN] * 2
    assert curve.ceiling is None and LadderFigure([curve]).notes[1] == sentence
    client.force_login(user)
    page = client.get(reverse("run", args=[measured.pk])).content.decode()
    assert "Not the product: wire stand-in" in page and reverse("figure-run-series", args=[measured.pk]) not in page
    for figure in ("figure-run-series", "figure-run-percentiles"):
        assert client.get(reverse(figure, args=[measured.pk])).status_code == 404
    answer = client.get(reverse("figure-sweep", args=[measured.sweep.pk])).json()
    assert sentence in answer["caption"] and answer["figure"]["data"]
    with pytest.raises(AnnotationRefused, match="measured a wire stand-in and not the product: it stays excluded"):
        include([measured], user)
