"""What stands on a cluster: the one server that is up, in which mode, with which data set.

The conductor's process owns the servers that it started, each under a guardian; rows say the rest. Each deployment
keeps its own data folder until its matrix ends, so modes can be interleaved without loading again.
"""

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from benchsite.core.addresses import AddressRefused
from runs.catalog import UNCHECKED, Mode, System, load_catalog, secret_properties
from runs.models import Cluster, Deployment, Matrix, Phase, Provisioner, Run, Status
from runs.queue.reasons import Reason
from runs.queue.spec import RunSpec, list_workload_properties
from runs.queue.spec_corrections import has_result
from runs.results import artifacts
from runs.ycsb.properties import inserts, writes
from workers.conductor.data_sets import MAX_COUNTED_RECORDS, deployments_of_target, get_target
from workers.errors import RunFailed
from workers.generator.cpu_sets import available_cpus, divide_cpus
from workers.generator.guards import disk_problem
from workers.generator.host_identity import host_key
from workers.provision.administration import AdministrationError
from workers.provision.cpu_quota import remove_unused_groups
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.leftovers import sweep
from workers.provision.listeners import find_servers
from workers.provision.network_cut import remove_unused_cuts
from workers.provision.ownership import DataNotOwned, DataSetMissing, DataTarget, StatedTarget
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.provisioner_factory import container_site, provisioner_for
from workers.provision.readback import ReadBack, read_back
from workers.provision.servers import Provisioner as ServerProvisioner, ProvisionError, Server, ServerSpec
from workers.provision.sync_latency import probe_disk

log = logging.getLogger(__name__)
State = Deployment.State


# The servers of this process, by deployment. One lock: clusters may share a machine.
_servers: dict[uuid.UUID, tuple[ServerProvisioner, Server]] = {}
_lock = threading.RLock()


class Standing:
    """One deployment whose server is up, as the conductor uses it during one run."""

    def __init__(self, deployment: Deployment, provisioner: ServerProvisioner, server: Server, *, fresh: bool) -> None:
        self.deployment, self.provisioner, self.server = deployment, provisioner, server
        self.fresh = fresh  # whether the server was started for this run
        self.system: System = server.spec.system
        self.mode: Mode = server.spec.mode
        self.first_insert: int | None = None  # behind the last record of a data set that has grown
        self.is_ended = False  # whether a planned fault has ended its processes, and they do not run again yet
        self._was_ended = False

    def _update(self, **values: object) -> None:
        Deployment.objects.filter(pk=self.deployment.pk).update(**values)

    @property
    def _is_here(self) -> bool:
        """Whether its data folder is on this host."""
        return bool(self.server.folder) and not self.server.spec.hosts

    @property
    def process_ids(self) -> list[int]:
        """The main process of each node, where they run on this host."""
        if isinstance(self.provisioner, ExternalProvisioner):
            # The samples of this host are those of the cluster's nodes only where it is described as one of them.
            nodes = list(self.deployment.cluster.nodes.select_related("machine"))
            if not any(node.machine.host_key == host_key() for node in nodes):
                return []
            # A client that takes one address has that of the first node.
            return find_servers(
                (host, port, node.program) for (host, port), node in zip(self.server.nodes, nodes, strict=False)
            )
        process = self.server.process
        if "pid" not in process:
            return []
        return cast("list[int]", process.get("pids") or [process["pid"]])

    @property
    def cpus(self) -> dict[str, list[int]]:
        """The CPUs of the machine that the server and that clients beside it use; empty where they are not divided."""
        servers = list(self.server.spec.cpus)
        if not servers:
            return {}
        return {"servers": servers, "clients": sorted(available_cpus() - set(servers))}

    def prepare_data_set(self, run: Run) -> str:
        """Before a load: nothing is left of an earlier one. Before a measurement: what was loaded is still there.

        Answers what other data stays beside the data set, as a sentence; mostly empty.
        """
        spec, target = cast(RunSpec, run.spec), get_target(run, self.server)
        if run.phase == Phase.LOAD:
            deployments_of_target(self.deployment).update(fingerprint="", rows_loaded=None, dirtied=False)
            with _failing_as(Reason.LOAD_FAILED):
                remains = target.prepare_load()
            self._probe_disk()
            return remains
        if spec["load_policy"] != Matrix.LoadPolicy.EXISTING:
            self._require_data_set(spec, target)
        workloads = list_workload_properties(spec)
        if any(map(writes, workloads)):
            grows = any(map(inserts, workloads))
            with _failing_as(Reason.SERVER_LOST):
                # Preparing writes leaves the marker without an end, so a repetition keeps what was read first.
                if grows and self.first_insert is None:
                    self.first_insert = target.find_first_insert()
                target.prepare_writes(inserts=grows)
        return ""

    def _require_data_set(self, spec: RunSpec, target: DataTarget | StatedTarget) -> None:
        if self.deployment.fingerprint != spec["dataset"]["fingerprint"]:
            raise RunFailed(Reason.DATASET_MISSING, "The data set of this run is not loaded here any more.")
        if not self.server.folder:
            # Nobody keeps other clusters and sites away from an external server.
            try:
                target.require_data_set()
            except (DataSetMissing, DataNotOwned, AdministrationError) as error:
                self._update(fingerprint="", rows_loaded=None)
                raise RunFailed(Reason.DATASET_MISSING, str(error)) from error
        if not self.fresh:
            return
        # A server that was started again may have lost what it had not written down.
        with _failing_as(Reason.DATASET_MISSING):
            rows = target.count()
        expected = self.deployment.rows_loaded or 0
        if rows is not None and rows < expected:
            self._update(fingerprint="", rows_loaded=None)
            raise RunFailed(Reason.DATASET_MISSING, f"{rows:,} of {expected:,} records survived the restart.")

    def _probe_disk(self) -> None:
        """Once per deployment whose mode waits for a disk, before anything is measured on it."""
        if self.mode.durability.ack != "disk" or not self._is_here or self.deployment.disk:
            return
        recipe = self.system.process
        log = Path(self.server.folder) / "data" / (recipe.log_folder if recipe else "")
        self.deployment.disk = probe_disk(log.resolve().parent).as_dict()
        self._update(disk=self.deployment.disk)

    def read_mode(self) -> ReadBack | None:
        """The mode as the running server says it is; None of a system that Benchsite cannot ask."""
        if not self.system.administered:
            return None
        with _failing_as(Reason.SERVER_LOST):
            spec = self.server.spec
            in_force = read_back(
                self.system, self.mode, self.server.administration, spec.replication_factor, spec.settings
            )
        self._update(verified=in_force.as_dict())
        return in_force

    def read_commit(self) -> str:
        """Of the code that the server was built of; empty where it does not say."""
        if not self.system.administered:
            return ""
        with _failing_as(Reason.SERVER_LOST):
            return self.server.administration.read_commit()

    def servers_stop(self) -> None:
        """A planned fault ends processes of the server: what it holds afterwards is to be counted."""
        self.is_ended = self._was_ended = True
        self._update(fingerprint="", rows_loaded=None)

    def servers_started(self, server: Server) -> None:
        """They run again."""
        self.server, self.is_ended = server, False
        _servers[self.deployment.pk] = (self.provisioner, server)
        self._update(process=server.process)

    def _trust_data_set(self, run: Run) -> None:
        """After faults that ended the server: its data set is used again if every record is still there."""
        expected = self.deployment.rows_loaded
        if expected is None or expected > MAX_COUNTED_RECORDS:
            return
        with contextlib.suppress(AdministrationError, DataNotOwned):
            records = get_target(run, self.server).count()
            if records is not None and records >= expected:
                self._update(fingerprint=self.deployment.fingerprint, rows_loaded=expected)

    def check_alive(self) -> None:
        """Raises RunFailed with the server's last words where it went away under the load."""
        if not self.is_ended and not self.provisioner.alive():
            # What it still held when it went is not to be trusted: the next run loads it anew.
            self._update(fingerprint="", rows_loaded=None)
            text = f"The server ended, or did not answer, while it was measured.\n{self.provisioner.log_tail()}"
            raise RunFailed(Reason.SERVER_LOST, text.rstrip())

    def check_disk(self) -> None:
        """Raises RunFailed where the disk of the data folder, on this host, is nearly full."""
        if self._is_here and (problem := disk_problem(Path(self.server.folder), "data folder")):
            raise RunFailed(Reason.DISK_FULL, problem)

    def rows_after(self, run: Run) -> int | None:
        """After a load, and of data that was there before: counted on the server. Otherwise what the load counted.

        None: of existing data that the server does not let anybody count, or that is too large to.
        """
        expected = run.spec["dataset"]["records"]
        if run.phase != Phase.LOAD:
            if run.spec["load_policy"] != Matrix.LoadPolicy.EXISTING:
                return self.deployment.rows_loaded
            with contextlib.suppress(AdministrationError):
                if expected <= MAX_COUNTED_RECORDS:
                    return get_target(run, self.server).count()
            return None
        with _failing_as(Reason.LOAD_FAILED):
            rows = get_target(run, self.server).count() or 0
        if rows != expected:
            raise RunFailed(Reason.WRONG_ROW_COUNT, f"{rows:,} of {expected:,} records are there after the load.")
        return rows

    def remember_data_set(self, run: Run, rows: int | None) -> None:
        if run.phase == Phase.LOAD:
            self._update(fingerprint=run.spec["dataset"]["fingerprint"], rows_loaded=rows, dirtied=False)
            return
        self._update(dirtied=True)
        if self._was_ended:
            self._trust_data_set(run)

    def note_inserts(self, run: Run, by_clients: Sequence[int | None]) -> None:
        """What each client may have inserted, None where it did not say."""
        if keys := self._find_inserted_keys(run, by_clients):
            with _failing_as(Reason.SERVER_LOST):
                get_target(run, self.server).note_inserts(len(keys), first=self.first_insert)

    def count_inserts(self, run: Run, by_clients: Sequence[int | None]) -> int | None:
        """How many of the records that the clients may have inserted are there; None where nobody can count them."""
        keys = self._find_inserted_keys(run, by_clients)
        is_new = run.spec["load_policy"] != Matrix.LoadPolicy.EXISTING or self.first_insert is not None
        if not keys or not is_new or len(keys) > MAX_COUNTED_RECORDS:
            return None
        with contextlib.suppress(AdministrationError):
            return get_target(run, self.server).count_range(keys.start, keys.stop)
        return None

    def _find_inserted_keys(self, run: Run, by_clients: Sequence[int | None]) -> range:
        """The numbers of all keys that clients may have inserted: each of the n that insert takes every n-th one."""
        inserts = [count for count in by_clients if count is not None]
        if run.phase != Phase.MEASURE or not inserts or len(inserts) < len(by_clients):
            return range(0)
        first = self.first_insert or int(run.spec["workload"]["properties"]["recordcount"])
        return range(first, first + max(inserts) * len(inserts))

    def keep_evidence(self, run: Run) -> None:
        """The server's configuration and its log so far, as artifacts of the run."""
        for name, text in self.server.files.items():
            artifacts.store(run, "server_config", name, text.encode())
        artifacts.store(run, "server_log", "server.log", self.provisioner.log_tail(200).encode())


def stand(run: Run, check: Callable[[], None]) -> Standing:
    """Bring up what the run needs: the right server in the right mode, and no other on its cluster."""
    assert run.cluster is not None  # Uploads are never conducted.
    with _lock:
        deployment = _get_or_create_deployment(run)
        entry = _servers.get(deployment.pk)
        if entry is not None and not needs_restart(run):
            provisioner, server = entry
            is_alive = provisioner.alive()
            if is_alive and deployment.state == State.UP:
                return Standing(deployment, provisioner, server, fresh=False)
            if is_alive and deployment.state == State.STARTING:  # PostgreSQL was away when this server came up.
                return _note_up(deployment, provisioner, server)
        # Nor on another cluster of the same machine: an idle server still takes memory and wakes up.
        machines = run.cluster.nodes.values("machine")
        running = Deployment.objects.filter(cluster__nodes__machine__in=machines, state__in=State.running())
        for other in running.distinct():
            _stop(other)
        check()
        return _start(run, deployment)


def needs_restart(run: Run) -> bool:
    """Whether the plan restarts the server before this run: before each, or where the last run had another workload."""
    resets = run.spec["resets"]
    if resets.get("rung") == Matrix.Reset.RESTART:
        return True
    if resets.get("workload") != Matrix.Reset.RESTART:
        return False
    earlier = Run.objects.filter(matrix=run.matrix_id, cluster=run.cluster_id, started_at__isnull=False)
    last = earlier.exclude(pk=run.pk).order_by("-started_at", "-pk").first()
    return last is not None and last.workload_name != run.workload_name


def tidy_deployment(deployment_id: uuid.UUID) -> None:
    """Stop the server and remove its data, once the matrix has nothing left to run."""
    deployment = Deployment.objects.select_related("cluster", "database").get(pk=deployment_id)
    with _lock:
        with transaction.atomic():
            deployment = Deployment.objects.select_for_update().get(pk=deployment_id)
            unfinished = Run.objects.filter(matrix=deployment.matrix_id).exclude(status__in=Status.terminal())
            if unfinished.exists() or deployment.state == State.GONE:
                return
            # Said before it is done: a run that is queued from now on gets its data loaded anew.
            Deployment.objects.filter(pk=deployment.pk).update(
                state=State.GONE, process={}, fingerprint="", conductor=None
            )
        provisioner, _ = _servers.pop(deployment.pk, None) or (_build_removing_provisioner(deployment), None)
        try:
            provisioner.remove()
        except Exception:
            # The next look removes it, unless a run has made a new deployment in its place meanwhile.
            same = Deployment.objects.filter(
                matrix=deployment.matrix_id, database=deployment.database_id, mode=deployment.mode,
                build=deployment.build,
            )  # fmt: skip
            if not same.exclude(state=State.GONE).exists():
                Deployment.objects.filter(pk=deployment.pk).update(state=State.DOWN)
            raise


def stop_all() -> None:
    """The conductor goes: its servers end with their data kept. What this misses, the guardians end."""
    for deployment in Deployment.objects.filter(pk__in=list(_servers)):
        try:
            _stop(deployment)
        except RunFailed as error:
            log.warning("%s", error)


def forget_conductor_servers(conductor_id: uuid.UUID) -> None:
    """Rows of a conductor whose process is gone speak of servers that its guardians have ended since.

    A killed server keeps only what its mode promises: its data set is loaded again rather than trusted.
    """
    ours = (Provisioner.PROCESS, Provisioner.DOCKER)
    # The release before this one did not write down whose a server is.
    owned = Q(conductor=conductor_id) | Q(conductor=None)
    killed = Deployment.objects.filter(owned, state__in=State.running(), cluster__provisioner__in=ours)
    killed.update(state=State.DOWN, process={}, fingerprint="", rows_loaded=None, conductor=None)
    remove_unused_groups()
    remove_unused_cuts()
    if Cluster.objects.filter(provisioner=Provisioner.DOCKER).exists():
        _sweep_containers()


def _sweep_containers() -> None:
    """Containers outlive a conductor that was killed. Volumes of deployments whose matrix goes on are kept."""

    def read_deployments() -> tuple[set[str], set[str]]:
        """Those that are not gone, and those of them that run."""
        states = dict(Deployment.objects.exclude(state=State.GONE).values_list("pk", "state"))
        present = {str(pk) for pk in states}
        running = {str(pk) for pk, state in states.items() if state in State.running()}
        return present, running

    try:
        removed = sweep(container_site(), read_deployments)
    except ProvisionError as error:
        log.warning("Nobody looked for containers of an earlier life: %s", error)
        return
    if removed:
        log.info("Removed of an earlier life: %s.", ", ".join(removed))


def _get_or_create_deployment(run: Run) -> Deployment:
    assert run.cluster is not None
    with transaction.atomic():
        Cluster.objects.select_for_update().get(pk=run.cluster.pk)
        build = run.spec.get("build", {}).get("name", "")
        key = {
            "matrix_id": run.matrix_id,
            "database_id": run.spec["database"]["id"],
            "mode": run.mode,
            "build": build,
        }
        deployment = Deployment.objects.filter(**key).exclude(state=State.GONE).first()
        if deployment is None:
            deployment = Deployment.objects.create(cluster=run.cluster, **key)
    return deployment


def _start(run: Run, deployment: Deployment) -> Standing:
    """STARTING, the server itself, UP; a server that does not come up fails the run with its last log lines."""
    assert run.cluster is not None
    provisioner = provisioner_for(run.cluster.provisioner, _build_server_spec(deployment, run))
    if isinstance(provisioner, ProcessProvisioner) and run.matrix is not None:
        provisioner.has_volatile_disk = any(fault["kind"] == "slow_disk" for fault in run.matrix.faults)
    rows = Deployment.objects.filter(pk=deployment.pk)
    rows.update(state=State.STARTING, conductor=run.conductor_id)
    try:
        server = provisioner.start()
    except (ProvisionError, AddressRefused, AdministrationError) as error:
        rows.update(state=State.DOWN, process={}, conductor=None)
        raise RunFailed(Reason.SERVER_DID_NOT_START, str(error)) from error
    except BaseException:
        provisioner.stop(planned=False)
        rows.update(state=State.DOWN, process={}, conductor=None)
        raise
    if (deployment.host, deployment.port) not in (("", None), (server.host, server.port)):
        _refuse_another_server(run, server)
    _servers[deployment.pk] = (provisioner, server)
    return _note_up(deployment, provisioner, server)


def _refuse_another_server(run: Run, server: Server) -> None:
    """An external server whose address has changed is the same one where it holds this run's data set."""
    if server.folder or not has_result(run):
        return
    try:
        get_target(run, server).require_data_set()
    except (DataSetMissing, DataNotOwned, AdministrationError) as error:
        raise RunFailed(
            Reason.BAD_PLAN,
            f"The address of {run.cluster} was changed after runs of this matrix had results, and {server.host}:"
            f"{server.port} does not hold their data set: it would be another server in the same curve.",
        ) from error


def _note_up(deployment: Deployment, provisioner: ServerProvisioner, server: Server) -> Standing:
    Deployment.objects.filter(pk=deployment.pk).update(
        state=State.UP, folder=server.folder, host=server.host, port=server.port, process=server.process,
        server_version=server.version,
    )  # fmt: skip
    deployment.refresh_from_db()
    return Standing(deployment, provisioner, server, fresh=True)


def _stop(deployment: Deployment) -> None:
    """A planned stop: the data is kept in every mode, but by a cache. One that had to be forced keeps nothing that is
    trusted.
    """
    rows = Deployment.objects.filter(pk=deployment.pk)
    rows.update(state=State.STOPPING)
    entry = _servers.get(deployment.pk)
    if entry is not None:
        provisioner, server = entry
        try:
            provisioner.stop(planned=True)
        except ProvisionError as error:
            rows.update(fingerprint="", rows_loaded=None)
            if provisioner.alive():
                rows.update(state=State.UP)
                raise RunFailed(Reason.SERVER_LOST, str(error)) from error
            log.warning("%s", error)
        recipe = server.spec.system.process
        if recipe is not None and not recipe.keeps_data and server.folder:
            rows.update(fingerprint="", rows_loaded=None)
        del _servers[deployment.pk]
    rows.update(state=State.DOWN, process={}, conductor=None)


def _build_removing_provisioner(deployment: Deployment) -> ServerProvisioner:
    """A provisioner that knows enough to remove a server of an earlier process."""
    database = deployment.database
    system = load_catalog().system(database.system, database.flavour, database.own_modes)
    spec = ServerSpec(deployment=str(deployment.pk), system=system, mode=system.mode(deployment.mode))
    return provisioner_for(deployment.cluster.provisioner, spec)


def _build_server_spec(deployment: Deployment, run: Run) -> ServerSpec:
    database, spec = deployment.database, run.spec["database"]
    system = load_catalog().system(run.system, run.spec["client"]["flavour"], database.own_modes)
    # Secrets are not part of a spec: they are those that the database has now.
    secrets = system.binding.endpoint.credentials | set(secret_properties(system))
    properties = {name: text for name, text in spec["binding_properties"].items() if name not in secrets}
    properties |= {name: text for name, text in database.binding_properties.items() if name in secrets}
    hosts: tuple[str, ...] = ()
    if deployment.cluster.provisioner == Provisioner.PROCESS:
        hosts = tuple(deployment.cluster.addresses)
    if deployment.cluster.provisioner != Provisioner.EXTERNAL and not hosts:
        check_unchecked_settings(system, spec["settings"])
    return ServerSpec(
        deployment=str(deployment.pk),
        system=system,
        mode=system.mode(deployment.mode),
        settings=spec["settings"],
        binding_properties=properties,
        version=spec["version"],
        address=deployment.cluster.address,
        addresses=tuple(deployment.cluster.addresses),
        networks=tuple(run.team.external_networks),
        replication_factor=spec["replication_factor"] or 1,
        build=run.spec.get("build"),
        cpus=() if hosts else _choose_server_cpus(run),
        hosts=hosts,
    )


def check_unchecked_settings(system: System, stated: Mapping[str, str]) -> None:
    """Whoever describes databases does not thereby run programs here. Raises RunFailed."""
    for name in stated:
        allowed = f"{system.slug}.{name.removeprefix(UNCHECKED)}"
        if name.startswith(UNCHECKED) and allowed not in settings.UNCHECKED_SETTINGS:
            raise RunFailed(
                Reason.BAD_PLAN,
                f"{name} is set for servers of this conductor, whose operator does not allow it: add {allowed} to "
                "BENCHSITE_UNCHECKED_SETTINGS on its machine, or leave it out.",
            )


def _choose_server_cpus(run: Run) -> tuple[int, ...]:
    """The server's share of this machine's CPUs where clients of the run are beside it; empty: all of them."""
    cluster = cast(RunSpec, run.spec)["cluster"]
    nodes = {machine["id"] for machine in cluster["machines"]}
    is_shared = any(generator["machine"]["id"] in nodes for generator in run.spec["generators"])
    if not is_shared or not cluster.get("separates_cpus"):
        return ()
    return tuple(divide_cpus(available_cpus())[0])


@contextlib.contextmanager
def _failing_as(reason: Reason) -> Iterator[None]:
    """Turns a server's refusal into the run's failure, with this reason."""
    try:
        yield
    except DataNotOwned as error:
        raise RunFailed(Reason.DATA_NOT_OWNED, str(error)) from error
    except AdministrationError as error:
        raise RunFailed(reason, str(error)) from error
