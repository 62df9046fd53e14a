"""Redis Cluster: every master is asked at its own address, and records by the slots of their keys."""

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from workers.provision.administration.base import MAX_SURVEYED, Address, AdministrationError, Counters, Survey
from workers.provision.administration.redis import (
    ANSWER_TIMEOUT_S,
    MARKER_KEY,
    RedisAdministration,
    indexes,
    product_version,
)
from workers.provision.messages import NODE_STATE, SLOTS_MISSING

# Nodes that have just met exchange what they know once a second, and take writes after two.
FORMATION_TIMEOUT_S = 60.0
FORMATION_INTERVAL_S = 0.1


class RedisClusterAdministration(RedisAdministration):
    """The masters at these addresses. Each states its own slots, so no other address is connected to."""

    def __init__(self, address: Address, nodes: Sequence[tuple[str, int]], *, keeps_connection: bool = False) -> None:
        super().__init__(address)
        self.nodes = [
            RedisAdministration(replace(address, host=host, port=port), keeps_connection=keeps_connection)
            for host, port in nodes
        ]

    # --- the servers

    def ping(self) -> None:
        """Asks the first node, which is started before the others."""
        self.nodes[0].ping()

    def data_folder(self) -> str:
        return self.nodes[0].data_folder()

    def prepare(self, settings: Mapping[str, str]) -> None:
        """Gives new nodes equal shares of the slots and lets all meet, also nodes whose ports changed."""
        count = len(self.nodes)
        for number, node in enumerate(self.nodes):
            with node.connect() as client:
                if not _own_slots(client):
                    first, end = (REDIS_CLUSTER_HASH_SLOTS * share // count for share in (number, number + 1))
                    client.cluster("ADDSLOTSRANGE", first, end - 1)

        with self.nodes[0].connect() as client:
            for node in self.nodes[1:]:
                bus_port = node.read_settings(["cluster-port"])["cluster-port"]
                client.cluster("MEET", node.address.host, node.address.port, bus_port)

        end_s = time.monotonic() + FORMATION_TIMEOUT_S
        while problem := self._formation_problem():
            if time.monotonic() > end_s:
                raise AdministrationError(f"The nodes did not form a cluster: {problem}.")
            time.sleep(FORMATION_INTERVAL_S)

    def _formation_problem(self) -> str:
        """Why the cluster does not take writes yet; empty once every node does and knows all others."""
        for node in self.nodes:
            with node.connect() as client:
                info = client.cluster("INFO")
            if info["cluster_state"] != "ok" or info["cluster_known_nodes"] != str(len(self.nodes)):
                where = f"{node.address.host}:{node.address.port}"
                return NODE_STATE.format(node=where, state=info["cluster_state"], nodes=info["cluster_known_nodes"])
        return ""

    def server_version(self) -> str:
        return _distinct(node.server_version() for node in self.nodes)

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        """With all values of a setting whose nodes differ."""
        answers = [node.read_settings(list(names)) for node in self.nodes]
        settings = {}
        for name in set().union(*answers):
            settings[name] = _distinct(answer.get(name, "(unknown)") for answer in answers)
        return settings

    def survey(self, table: str) -> Survey:
        surveys = [node.survey(table) for node in self.nodes]
        data: Counter[str] = Counter()
        for survey in surveys:
            data.update(survey.data)
        obstacles = set(chain.from_iterable(survey.obstacles for survey in surveys)) - {"cluster_mode"}
        connections = [survey.connections for survey in surveys if survey.connections]
        fewest = min(connections, key=lambda node: node.free, default=None)
        return Survey(dict(data.most_common(MAX_SURVEYED)), sorted(obstacles), fewest)

    def replicas(self) -> int:
        """The replicas of the master that has the fewest."""
        return min(node.replicas() for node in self.nodes)

    def topology(self) -> dict[str, str]:
        servers, slots = [], []
        for node in self.nodes:
            with contextlib.suppress(AdministrationError), node.connect() as client:
                servers.append(client.info("server"))
                slots.append(" ".join("-".join(ends) for ends in _own_slots(client)))
        topology = {"nodes_up": str(len(servers))}
        if len(servers) == len(self.nodes):
            topology["version"] = _distinct(product_version(server) for server in servers)
            topology["process_ids"] = ", ".join(str(server["process_id"]) for server in servers)
            topology["slots"] = ", ".join(slots)
        return topology

    @contextlib.contextmanager
    def open_counters(self) -> Iterator[Callable[[], Counters]]:
        with contextlib.ExitStack() as stack:
            readers = [stack.enter_context(node.open_counters()) for node in self.nodes]
            yield lambda: _total([read() for read in readers])

    def shut_down(self) -> bool:
        for node in self.nodes:
            node.shut_down()
        return True

    # --- the data set

    @contextlib.contextmanager
    def connect(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Iterator["redis.Redis"]:
        """To the node that holds the marker."""
        with self._holders()[key_slot(MARKER_KEY.encode())].connect(timeout_s) as client:
            yield client

    def content(self, table: str) -> str:
        self._holders()
        return next(filter(None, (node.content(table) for node in self.nodes)), "")

    def size(self, table: str) -> int:
        total = 0
        for node in dict.fromkeys(self._holders()):  # Replicas hold the same records once more.
            with node.connect() as client:
                total += int(client.dbsize())
        if self.count_keys(table, [MARKER_KEY]):
            total -= 1 + self.count_keys(table, indexes(table))
        return total

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        return self._for_keys("EXISTS", keys)

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        deleted = self._for_keys("UNLINK", keys)
        holders = self._holders()
        for index in indexes(table):
            with holders[key_slot(index.encode())].connect() as client:
                if client.type(index) == "zset":
                    client.zrem(index, *keys)
        return deleted

    def _for_keys(self, command: str, keys: Sequence[str]) -> int:
        """The sum of what the command answers for the keys. A command takes keys of one slot alone."""
        holders = self._holders()
        by_slot = defaultdict(list)
        for key in keys:
            by_slot[key_slot(key.encode())].append(key)

        total = 0
        for node in self.nodes:
            with node.connect() as client, client.pipeline(transaction=False) as pipeline:
                for slot, slot_keys in by_slot.items():
                    if holders[slot] is node:
                        pipeline.execute_command(command, *slot_keys)  # type: ignore[no-untyped-call]
                total += sum(pipeline.execute())

        return total

    def _holders(self) -> list[RedisAdministration]:
        """The master of each slot."""
        holders: dict[int, RedisAdministration] = {}
        for node in self.nodes:
            with node.connect() as client:
                for ends in _own_slots(client):
                    holders |= dict.fromkeys(range(int(ends[0]), int(ends[-1]) + 1), node)
        if len(holders) < REDIS_CLUSTER_HASH_SLOTS:
            raise AdministrationError(SLOTS_MISSING.format(slots=len(holders), all_slots=REDIS_CLUSTER_HASH_SLOTS))
        return [holders[slot] for slot in range(REDIS_CLUSTER_HASH_SLOTS)]


def _own_slots(client: "redis.Redis") -> list[list[str]]:
    """Ranges of slots of this node itself: first and last, or one alone."""
    nodes: dict[str, dict[str, Any]] = client.cluster("NODES")
    return next(node["slots"] for node in nodes.values() if "myself" in node["flags"])


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def _total(counters: Sequence[Counters]) -> Counters:
    """Sums of all nodes; the lag is that of the slowest."""
    counts: Counter[str] = Counter()
    values: dict[str, float] = defaultdict(float)
    for node in counters:
        counts.update(node.counts)
        for name, value in node.values.items():
            if name.startswith("replication_lag_"):
                values[name] = max(values[name], value)
            else:
                values[name] += value
    return Counters(dict(counts), dict(values))
