"""Servers on three machines, which are network namespaces: their load generators start the nodes and measure them."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from benchmarks.faults.network import in_namespace, ip
from benchsite.accounts.models import Role
from benchsite.local import components
from benchsite.local.preparation import generator_environment
from benchsite.tests.live_site import NO_DATABASE, LiveSite, find_processes
from runs.models import Cluster, Database, Deployment, LoadGenerator, Matrix, Run
from runs.models.run import Phase, Stage, Status
from runs.plans import submit
from runs.queue.reasons import Reason
from runs.tests.factories import make_matrix, make_team, make_user, make_workload
from workers.models import NodeProcess
from workers.systems.build import build, fetch_servers

MACHINES = {"lab-1": "10.88.7.11", "lab-2": "10.88.7.12", "lab-3": "10.88.7.13"}
BRIDGE, ADDRESS = "benchsite-lab", "10.88.7.1"
pytestmark = [
    pytest.mark.long,
    pytest.mark.needs("network", "server-java"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(900),
]


@pytest.fixture
def machines() -> Iterator[None]:
    """A namespace for each, on one bridge with this one. No process outlives them."""
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("address", "add", f"{ADDRESS}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for name, address in MACHINES.items():
            ip("netns", "add", name)
            ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"to-{name}", "master", BRIDGE, "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "eth0", "up")
        yield
    finally:
        for name in MACHINES:
            for pid in _list_pids(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", name], check=False)
        ip("link", "delete", BRIDGE)


def _list_pids(machine: str) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", machine], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


@pytest.fixture
def site(machines: None, tmp_path: Path) -> Iterator[LiveSite]:
    """Web, scheduler and conductor in this namespace, and a load generator on each machine."""
    fetch_servers(settings.SERVERS_DIR, ["cassandra"])
    build(settings.YCSB_DIR, ["cassandra", "redis"])
    live = LiveSite(tmp_path)
    url = f"http://{ADDRESS}:{live.port}"
    live.parts["web"] = components.web(live.port, "0.0.0.0")
    live.parts["web"].env = {**live.parts["web"].env, "BENCHSITE_SITE_URL": url}
    try:
        live.start("web", "scheduler", "conductor")
        for name, address in MACHINES.items():
            own = {"BENCHSITE_MACHINE": name, "BENCHSITE_NODE_ADDRESS": address, "BENCHSITE_GENERATOR_SLOTS": "1"}
            part = components.load_generator(name, {**generator_environment(name, url), **NO_DATABASE, **own})
            part.argv = [*in_namespace(name), *part.argv]
            live.parts[name] = part
        live.start(*MACHINES)
        yield live
    finally:
        live.stop()


def describe(client: Client, system: str, machines: list[str], **database: str) -> Database:
    """A cluster and a database, by their forms."""
    rows: dict[str, str] = {}
    for number, name in enumerate(machines):
        machine = LoadGenerator.objects.get(name=name).machine
        rows |= {f"node-{number}-machine": str(machine.pk), f"node-{number}-address": ""}
    posted = client.post(reverse("cluster-add"), {"name": f"{system} lab", "provisioner": "process", **rows})
    assert posted.status_code == 302, posted.content.decode()
    cluster = Cluster.objects.get(name=f"{system} lab")
    fields = {"system": system, "cluster": str(cluster.pk), "name": f"{system} on machines", "replication_factor": "1"}
    posted = client.post(reverse("database-add"), {**fields, **database})
    assert posted.status_code == 302, posted.content.decode()
    return Database.objects.get(cluster=cluster)


def plan(database: Database, mode: str, user, *, rungs: list[int], measure_s: int) -> Matrix:
    """Clients run on one of the machines."""
    workload = make_workload(team=database.team)
    generator = LoadGenerator.objects.get(name="lab-1")
    matrix = make_matrix(
        team=database.team, entries=[(database, mode)], workloads=[workload], load_generators=[generator],
        rungs=rungs, warmup_s=1, min_measure_s=measure_s, max_measure_s=measure_s, submitted_at=None,
    )  # fmt: skip
    submit(matrix, user)
    return matrix


@pytest.mark.parametrize(
    ("system", "mode", "names", "fields"),
    [
        ("redis", "everysec-wait-1", ["lab-1", "lab-2"], {}),
        ("cassandra", "quorum-periodic", list(MACHINES), {"replication_factor": "3"}),
    ],
    ids=["redis", "cassandra"],
)
def test_nodes_are_started_measured_and_end(site: LiveSite, system, mode, names, fields):
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN, is_staff=True)
    client = Client()
    client.force_login(user)
    database = describe(client, system, names, **fields)
    matrix = plan(database, mode, user, rungs=[2], measure_s=3)

    runs = site.until_ended(matrix, 400)

    assert [(run.phase, run.status) for run in runs] == [("load", "succeeded"), ("measure", "succeeded")], [
        (run.reason, run.reason_detail) for run in runs
    ]
    before = runs[-1].evidence["before"]
    assert before["in_force"] and before["topology"]["nodes_up"] == str(len(names)), before
    deployment = Deployment.objects.get(matrix=matrix)
    site.until(lambda: not NodeProcess.objects.exists(), 60, "the nodes to be removed")
    assert find_processes(str(deployment.pk)) == []


def test_run_says_which_machine_was_lost(site: LiveSite):
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN, is_staff=True)
    client = Client()
    client.force_login(user)
    matrix = plan(describe(client, "redis", ["lab-1", "lab-2"]), "everysec", user, rungs=[2], measure_s=20)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, Stage.MEASURING)
    deployment = str(Deployment.objects.get(matrix=matrix).pk)
    assert len(find_processes(deployment)) == 2

    worker = psutil.Process(site.pid("lab-2"))
    worker.kill()

    on_machine = set(_list_pids("lab-2"))
    site.until(lambda: not on_machine & {process.pid for process in find_processes(deployment)}, 15, "its node to end")
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 90, "the run to fail")
    run.refresh_from_db()
    assert run.reason == Reason.SERVER_LOST
    assert "Node 2 at 10.88.7.12: the load generator lab-2" in run.reason_detail
