"""Nodes of one server on several machines: load generators start and end them, as rows of the conductor say."""

import dataclasses
import time
import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest

from runs.catalog import load_catalog
from runs.models import Cluster, Deployment
from runs.tests.factories import make_cluster, make_conductor, make_database, make_load_generator, make_machine
from runs.timeouts import NODE_LEASE_S
from workers.generator import node_agent, node_processes
from workers.generator.node_agent import NodeAgent
from workers.generator.site_client import SiteUnreachable
from workers.models import NodeProcess
from workers.provision import agent_provisioner
from workers.provision.agent_provisioner import AgentProvisioner
from workers.provision.messages import LEASE_OVER, NODE_FORGOTTEN
from workers.provision.readback import read_back
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.tests.conftest import find_processes

HOSTS = ("127.0.0.1", "127.0.0.2")
pytestmark = pytest.mark.django_db


class Line:
    """The API without its network: a site that a test can take away."""

    def __init__(self, generator):
        self.generator, self.is_cut = generator, False

    def report_nodes(self, reports):
        if self.is_cut:
            raise SiteUnreachable("cut")
        node_processes.note_reports(self.generator, reports)
        return [
            {**row, "start_id": str(row["start_id"]), "deployment": str(row["deployment"])}
            for row in node_processes.list_orders(self.generator)
        ]


@pytest.fixture
def deployment():
    """Of a primary and a replica on two machines."""
    cluster = make_cluster(machines=[])
    for position, host in enumerate(HOSTS):
        machine = make_machine(name=f"lab-{position}")
        make_load_generator(name=f"lab-{position}", machine=machine, facts={"node_address": host})
        cluster.nodes.create(machine=machine, position=position, address=host)
    database = make_database(cluster=cluster, system="redis")
    return Deployment.objects.create(
        cluster=cluster, database=database, mode="everysec-wait-1", state="starting", conductor=make_conductor()
    )


@pytest.fixture
def agents(site, monkeypatch):
    """The agents of both machines; they report whenever somebody waits for them."""
    agents = [
        NodeAgent(Line(f"lab-{number}"), dataclasses.replace(site, targets=site.targets / f"nodes-{number}"))
        for number in range(2)
    ]

    def exchange(_):
        for agent in agents:
            agent.exchange()
        time.sleep(0.02)

    monkeypatch.setattr(agent_provisioner, "time", SimpleNamespace(sleep=exchange, monotonic=time.monotonic))
    yield agents
    for agent in agents:
        for node in agent.nodes.values():
            node.request("killed")
    await_ended(agents)


def await_ended(agents):
    end = time.monotonic() + 20
    while any(node.state != "ended" for agent in agents for node in agent.nodes.values()):
        assert time.monotonic() < end
        time.sleep(0.05)


def make_provisioner(deployment, **changes):
    system = load_catalog().system(deployment.database.system)
    fields = {"deployment": str(deployment.pk), "system": system, "mode": system.mode(deployment.mode), "hosts": HOSTS}
    return AgentProvisioner(ServerSpec(**{**fields, **changes}))


@pytest.mark.slow
@pytest.mark.parametrize(("system", "mode"), [("redis", "everysec-wait-1"), ("postgresql", "on-standby")])
def test_two_machines_hold_primary_and_replica(deployment, agents, site, system, mode):
    deployment.database.system, deployment.mode = system, mode
    deployment.database.save()
    provisioner = make_provisioner(deployment)
    server = provisioner.start()

    state = read_back(server.spec.system, server.spec.mode, server.administration)
    assert (state.in_force, state.topology["nodes_up"], server.nodes[1][0]) == (True, "2", "127.0.0.2")
    assert provisioner.alive()
    assert "ready to accept connections" in provisioner.log_tail().lower()
    row = NodeProcess.objects.get(number=1)
    assert row.order["properties"]["password"] == server.password
    assert row.folder.startswith(str(agents[1]._site.targets))

    provisioner.stop()
    assert find_processes(site.targets) == []
    assert set(NodeProcess.objects.values_list("state", flat=True)) == {"ended"}
    again = provisioner.start()
    assert again.password == server.password

    Deployment.objects.update(state="gone")
    provisioner.remove()
    for agent in agents:
        agent.exchange()
        agent.exchange()
        assert list(agent._site.targets.iterdir()) == []
    assert not NodeProcess.objects.exists()


@pytest.mark.slow
def test_node_that_ends_is_named_with_its_log(deployment, agents):
    provisioner = make_provisioner(deployment)
    provisioner.start()

    (node,) = agents[1].nodes.values()
    node._provisioner._guarded.kill()

    assert not provisioner.alive()
    assert provisioner.log_tail().startswith("Node 2 at 127.0.0.2: it ended with exit code -9")


@pytest.mark.slow
def test_agent_without_its_site_ends_nodes(deployment, agents, site):
    make_provisioner(deployment).start()
    agents[1]._client.is_cut = True
    agents[1].exchange()
    assert [node.state for node in agents[1].nodes.values()] == ["up"]

    agents[1]._heard_at -= NODE_LEASE_S
    agents[1].exchange()
    await_ended(agents[1:])

    assert [node.report()["problem"] for node in agents[1].nodes.values()] == [LEASE_OVER]
    assert len(find_processes(site.targets)) == 1


@pytest.mark.slow
def test_nodes_of_a_dead_conductor_are_ended(deployment, agents, site):
    make_provisioner(deployment).start()

    deployment.conductor.delete()
    for agent in agents:
        agent.exchange()
    await_ended(agents)

    assert find_processes(site.targets) == []


def order_row(deployment, **fields):
    generator = make_load_generator(name="lab-9")
    return NodeProcess.objects.create(
        deployment=deployment, load_generator=generator, number=0, start_id=uuid.uuid4(), order={"node": 0},
        desired_state="up",
        **fields,
    )  # fmt: skip


def test_agent_started_again_does_not_start_node_anew(deployment, site):
    """Its data may be behind what clients were told."""
    row = order_row(deployment, state="up", is_reported=True)
    agent = NodeAgent(Line("lab-9"), site)

    agent.exchange()
    agent.exchange()

    row.refresh_from_db()
    assert (row.state, row.problem) == ("ended", NODE_FORGOTTEN)


def test_report_on_an_earlier_life_is_dropped(deployment):
    row = order_row(deployment)

    node_processes.note_reports("lab-9", [{"start_id": uuid.uuid4(), "state": "ended"}])
    node_processes.note_reports("lab-0", [{"start_id": row.start_id, "state": "ended"}])

    row.refresh_from_db()
    assert (row.state, row.is_reported) == ("starting", False)


def test_unchecked_settings_need_the_operator_of_the_machine(deployment, settings):
    order = {
        "system": "redis", "flavour": "", "own_modes": {}, "mode": "everysec", "settings": {"unchecked.hz": "50"},
        "binding_properties": {}, "version": "", "hosts": list(HOSTS),
    }  # fmt: skip
    with pytest.raises(ServerDidNotStart, match=r"add redis\.hz to BENCHSITE_UNCHECKED_SETTINGS there"):
        node_agent._build_spec("server", order)
    settings.UNCHECKED_SETTINGS = ["redis.hz"]
    assert node_agent._build_spec("server", order).hosts == HOSTS


def test_silent_load_generator_is_named(deployment, monkeypatch):
    NodeProcess.objects.all().delete()
    monkeypatch.setattr(agent_provisioner, "NODE_SILENT_AFTER", timedelta(seconds=-1))
    monkeypatch.setattr(agent_provisioner, "GONE_AFTER", timedelta(seconds=0.3))
    with pytest.raises(ServerDidNotStart, match=r"Node 1 at 127\.0\.0\.1: the load generator lab-0, which started it"):
        make_provisioner(deployment).start()


def test_machine_whose_load_generator_starts_nothing(deployment):
    Cluster.objects.get().nodes.filter(position=1).update(address="10.0.0.9")
    with pytest.raises(ServerDidNotStart, match=r"No load generator of lab-1 starts servers at 10\.0\.0\.9"):
        make_provisioner(deployment).start()


@pytest.mark.parametrize("system", ["mariadb", "hbase"])
def test_other_systems_are_refused(deployment, system):
    record = load_catalog().system(system)
    mode = next(iter(record.modes.values()))
    with pytest.raises(ServerDidNotStart, match="on its own machine alone"):
        make_provisioner(deployment, system=record, mode=mode).start()
