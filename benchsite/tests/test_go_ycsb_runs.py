"""go-ycsb on real Redis, PostgreSQL and MariaDB servers: ladders that curves show, and a run that is cancelled."""

from collections.abc import Iterator

import psutil
import pytest

from benchsite.accounts.models import Role
from benchsite.tests.live_site import LiveSite, rejections, shared_site as site
from benchsite.tests.test_external_clients import external_database, submitted
from reports.compare.queries import curves
from runs.catalog import data_target, load_catalog
from runs.catalog.data_confirmations import confirm
from runs.models import Database, Run, Sweep
from runs.models.run import Phase, Status
from runs.queue.lifecycle import request_cancel_matrix
from runs.tests.factories import make_team, make_user
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import GO_YCSB, GO_YCSB_VERSION, ROOT, build
from workers.tests.conftest import site_below_var_tmp

__all__ = ["site"]
BINARY = ROOT / "var" / f"{GO_YCSB}-{GO_YCSB_VERSION}"
pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BINARY.exists(), reason="needs `make bindings go-ycsb`"),
]
SYSTEMS = {"redis": ("redis", "off"), "postgresql": ("pg", "on"), "mariadb": ("mysql", "flush-1")}


@pytest.fixture(scope="module", autouse=True)
def generators_with_go_ycsb() -> Iterator[None]:
    """In the environment of the site that starts behind it."""
    build(ROOT / "var" / "ycsb", ["mariadb"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSITE_YCSB_HOMES", str(BINARY))
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
        yield


@pytest.fixture
def server(request) -> Iterator[Server]:
    system = load_catalog().system(request.param)
    _, mode = SYSTEMS[request.param]
    with site_below_var_tmp() as paths:
        provisioner = ProcessProvisioner(ServerSpec(deployment="go", system=system, mode=system.mode(mode)), paths)
        try:
            yield provisioner.start()
        finally:
            provisioner.remove()


def confirmed_database(server: Server, user) -> Database:
    """Driven by go-ycsb, as the user of Benchsite's own client and in its database."""
    slug, own = server.spec.system.slug, server.spec.system.binding.properties
    driver, _ = SYSTEMS[slug]
    properties = {f"{driver}.password": server.password}
    if slug != "redis":
        names = {f"{driver}.user": f"{slug}.user", f"{driver}.db": f"{slug}.database"}
        properties |= {ours: str(own[name].default) for ours, name in names.items()}
    database = external_database(
        user.memberships.get().team, server.port, slug, f"{BINARY.name}/{driver}", **properties
    )
    system = load_catalog().system(slug, "go-ycsb")
    confirm(
        database.cluster, data_target(system, database.cluster.address, database.binding_properties, "usertable"), user
    )
    return database


@pytest.mark.parametrize("server", SYSTEMS, indirect=True)
def test_ladder_becomes_a_curve(site: LiveSite, server: Server):
    user = make_user(team=make_team(), role=Role.ADMIN)
    matrix = submitted(confirmed_database(server, user), SYSTEMS[server.spec.system.slug][1], user, [2, 4])
    runs = site.until_ended(matrix, 120)
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    assert [run.phase for run in runs] == [Phase.LOAD, Phase.MEASURE, Phase.MEASURE]
    for run in runs:
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (2, 2)
        assert run.spec["client"]["flavour"] == "go-ycsb" and run.evidence["mode_stated"]
        assert rejections(run) == []
    [curve] = curves(list(Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE)))
    assert [point.threads for point in curve.points] == [2, 4]
    assert all(point.throughput_ops_s.geomean > 0 for point in curve.points)


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_cancelled_run_leaves_no_client(site: LiveSite, server: Server):
    user = make_user(team=make_team(), role=Role.ADMIN)
    matrix = submitted(confirmed_database(server, user), "off", user, [2])
    site.until(
        lambda: Run.objects.filter(matrix=matrix, phase=Phase.MEASURE, status=Status.RUNNING).exists(), 60, "a run"
    )
    request_cancel_matrix(matrix, user)
    runs = site.until_ended(matrix, 60)
    assert runs[-1].status == Status.CANCELLED
    assert not [process for process in psutil.process_iter(["exe"]) if process.info["exe"] == str(BINARY)]
