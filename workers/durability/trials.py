"""Faults against a real server on a volatile disk: acknowledged writes, the fault, recovery, the loss. No Django.

A power cut kills the process that holds what was not synced, then the server; the server starts again on what survived.
A process crash kills the server alone. Every trial begins with a copy of the same data folder, except those of a
cluster of equal nodes. A library inside the client has no server: the client itself ends.
"""

import contextlib
import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from benchsite.core.child_environment import child_environment
from runs.catalog import Mode, System
from runs.catalog.measured_losses import NETWORK_CUTS, NODE_LOSSES, Disk, Fault
from workers.durability.ledger import UNREADABLE, Loss, Write, classify
from workers.durability.ledger_client import LedgerClient, LedgerClientError
from workers.durability.storage import start_storage
from workers.processes.guarded_process import Guarded
from workers.provision.administration import AdministrationError
from workers.provision.embedded_provisioner import EmbeddedProvisioner
from workers.provision.folders import make_folder, remove_folder
from workers.provision.network_cut import network_cut
from workers.provision.ports import free_port
from workers.provision.process_provisioner import ProcessProvisioner, Site
from workers.provision.servers import HOST, Server, ServerDidNotStart, ServerSpec, get_host
from workers.systems.manifests import Manifest

THREADS: Final = 4
RATE_OPS_S: Final = 1000.0
PRIMARY_AND_REPLICA: Final = 2  # nodes: of several replicas nobody knows which acknowledged a write
MAX_COPIES: Final = 3  # of each record in a cluster of equal nodes, where it has as many
CUT_S: Final = 1.0  # a network is cut
REPLAY_WAIT_S: Final = 1.0  # for a replica to apply what it has received; it has, once two readings agree
MAX_READINGS: Final = 30
TABLE: Final = "usertable"
FIELD: Final = "field0"
UNBOUNDED_PERIOD_S: Final = 1.0
MIN_PERIOD_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault and its outcome. Instants are seconds."""

    fault: Fault
    recovery_s: float | None  # from the start of the server's process to its first answer; None: it did not start
    problem: str  # why it did not start
    loss: Loss


class Bench(ABC):
    """One system in one mode with its prepared data folder and client. Made by `prepared_bench`."""

    faults: tuple[Fault, ...] = (Fault.PROCESS_CRASH, Fault.POWER_CUT)

    def __init__(
        self, provisioner: ProcessProvisioner | EmbeddedProvisioner, version: str, site: Site, disk: Disk
    ) -> None:
        self.folder = provisioner.folder
        self.period_s = sync_period_s(provisioner.spec.system, provisioner.spec.mode) + 2 * disk.fsync_ms / 1000
        self.version = version
        self.site = site
        self.disk = disk
        self.data = provisioner.folder / "data"

    @abstractmethod
    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        """Writes for `after_s` seconds, then the fault, the recovery and the reading. Raises ProvisionError,
        StorageError and LedgerClientError where the trial itself could not be carried out.
        """

    def write_for(self, client: LedgerClient, after_s: float) -> int:
        """Writes for so long. The instant of the fault, in microseconds since 1970."""
        client.start_writing(RATE_OPS_S)
        time.sleep(after_s)
        return round(time.time() * 1e6)

    def mount_disk(self, folder: Path | None = None, *, is_new: bool = True) -> Guarded:
        """The process of a volatile disk below a node's folder. A new one holds a copy of the template, another what
        survived.
        """
        folder = folder or self.folder
        base, data = folder / "disk", folder / "data"
        if is_new:
            remove_folder(base)
            base.mkdir(mode=0o700)
            subprocess.run(["cp", "-a", folder / "template", base / "tree"], env=child_environment(), check=True)
        remove_folder(data)
        make_folder(data, self.site.account)
        return start_storage(base, data, registry=self.site.registry, options=self.disk)

    def keep_survivors(self) -> None:
        """Makes what survived a power cut the data folder. The process of the disk has ended."""
        self.data.rmdir()
        (self.folder / "disk" / "tree").rename(self.data)

    def read_after(
        self,
        fault: Fault,
        fault_us: int,
        writes: list[Write],
        reopened: AbstractContextManager[LedgerClient],
    ) -> Trial:
        """Starts the system again after the fault, and reads every key of the ledger."""
        keys = sorted({write.key for write in writes})
        began, problem, recovery_s = time.monotonic(), "", None
        try:
            with reopened as client:
                recovery_s = time.monotonic() - began
                versions = client.read_back(keys)
        except ServerDidNotStart as error:
            problem = str(error)
            versions = dict.fromkeys(keys, UNREADABLE)

        return Trial(
            fault=fault,
            recovery_s=recovery_s,
            problem=problem,
            loss=classify(writes, versions, fault_us),
        )

    def moments_s(self, number: int) -> list[float]:
        """When to cut, in seconds after the first acknowledgements: spread evenly over the period of the mode, once
        the period has passed one and a half times.

        The age of a lost write depends on the moment within the server's own period; its phase is unknown, so evenly
        spread moments see all of it. A slow disk makes the period longer: by the sync that is going on and by the next.
        """
        return [self.period_s * (1.5 + (position + 0.5) / number) for position in range(number)]


class ServerBench(Bench):
    """Of a server, whose client outlives every fault. A replica has an ordinary disk, because it is copied anew from
    the primary at each start.
    """

    def __init__(
        self,
        provisioner: ProcessProvisioner,
        server: Server,
        client: LedgerClient,
        site: Site,
        disk: Disk,
        *,
        replica: LedgerClient | None = None,
    ) -> None:
        super().__init__(provisioner, server.version, site, disk)
        self.provisioner = provisioner
        self.server = server
        self.client = client
        self.replica = replica
        if replica:
            self.faults = (Fault.POWER_CUT, *NODE_LOSSES)

    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        storage = self.mount_disk()
        try:
            self.provisioner.mounts_of = {0: storage.pid}
            self.provisioner.start()
            fault_us = self.write_for(self.client, after_s)
            if fault in NODE_LOSSES:
                return self._lose_primary(fault)

            if fault is Fault.POWER_CUT:
                os.kill(storage.pid, signal.SIGKILL)
            self.provisioner.stop_nodes(None, planned=False)
            if fault is Fault.POWER_CUT:
                storage.kill()
                self.keep_survivors()
                self.provisioner.mounts_of = {}

            return self.read_after(fault, fault_us, self.client.finish_writing(), self.started_again())
        finally:
            self.provisioner.stop(planned=False)
            storage.kill()

    def _lose_primary(self, fault: Fault) -> Trial:
        """A lost machine sends nothing more. The kernel of a process that ends sends what it had written, or resets the
        connection, which discards what the replica has not read yet: so the primary is cut off first and stays so.
        """
        primary = network_cut([self.provisioner.processes(1)], self.provisioner.processes(2))
        with ExitStack() as stack:
            with self.cut_off([2], CUT_S if fault is Fault.CUT_OFF_LOSS else 0.0) as fault_us:
                self.provisioner.stop_nodes(1, planned=False)
                writes = self.client.finish_writing()
                stack.enter_context(primary)
            return self.read_after(fault, fault_us, writes, self._replica(writes))

    @contextlib.contextmanager
    def cut_off(self, cut: Iterable[int], cut_s: float = CUT_S) -> Iterator[int]:
        """Cuts nodes off from the rest and from the clients, and waits. The instant, in microseconds since 1970."""
        processes = {node: self.provisioner.processes(node) for node in range(1, len(self.server.nodes) + 1)}
        cut_processes = list(chain.from_iterable(processes.pop(node) for node in cut))
        with network_cut([cut_processes], chain.from_iterable(processes.values())):
            time.sleep(cut_s)
            yield round(time.time() * 1e6)

    @contextlib.contextmanager
    def started_again(self) -> Iterator[LedgerClient]:
        """The client, once the server answers. Raises ServerDidNotStart."""
        self.provisioner.start()
        yield self.client

    @contextlib.contextmanager
    def _replica(self, writes: Iterable[Write]) -> Iterator[LedgerClient]:
        """A client of the replica, which is not promoted, once it has applied everything."""
        assert self.replica is not None
        keys = sorted({write.key for write in writes})
        before: dict[str, int] = {}
        for _ in range(MAX_READINGS):
            time.sleep(REPLAY_WAIT_S)
            versions = self.replica.read_back(keys)
            if versions == before and UNREADABLE not in versions.values():
                break
            before = versions
        else:
            raise LedgerClientError(f"{MAX_READINGS} readings of the replica differ.")

        yield self.replica


class ClusterBench(ServerBench):
    """Of equal nodes, each on a volatile disk. A trial begins with what the last one left: a start takes a minute."""

    faults = (Fault.MINORITY_CUT, Fault.MAJORITY_CUT, Fault.NODE_POWER_CUT, Fault.POWER_CUT)

    def __init__(
        self, provisioner: ProcessProvisioner, server: Server, client: LedgerClient, site: Site, disk: Disk
    ) -> None:
        super().__init__(provisioner, server, client, site, disk)
        self.folders = [provisioner.node_folder(node) for node in range(len(server.nodes))]
        self.storages: list[Guarded] = []

    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        if not self.provisioner.alive():
            self.stop()
            self._mount(self.folders, is_new=True)
            self.provisioner.start()

        fault_us = self.write_for(self.client, after_s)
        if fault in NETWORK_CUTS:
            others = range(2, len(self.folders) + 1)
            with self.cut_off([1] if fault is Fault.MINORITY_CUT else others) as fault_us:
                pass
            writes = self.client.stop_writing()
            reopened = self._complete(self.provisioner.wait_for_nodes, is_retried=True)
            return self.read_after(fault, fault_us, writes, reopened)

        only = 1 if fault is Fault.NODE_POWER_CUT else None
        cut = self.storages[:only]
        for storage in cut:
            os.kill(storage.pid, signal.SIGKILL)

        self.provisioner.stop_nodes(only, planned=False)
        for storage in cut:
            storage.kill()

        writes = self.client.stop_writing()
        self._mount(self.folders[:only], is_new=False)
        reopened = self._complete(partial(self.provisioner.start_nodes, self.server, only), is_retried=only is not None)
        return self.read_after(fault, fault_us, writes, reopened)

    def stop(self) -> None:
        self.provisioner.stop(planned=False)
        for storage in self.storages:
            storage.kill()

    @contextlib.contextmanager
    def _complete(self, join: Callable[[], object], *, is_retried: bool) -> Iterator[LedgerClient]:
        """The client, once `join` has all nodes up. If a retry is allowed, nodes that do not accept each other are
        started again together.

        Raises ServerDidNotStart, and the next trial starts anew then.
        """
        try:
            join()
        except (ServerDidNotStart, AdministrationError) as error:
            self.provisioner.stop(planned=False)
            if not is_retried:
                raise ServerDidNotStart(str(error)) from error
            self.provisioner.start_nodes(self.server, None)
        yield self.client

    def _mount(self, folders: Sequence[Path], *, is_new: bool) -> None:
        for node, folder in enumerate(folders):
            self.storages[node : node + 1] = [self.mount_disk(folder, is_new=is_new)]
            self.provisioner.mounts_of[node] = self.storages[node].pid


class LibraryBench(Bench):
    """Of a library inside the client, such as RocksDB. The client's process ends at every fault, and another one reads.

    It ends by SIGTERM, at which it writes down its ledger and exits without closing the database. `kill -9` would take
    the last lines of the ledger with it.
    """

    def __init__(
        self, provisioner: EmbeddedProvisioner, server: Server, manifest: Manifest, site: Site, disk: Disk
    ) -> None:
        super().__init__(provisioner, server.version, site, disk)
        self.server = server
        self.manifest = manifest

    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        storage = self.mount_disk()
        try:
            with self._client(storage.pid) as client:
                fault_us = self.write_for(client, after_s)
                if fault is Fault.POWER_CUT:
                    storage.kill()
                writes = client.end_without_closing()
            if fault is Fault.POWER_CUT:
                self.keep_survivors()
            mounts_of = None
            if fault is not Fault.POWER_CUT:
                mounts_of = storage.pid
            return self.read_after(fault, fault_us, writes, self._opened_again(mounts_of))
        finally:
            storage.kill()

    @contextlib.contextmanager
    def _opened_again(self, mounts_of: int | None) -> Iterator[LedgerClient]:
        """Another process that has the database open. Raises ServerDidNotStart."""
        with self._client(mounts_of) as client:
            try:
                client.read_back(["none"])
            except LedgerClientError as error:
                raise ServerDidNotStart(str(error)) from error
            yield client

    def _client(self, mounts_of: int | None) -> LedgerClient:
        folder = self.folder / "client"
        remove_folder(folder)
        return new_client(folder, self.manifest, self.server, self.site, mounts_of=mounts_of)


def sync_period_s(system: System, mode: Mode) -> float:
    """How often a node syncs its writes: the loss window of the mode, or of another one whose settings of the server
    it has too, where copies on other nodes make the mode's own window shorter.
    """
    period_s = MIN_PERIOD_S
    for other in system.modes.values():
        if other.server_settings.items() <= mode.server_settings.items():
            window_s = other.durability.loss_window_s
            period_s = max(period_s, UNBOUNDED_PERIOD_S if window_s is None else window_s)
    return period_s


def new_client(
    folder: Path, manifest: Manifest, server: Server, site: Site, *, mounts_of: int | None = None
) -> LedgerClient:
    recipe = server.spec.system.process
    properties = server.client_properties()
    if recipe and server.nodes:
        properties |= recipe.read_back
    folder.mkdir(mode=0o700)
    return LedgerClient(manifest, properties, folder, registry=site.registry, threads=THREADS, mounts_of=mounts_of)


def prepared_bench(
    system: System, mode: Mode, manifest: Manifest, site: Site, *, nodes: int = 1, disk: Disk | None = None
) -> AbstractContextManager[Bench]:
    """Starts the system once on ordinary storage, and keeps its data folders as the templates of trials.

    Everything lies in one folder below `site.targets`, which is deleted at the end.
    """
    if system.is_embedded:
        return prepared_library(system, mode, manifest, site, disk=disk)
    return prepared_server(system, mode, manifest, site, nodes=nodes, disk=disk)


@contextlib.contextmanager
def started_server(
    system: System, mode: Mode, site: Site, *, nodes: int = 1
) -> Iterator[tuple[ProcessProvisioner, Server]]:
    """A new server or cluster that is up and has the table, below `site.targets`. It is removed at the end."""
    provisioner = ProcessProvisioner(_build_spec(system, mode, nodes), site, port=free_port(HOST))
    provisioner.remove()  # of an earlier life that was killed
    try:
        server = provisioner.start()
        server.administration.create_table(TABLE, [FIELD], "")
        yield provisioner, server
    finally:
        provisioner.remove()


@contextlib.contextmanager
def prepared_server(
    system: System, mode: Mode, manifest: Manifest, site: Site, *, nodes: int = 1, disk: Disk | None = None
) -> Iterator[ServerBench]:
    """`prepared_bench` of a server or a cluster, with its table."""
    with ExitStack() as opened:
        provisioner, server = opened.enter_context(started_server(system, mode, site, nodes=nodes))
        provisioner.stop()
        are_equal = nodes > 1 and provisioner.recipe.replica is None
        for node in range(nodes if are_equal else 1):
            folder = provisioner.node_folder(node)
            (folder / "data").rename(folder / "template")

        client = opened.enter_context(new_client(provisioner.folder / "client", manifest, server, site))
        if are_equal:
            cluster = ClusterBench(provisioner, server, client, site, disk or Disk())
            opened.callback(cluster.stop)
            yield cluster
            return

        replica = None
        if nodes > 1:
            at_replica = replace(server, host=get_host(1), nodes=())
            replica = opened.enter_context(new_client(provisioner.folder / "replica", manifest, at_replica, site))

        yield ServerBench(provisioner, server, client, site, disk or Disk(), replica=replica)


@contextlib.contextmanager
def prepared_library(
    system: System, mode: Mode, manifest: Manifest, site: Site, *, disk: Disk | None = None
) -> Iterator[LibraryBench]:
    """`prepared_bench` of a library inside the client."""
    provisioner = EmbeddedProvisioner(_build_spec(system, mode), site)
    provisioner.remove()
    try:
        server = provisioner.start()
        provisioner.stop()
        (provisioner.folder / "data").rename(provisioner.folder / "template")
        yield LibraryBench(provisioner, server, manifest, site, disk or Disk())
    finally:
        provisioner.remove()


def has_copies(system: System, nodes: int) -> bool:
    """Whether so many nodes of the system are one server, or share each record among them."""
    recipe = system.process
    if recipe is None or int(recipe.settings.get("nodes", "1")) > nodes:
        return False
    return nodes == 1 or bool(recipe.read_back) or (recipe.replica is not None and nodes == PRIMARY_AND_REPLICA)


def _build_spec(system: System, mode: Mode, nodes: int = 1) -> ServerSpec:
    settings = {}
    if nodes > 1:
        settings = {"nodes": nodes}
    return ServerSpec(
        deployment=f"durability-{system.slug}-{mode.slug}",
        system=system,
        mode=mode,
        settings=settings,
        replication_factor=min(nodes, MAX_COPIES),
    )
