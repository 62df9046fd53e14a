"""Servers under test as plain processes, each under a guardian, on a free port of 127.0.0.1. No Django.

The further nodes of a cluster are on 127.0.0.2 and so on, with the same ports: equal ones, or replicas of the first
where the recipe has a part for them.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import psutil

from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import grouped
from benchsite.core.logs import log_tail
from benchsite.core.paths import Account
from runs.builds import get_source
from runs.catalog import RenderedServer, System
from runs.timeouts import SERVER_INIT_TIMEOUT_S, SERVER_START_TIMEOUT_S, SERVER_STOP_TIMEOUT_S
from workers.durability.storage import StorageError, set_fsync_ms, start_storage
from workers.generator.executables import (
    ExecutableNotFound,
    choose_built_server,
    choose_java_server,
    choose_postgresql,
    choose_program,
    choose_redis,
)
from workers.processes.process import Guarded, StartError, run_process, start_guarded
from workers.provision.administration import AdministrationError
from workers.provision.folders import (
    deployment_folder,
    make_folder,
    read_private,
    remove_folder,
    write_private,
)
from workers.provision.messages import ENDED
from workers.provision.own_builds import OwnBuilds, place_build, refuse_root
from workers.provision.ports import free_port
from workers.provision.process_tree import processes_below, stopped
from workers.provision.servers import (
    HOST,
    PORT_ATTEMPTS,
    Server,
    ServerDidNotStart,
    ServerSpec,
    StartingProvisioner,
)

# After this long without its owner, or after a stop that was not planned, a server is killed.
GRACE_S = 5.0
LOG = "server.log"
DATA_MARKER = "data-made"  # of a complete data folder
# Of what children may have: options of Java and the locale would change what is measured.
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where this machine keeps servers under test, and as whom it runs them."""

    targets: Path  # one folder per deployment below it
    registry: Path  # records of long-lived processes
    shelf: Path  # programs the account could not reach otherwise
    servers: Path  # what `make servers` fetched
    own_builds: OwnBuilds = field(default_factory=OwnBuilds)
    disks: Mapping[str, Path] = field(default_factory=dict)  # those that a database may choose
    account: Account | None  # None: the user of this process


def server_program(system: System, site: Site, version: str = "") -> tuple[Path, Path | None]:
    """The program that starts a server of the system, and the folder of its jars where it is a Java program.

    Raises ExecutableNotFound with the command that installs it.
    """
    recipe = system.process
    if recipe is None:
        raise ExecutableNotFound(f"Benchsite starts no {system.name} as a process: use a server of yours.")
    if recipe.program == "postgres":
        major = None
        stated = version.split(".")[0]
        if stated.isdigit():
            major = int(stated)
        return choose_postgresql(site.account, major=major, shelf=site.shelf).postgres, None
    if recipe.program == "java":
        return choose_java_server(system.slug, site.servers, site.account, shelf=site.shelf)
    if recipe.program == "redis-server":
        return choose_redis(site.account, shelf=site.shelf).path, None
    if (built := site.servers / system.slug / recipe.program).is_file():
        return choose_built_server(built, site.account, shelf=site.shelf), None

    return choose_program(recipe.program, site.account, recipe.install), None


class ProcessProvisioner(StartingProvisioner):
    """One server of one deployment. The object that started it is the one that can stop it: it owns the guardian."""

    def __init__(self, spec: ServerSpec, site: Site, *, port: int | None = None) -> None:
        if spec.system.process is None:
            raise ValueError(f"{spec.system.name} cannot be run as a plain process.")

        super().__init__(spec, spec.system.process)
        self.site, self.disks = site, site.disks
        self.folder = deployment_folder(site.targets, spec.deployment)
        # By node from 0: a process whose mount namespace its next start enters (Linux, as root).
        self.mounts_of: dict[int, int] = {}
        self.has_volatile_disk = False  # whether the next start mounts a disk whose syncs can be slowed down
        self._storage: Guarded | None = None  # the process of that disk
        self._port = port
        self._lib: Path | None = None  # jars of the server, where it is a Java program
        self._build: dict[str, str] = {}  # what the own build that is started states of itself
        self._guarded: Guarded | None = None
        self._others: list[Guarded] = []  # the further nodes
        self._log = self.folder / LOG
        self._log_start = 0

    # --- the protocol

    def start(self) -> Server:
        if self.alive():
            raise ServerDidNotStart(f"{self.spec.system.name} is already up.")

        self._kill()  # what is left of a cluster that lost a node
        self._count_nodes()
        program = self._program()
        make_folder(self.folder, self.site.account)
        password = self._password()
        self._initialise(program, self._render(0, password), self.folder)
        if self.has_volatile_disk:
            self._mount_disk()
        for attempt in range(1, PORT_ATTEMPTS + 1):
            rendered = self._render(self._port or free_port(HOST), password)
            try:
                return self._bring_up(program, rendered, password)
            except ServerDidNotStart as error:
                self._kill()
                if self._port or attempt == PORT_ATTEMPTS or "address already in use" not in error.log_tail.lower():
                    self._unmount_disk()
                    raise

        raise AssertionError("unreachable")

    def alive(self) -> bool:
        return self._guarded is not None and all(node.alive() for node in self._select(None))

    def stop(self, *, planned: bool = True) -> None:
        try:
            self._stop_servers(planned=planned)
        finally:
            self._unmount_disk()

    def _stop_servers(self, *, planned: bool) -> None:
        if self._guarded is None:
            return
        if planned and self._guarded.alive():
            self._stop_as_planned(self._select(None))
        self._kill()

    def remove(self) -> None:
        self.stop(planned=False)
        remove_folder(self.folder)
        for disk in self.disks.values():
            remove_folder(disk / self.folder.name)

    def log_tail(self, lines: int = 30) -> str:
        """The log of the first node, or of a further one that ended."""
        for node, guarded in enumerate(self._others, 1):
            if not guarded.alive():
                return f"Node {node + 1} ended:\n{log_tail(self.node_folder(node) / LOG, lines)}"
        return log_tail(self._log, lines, self._log_start)

    # --- faults of a run; nodes are numbered from 1, None is all of them

    def guardians(self, node: int | None) -> list[int]:
        """The guardians of the nodes' processes."""
        return [guarded.guardian_pid for guarded in self._select(node)]

    def processes(self, node: int | None) -> list[psutil.Process]:
        """The nodes' processes, with those that these started."""
        return list(chain.from_iterable(map(processes_below, self.guardians(node))))

    @contextlib.contextmanager
    def paused(self, node: int | None) -> Iterator[None]:
        """Within, every process of the nodes is stopped."""
        with contextlib.ExitStack() as stack:
            for pid in self.guardians(node):
                stack.enter_context(stopped(pid))
            yield

    def stop_nodes(self, node: int | None, *, planned: bool) -> None:
        """Ends nodes that `start_nodes` starts again: in order, or by SIGKILL. Raises ServerDidNotStop."""
        if len(self._select(node)) == self._nodes:
            self._stop_servers(planned=planned)
            return
        for guarded in self._select(node):
            if planned:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(guarded.pid, self._stop_signal)
                guarded.wait(SERVER_STOP_TIMEOUT_S)
            guarded.kill()

    def start_nodes(self, server: Server, node: int | None) -> Server:
        """Starts nodes of a server again, on their ports and their data, and waits until it answers. Raises
        ServerDidNotStart.
        """
        if self._guarded is None:
            usual_port, self._port = self._port, server.port
            try:
                return self.start()
            finally:
                self._port = usual_port

        assert node is not None
        rendered = self._render(server.port, self._password(), node - 1)
        guarded = self._start_node(self._program(), rendered, node - 1)
        if node == 1:
            self._guarded = guarded
            self._wait_until_ready(partial(_wait_for_exit, guarded))
        else:
            self._others[node - 2] = guarded

        self.wait_for_nodes()
        return replace(server, process=self._process())

    @contextlib.contextmanager
    def slow_disk(self, fsync_ms: float) -> Iterator[None]:
        """Within, each fsync of the server takes so long. Only where `has_volatile_disk` was set before its start."""
        set_fsync_ms(self._disk, fsync_ms)
        try:
            yield
        finally:
            set_fsync_ms(self._disk, 0.0)

    @property
    def _disk(self) -> Path:
        """The folder of the volatile disk, which holds the data in its folder `tree`."""
        return self.folder / "disk"

    def _mount_disk(self) -> None:
        """Mounts a volatile disk with the data on the data folder, unless it is mounted. Raises ServerDidNotStart."""
        if self._storage is not None and self._storage.alive():
            return

        data = self.folder / "data"
        if not (self._disk / "tree").exists():
            self._disk.mkdir(mode=0o700, exist_ok=True)
            data.rename(self._disk / "tree")
            make_folder(data, self.site.account)

        try:
            self._storage = start_storage(self._disk, data, registry=self.site.registry)
        except (StorageError, StartError) as error:
            raise ServerDidNotStart(f"The disk of {self.spec.system.name} cannot be slowed down: {error}") from error

        self.mounts_of = {0: self._storage.pid}

    def _unmount_disk(self) -> None:
        """The server's files stay, as after its end on an ordinary disk."""
        if self._storage is not None:
            self._storage.stop()
            self._storage, self.mounts_of = None, {}

    def _select(self, node: int | None) -> list[Guarded]:
        """The process of this node; None: those of all."""
        if self._guarded is None:
            return []
        processes = [self._guarded, *self._others]
        if node is None:
            return processes
        return processes[node - 1 : node]

    # --- before the start

    def _program(self) -> Path:
        build = self.spec.build
        if build and get_source(build):
            site = self.site
            refuse_root(site.account)
            make_folder(self.folder, site.account)
            program, self._lib, self._build = place_build(
                build, self.spec.system, site.own_builds, self.folder, site.servers, site.account
            )
            return program

        try:
            program, self._lib = server_program(self.spec.system, self.site, self.spec.version)
        except ExecutableNotFound as error:
            raise ServerDidNotStart(str(error)) from error

        return program

    def _password(self) -> str:
        """The deployment's own password, made at its first start: other users of this machine stay out."""
        path = self.folder / "password"
        password = read_private(path)
        if not password:
            password = secrets.token_urlsafe(24)
            write_private(path, password, self.site.account)
        return password

    def _render(self, port: int, password: str, node: int = 0) -> RenderedServer:
        cluster_port = 0
        if "{cluster_port}" in "".join(self.recipe.fixed.values()):
            cluster_port = self._cluster_port()
        folder = self.node_folder(node)
        return self._configure(
            port, password, node, host=self._get_host(node), folder=folder, cluster_port=cluster_port
        )

    def node_folder(self, node: int) -> Path:
        if not node:
            return self.folder
        return self.folder / f"node-{node + 1}"

    def _cluster_port(self) -> int:
        """The port of the nodes among themselves. It is part of a node's identity, so it stays with the data."""
        path = self.folder / "cluster-port"
        if not read_private(path):
            write_private(path, str(free_port(HOST)), self.site.account)
        return int(read_private(path))

    def _initialise(self, program: Path, rendered: RenderedServer, folder: Path) -> None:
        """Makes a node's data folder, once: a marker is written when it is complete, and half of one is made anew."""
        marker, data = folder / DATA_MARKER, folder / "data"
        if marker.exists():
            return

        remove_folder(data)
        make_folder(data, self.site.account)
        self._move_to_disk(data, "data_disk", folder.name)
        argv = rendered.init_command(program, self.folder / "password")
        if argv:
            log = folder / "init.log"
            self._write_files(rendered, folder)
            try:
                result = run_process(
                    argv,
                    registry=self.site.registry,
                    label=f"initialise {self.spec.system.slug} {self.spec.deployment}",
                    env=_build_environment(),
                    cwd=folder,
                    account=self.site.account,
                    stdout_path=log,
                    stderr_path=log,
                    deadline_s=SERVER_INIT_TIMEOUT_S,
                )
            except (StartError, OSError) as error:
                raise ServerDidNotStart(f"{argv[0]} could not be started: {error}") from error

            if result.exit_code != 0:
                failure = "took too long"
                if result.stopped_because != "deadline":
                    failure = f"ended with {result.exit_code}"
                message = f"{self.spec.system.name}'s data folder: {argv[0]} {failure}."
                raise ServerDidNotStart(message, log_tail(log, 30))

        self._move_to_disk(data / self.recipe.log_folder, "log_disk", folder.name)
        write_private(marker, "", self.site.account)

    def _move_to_disk(self, path: Path, setting: str, node: str) -> None:
        """Leaves a link to the disk that the setting names, and nothing of an earlier life there."""
        disk = self.spec.settings.get(setting)
        if not disk:
            return

        account = self.site.account
        home = self.disks[str(disk)] / self.folder.name
        make_folder(home, account)
        target = home / f"{node}-{path.name}"
        remove_folder(target)
        if path.exists():
            shutil.move(path, target)
        make_folder(target, account)
        if account is not None:
            for moved in target.rglob("*"):
                os.chown(moved, account.uid, account.gid, follow_symlinks=False)

        path.symlink_to(target, target_is_directory=True)

    # --- the start

    def _write_files(self, rendered: RenderedServer, folder: Path) -> None:
        for name, text in rendered.files.items():
            write_private(folder / name, text, self.site.account)

    def _start_node(self, program: Path, rendered: RenderedServer, node: int) -> Guarded:
        folder = self.node_folder(node)
        self._write_files(rendered, folder)
        descriptor = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "ab") as log:
            try:
                return start_guarded(
                    rendered.command(program, self._lib),
                    registry=self.site.registry,
                    label=f"{self.spec.system.slug} {self.spec.deployment}",
                    env=_build_environment(),
                    cwd=folder,
                    account=self.site.account,
                    cpus=self.spec.cpus,
                    mounts_of=self.mounts_of.get(node),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    grace_s=GRACE_S,
                    stop_signal=self._stop_signal,
                    stop_group=False,
                )
            except StartError as error:
                raise ServerDidNotStart(f"{self.spec.system.name} could not be started: {error}") from error

    def _bring_up(self, program: Path, rendered: RenderedServer, password: str) -> Server:
        self._log_start = 0
        if self._log.exists():
            self._log_start = self._log.stat().st_size
        self._guarded = self._start_node(program, rendered, 0)
        server = self._describe(rendered, password, host=rendered.host, folder=str(self.folder))
        version = self._await_server(
            server,
            rendered,
            self.folder / "data",
            wait_for_exit=partial(_wait_for_exit, self._guarded),
            start_others=lambda: self._start_others(program, rendered.port, password),
        )
        return replace(server, version=version, process=self._process(), build=self._build)

    def _process(self) -> dict[str, object]:
        nodes = self._select(None)
        first = nodes[0]
        pids = [node.pid for node in nodes]
        return {"pid": first.pid, "pids": pids, "started": first.started, "token": first.token}

    def _start_others(self, program: Path, port: int, password: str) -> None:
        """The further nodes, and waits until the first knows all of them as up."""
        for node in range(1, self._nodes):
            self._others.append(self._start_on_data(program, port, password, node))
        self.wait_for_nodes()

    def _start_on_data(self, program: Path, port: int, password: str, node: int) -> Guarded:
        """Starts a node on its data folder, which is made before."""
        folder = self.node_folder(node)
        rendered = self._render(port, password, node)
        make_folder(folder, self.site.account)
        self._initialise(program, rendered, folder)
        if node and self.recipe.replica is not None:
            # After any end but a planned stop it may be ahead of its primary, so it is copied anew.
            (folder / DATA_MARKER).unlink()
        return self._start_node(program, rendered, node)

    # --- one node of a cluster whose other nodes are on other machines

    def start_alone(self, node: int, port: int, *, cluster_port: int, password: str) -> Path:
        """The folder of the node, whose process has started; `node` counts from 0. Raises ServerDidNotStart."""
        self._count_nodes()
        program = self._program()
        make_folder(self.folder, self.site.account)
        write_private(self.folder / "password", password, self.site.account)
        write_private(self.folder / "cluster-port", str(cluster_port), self.site.account)
        self._log = self.node_folder(node) / LOG
        if self._log.exists():
            self._log_start = self._log.stat().st_size
        self._guarded = self._start_on_data(program, port, password, node)
        return self.node_folder(node)

    @property
    def exit_code(self) -> int | None:
        """Of the first node; None while it runs, and where it was not started."""
        if self._guarded is None:
            return None
        return self._guarded.exit_code

    def wait_for_nodes(self) -> None:
        """Until the first node knows all of them as up. Raises ServerDidNotStart."""
        end = time.monotonic() + SERVER_START_TIMEOUT_S * self._nodes
        while self._others and self.administration.topology()["nodes_up"] != str(self._nodes):
            for node, guarded in enumerate(self._others, 1):
                why = "did not join in time"
                if not guarded.alive():
                    why = f"ended with exit code {guarded.exit_code}"
                if not guarded.alive() or time.monotonic() > end:
                    raise ServerDidNotStart(
                        f"Node {node + 1} of {self.spec.system.name} {why}.",
                        log_tail(self.node_folder(node) / LOG, 30),
                    )
            time.sleep(0.5)

    # --- the end

    def _stop_as_planned(self, nodes: Sequence[Guarded]) -> None:
        """Asks the server to end with its data on disk, and waits for it. Raises ServerDidNotStop.

        Equal nodes end together; replicas after their primary, which sends them what it still has.
        """
        groups = [nodes]
        if self.recipe.replica is not None:
            groups = [nodes[:1], nodes[1:]]
        try:
            is_ending = self._administration is not None and self._administration.shut_down()
        except AdministrationError as error:
            problem = f"it could not be told to end: {error}"
        else:
            end = time.monotonic() + SERVER_STOP_TIMEOUT_S
            for group in groups:
                for guarded in group:
                    if not guarded.ended and not (is_ending and guarded is nodes[0]):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(guarded.pid, self._stop_signal)
                for guarded in group:
                    guarded.wait(max(end - time.monotonic(), 0))
            if all(guarded.ended for guarded in nodes):
                for node in range(1, len(nodes)):
                    write_private(self.node_folder(node) / DATA_MARKER, "", self.site.account)
                return
            problem = f"it did not end within {grouped(SERVER_STOP_TIMEOUT_S)} s"

        log_tail = self.log_tail()
        self._kill()
        raise self._was_killed(problem, log_tail)

    def _kill(self) -> None:
        """Kills the server's whole group and waits until it is gone. Raises ServerDidNotStop."""
        # First of all, so that a fault begins when it is noted: ending the administration may take seconds.
        for guarded in self._select(None):
            guarded.kill()
        if self._administration is not None:
            self._administration.close()
        for guarded in self._select(None):
            if not guarded.ended:
                raise self._hangs(f"process {guarded.pid}")
        self._guarded = self._administration = None
        self._others = []

    @property
    def _stop_signal(self) -> signal.Signals:
        return signal.Signals[f"SIG{self.recipe.stop_signal}"]


def _wait_for_exit(guarded: Guarded, pause_s: float) -> str:
    """How the process has ended within this time; empty while it runs."""
    if not guarded.wait_for_exit(pause_s):
        return ""
    guarded.wait(GRACE_S)
    return ENDED.format(exit_code=guarded.exit_code)


def _build_environment() -> dict[str, str]:
    passed_on = {name: value for name, value in child_environment().items() if name in PASSED_ON}
    return {**passed_on, "LC_ALL": "C", "TZ": "UTC"}
