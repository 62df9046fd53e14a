"""Servers under test on several machines: the load generator of each machine starts and ends one node.

The conductor writes rows (`workers.models.NodeProcess`), which load generators ask for and report on every second.
"""

import secrets
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from benchsite.core.database_clock import database_now
from benchsite.core.formatting import grouped
from runs.builds import get_source
from runs.catalog import secret_properties
from runs.catalog.generators import get_generators
from runs.models import Database, Deployment, LoadGenerator
from runs.timeouts import (
    NODE_LEASE_S,
    NODE_SILENT_AFTER,
    SERVER_INIT_TIMEOUT_S,
    SERVER_START_TIMEOUT_S,
    SERVER_STOP_TIMEOUT_S,
)
from workers.models import NodeProcess
from workers.provision.administration import AdministrationError
from workers.provision.messages import (
    NO_NODE_AGENT,
    NO_OWN_BUILDS_THERE,
    NODE_LOST,
    NODE_NOT_IN_TIME,
    NODE_SILENT,
    NODES_NOT_JOINED,
    NOT_ON_SEVERAL_MACHINES,
)
from workers.provision.servers import (
    PORT_ATTEMPTS,
    NodeOrder,
    Server,
    ServerDidNotStart,
    ServerSpec,
    StartingProvisioner,
)

State, DesiredState = NodeProcess.State, NodeProcess.DesiredState
POLL_S: Final = 0.5
# Below those that machines choose for their own connections.
PORTS: Final = range(20_000, 30_000)
# A silent load generator has ended its node by then: after its lease, and a request that was on its way.
GONE_AFTER: Final = timedelta(seconds=NODE_LEASE_S + 15)


class AgentProvisioner(StartingProvisioner):
    """The server of one deployment, with a node at each of `spec.hosts`."""

    def __init__(self, spec: ServerSpec) -> None:
        if spec.system.process is None:
            raise ValueError(f"{spec.system.name} cannot be run as a plain process.")

        super().__init__(spec, spec.system.process)
        silence = ExpressionWrapper(Now() - F("changed_at"), output_field=DurationField())
        rows = NodeProcess.objects.filter(deployment=uuid.UUID(spec.deployment))
        self._rows = rows.annotate(silence=silence).order_by("number")
        self._start_ids: list[uuid.UUID] = []  # of the nodes that this start has started

    # --- the protocol

    def start(self) -> Server:
        if not self.recipe.is_networked:
            raise ServerDidNotStart(NOT_ON_SEVERAL_MACHINES.format(system=self.spec.system.name))

        self._kill()
        self._count_nodes()
        if self.spec.build and get_source(self.spec.build):
            raise ServerDidNotStart(NO_OWN_BUILDS_THERE)

        for attempt in range(1, PORT_ATTEMPTS + 1):
            try:
                return self._bring_up(*secrets.SystemRandom().sample(PORTS, 2))
            except ServerDidNotStart as error:
                self._kill()
                if attempt == PORT_ATTEMPTS or "address already in use" not in error.log_tail.lower():
                    raise

        raise AssertionError("unreachable")

    def alive(self) -> bool:
        """Whether all nodes run, as reports say that are made after this call."""
        asked_at = database_now()
        while self._start_ids and self._find_lost() is None:
            if all(node.changed_at >= asked_at for node in self._list_started()):
                return True
            time.sleep(POLL_S)
        return False

    def stop(self, *, planned: bool = True) -> None:
        if planned and self.alive():
            self._stop_as_planned()
        self._kill()

    def remove(self) -> None:
        """Load generators delete the folders of deployments that are gone."""
        self.stop(planned=False)

    def log_tail(self, lines: int = 30) -> str:
        """The log of the first node, or of a further one that ended."""
        node, title = self._rows.first(), ""
        if lost := self._find_lost():
            node, title = lost, self._describe_lost(lost) + "\n"
        if node is None:
            return ""
        return title + "\n".join(node.log.splitlines()[-lines:])

    # --- nodes

    def _list_started(self) -> list[Any]:
        return list(self._rows.filter(start_id__in=self._start_ids))

    def _find_lost(self) -> Any:
        """The first node that has ended, or whose load generator does not report; None where all are well."""
        lost = (node for node in self._list_started() if node.state == State.ENDED or node.silence > NODE_SILENT_AFTER)
        return next(lost, None)

    def _describe_lost(self, node: Any) -> str:
        problem = node.problem or NODE_NOT_IN_TIME
        if node.silence > NODE_SILENT_AFTER:
            problem = NODE_SILENT.format(generator=node.load_generator.name)
        return NODE_LOST.format(node=node.number + 1, host=self._get_host(node.number), problem=problem)

    def _await_nodes(self, numbers: Collection[int], is_done: Callable[[Any], bool], timeout_s: float) -> bool:
        """Whether it is so of each of these nodes within the time."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if all(map(is_done, self._rows.filter(number__in=numbers))):
                return True
            time.sleep(POLL_S)
        return False

    # --- the start

    def _check_disks(self) -> None:
        """Each load generator checks those of its machine."""

    def _bring_up(self, port: int, cluster_port: int) -> Server:
        password = secrets.token_urlsafe(24)
        if former := self._rows.first():
            # They stay with the data.
            password, cluster_port = former.order["properties"]["password"], former.order["cluster_port"]
        deployment = Deployment.objects.select_related("cluster__team", "database").get(pk=self.spec.deployment)
        generators = _find_generators(deployment)
        order = self._build_order(deployment.database, port, cluster_port, password)

        def start_others() -> None:
            for node in range(1, self._nodes):
                self._start_node(generators[node], {**order, "node": node})
            self._wait_for_nodes()

        folder = Path(self._start_node(generators[0], order).folder)
        rendered = self._configure(port, password, 0, host=self._get_host(0), folder=folder, cluster_port=cluster_port)
        server = self._describe(rendered, password, host=rendered.host, folder=str(folder))
        version = self._await_server(
            server, rendered, folder / "data", wait_for_exit=self._wait_for_exit, start_others=start_others
        )
        return replace(server, version=version)

    def _build_order(self, database: Database, port: int, cluster_port: int, password: str) -> NodeOrder:
        spec, properties = self.spec, dict(self.spec.binding_properties)
        for name in secret_properties(spec.system):
            properties.pop(name, None)
        return {
            "system": database.system,
            "flavour": database.flavour,
            "own_modes": database.own_modes,
            "mode": spec.mode.slug,
            "settings": dict(spec.settings),
            "binding_properties": properties,
            "version": spec.version,
            "hosts": list(spec.hosts),
            "node": 0,
            "port": port,
            "cluster_port": cluster_port,
            "properties": {"password": password},
        }

    def _start_node(self, generator: LoadGenerator, order: NodeOrder) -> NodeProcess:
        """Returns once its process runs. Raises ServerDidNotStart."""
        start_id = uuid.uuid4()
        self._start_ids.append(start_id)
        row = {
            "load_generator": generator, "start_id": start_id, "order": order, "desired_state": DesiredState.UP,
            "state": State.STARTING, "problem": "", "folder": "", "log": "", "changed_at": Now(), "is_reported": False,
        }  # fmt: skip
        number = order["node"]
        NodeProcess.objects.update_or_create(deployment_id=self.spec.deployment, number=number, defaults=row)
        self._await_nodes(
            [number],
            lambda node: node.state != State.STARTING or node.silence > NODE_SILENT_AFTER,
            SERVER_INIT_TIMEOUT_S,
        )
        node = self._rows.get(number=number)
        if node.state != State.UP:
            raise self._did_not_start(self._describe_lost(node))
        return node

    def _wait_for_exit(self, pause_s: float) -> str:
        time.sleep(pause_s)
        if lost := self._find_lost():
            return self._describe_lost(lost)
        return ""

    def _wait_for_nodes(self) -> None:
        """Until the first node knows all of them as up. Raises ServerDidNotStart."""
        end = time.monotonic() + SERVER_START_TIMEOUT_S * self._nodes
        while self._nodes > 1 and self.administration.topology()["nodes_up"] != str(self._nodes):
            problem = self._wait_for_exit(POLL_S)
            if time.monotonic() > end:
                problem = NODES_NOT_JOINED
            if problem:
                raise self._did_not_start(problem)

    # --- the end

    def _stop_as_planned(self) -> None:
        """Raises ServerDidNotStop. Equal nodes end together; replicas after their primary."""
        groups: list[Collection[int]] = [range(self._nodes)]
        if self.recipe.replica is not None:
            groups = [[0], range(1, self._nodes)]
        ending = 0
        try:
            if self.administration.shut_down():
                ending = len(groups[0])
        except AdministrationError as error:
            raise self._was_killed(f"it could not be told to end: {error}", self.log_tail()) from error

        for group in groups:
            # Those that end by themselves are not disturbed.
            stopped = self._rows.filter(number__in=group, number__gte=ending)
            stopped.update(desired_state=DesiredState.STOPPED)
            if not self._await_nodes(group, lambda node: node.state == State.ENDED, SERVER_STOP_TIMEOUT_S):
                raise self._was_killed(f"it did not end within {grouped(SERVER_STOP_TIMEOUT_S)} s", self.log_tail())
            if failed := stopped.exclude(problem="").first():
                raise self._was_killed(failed.problem, self.log_tail())

    def _kill(self) -> None:
        """Raises ServerDidNotStop. The node of a silent load generator is gone after its lease."""
        self._rows.update(desired_state=DesiredState.KILLED)
        if self._administration is not None:
            self._administration.close()
        self._administration = None

        def is_gone(node: Any) -> bool:
            return bool(node.state == State.ENDED or node.silence > GONE_AFTER)

        if not self._await_nodes(range(len(self.spec.hosts)), is_gone, 2 * GONE_AFTER.total_seconds()):
            raise self._hangs("one of its nodes")
        self._start_ids = []


def _find_generators(deployment: Deployment) -> list[LoadGenerator]:
    """Of each node the load generator that starts it. Raises ServerDidNotStart."""
    generators = []
    for node in deployment.cluster.nodes.select_related("machine"):
        starting = get_generators(deployment.cluster.team).filter(machine=node.machine, enabled=True)
        generator = starting.filter(facts__node_address=node.address).order_by("-last_seen_at").first()
        if generator is None:
            raise ServerDidNotStart(NO_NODE_AGENT.format(machine=node.machine.name, address=node.address))
        generators.append(generator)
    return generators
