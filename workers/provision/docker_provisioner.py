"""Servers under test in containers on the conductor's machine. No Django.

A container is made anew at every start and kept, ended, until the next one, so that its log can be read. What must last
(data, configuration, the deployment's password) lies in one volume, which goes with `remove` alone. Further nodes of a
cluster have containers and volumes of their own, which are made anew at every start.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from docker.errors import APIError, NotFound
from docker.types import LogConfig, Mount

from benchsite.core.formatting import grouped
from runs.catalog import BadTag, RenderedServer
from runs.timeouts import CONTAINER_KILL_TIMEOUT_S, SERVER_INIT_TIMEOUT_S, SERVER_START_TIMEOUT_S, SERVER_STOP_TIMEOUT_S
from workers.provision.administration import AdministrationError
from workers.provision.container_files import account_in, put_files, read_file
from workers.provision.docker_engine import (
    IMAGE_LABEL,
    ContainerSite,
    EngineError,
    address_on,
    connected,
    folder_here,
    process_here,
    remove_container,
    remove_volume,
    wait_for_end,
)
from workers.provision.images import Image, find_image
from workers.provision.messages import CONTAINER_GONE, ENDED, ENDED_AT_MEMORY_LIMIT
from workers.provision.ports import free_port
from workers.provision.servers import (
    HOST,
    PORT_ATTEMPTS,
    Server,
    ServerDidNotStart,
    ServerDidNotStop,
    ServerSpec,
    StartingProvisioner,
    get_host,
)

# The volume lies at a place of its own rather than at the image's: images of one system keep their data at different
# places, and this way configuration and password live and go with the data.
FOLDER = Path("/benchsite")
PASSWORD = "password"  # written when the data folder is whole, so that half of one is made anew
NEW_PASSWORD = "password.new"
EVERY_ADDRESS = "0.0.0.0"
INIT = "-init"  # the container that makes a data folder
SHARED_MEMORY = "256m"
CONTAINER_LOG = LogConfig(type="json-file", config={"max-size": "10m", "max-file": "3"})


class DockerProvisioner(StartingProvisioner):
    """The server of one deployment: one node, or several where the catalog starts them.

    On the host's network (the usual way) a server listens on 127.0.0.1 alone, on a free port: a published port would
    put the engine's proxy or an address translation between client and server, which would be measured too. Further
    nodes listen on 127.0.0.2 and so on. With a named network of containers, for sites that run in containers
    themselves, it listens on its address there; that is one node.
    """

    def __init__(self, spec: ServerSpec, site: ContainerSite) -> None:
        image, recipe = spec.system.image, spec.system.container_recipe
        if image is None or recipe is None:
            raise ValueError(f"{spec.system.name} cannot be run in a container.")
        super().__init__(spec, recipe)
        self.site = site
        self.image = image
        self.name = site.name(spec.deployment)
        self._id = ""
        self._others: list[str] = []  # the containers of further nodes
        self._started_s = 0.0

    # --- the protocol

    def start(self) -> Server:
        if self.alive():
            raise ServerDidNotStart(f"{self.spec.system.name} is already up.")

        self._count_nodes()
        if self._nodes > 1 and not self.site.on_host_network:
            raise ServerDidNotStart(
                f"{self._nodes} nodes of {self.spec.system.name} need the host's network, and containers here are on "
                f"{self.site.network}: set nodes to 1, or BENCHSITE_DOCKER_NETWORK to host."
            )

        self._render(0, "")  # Wrong settings are told before anything is made.
        reference = self._reference()
        with connected(self.site.engine) as engine:
            image_id = self._read_image_id(engine)
            image = find_image(engine, reference, image_id, pull=self.site.pull, is_build=self._is_build)
            self._discard(engine)
            try:
                container, password = self._with_data(engine, image)
                return self._start(engine, container, image, password)
            except BaseException:
                self._kill(engine)
                raise

    def alive(self) -> bool:
        if not self._id:
            return False
        try:
            with connected(self.site.engine) as engine:
                return all(self._is_up(engine, container_id) for container_id in self._select(None))
        except EngineError:
            # The engine may be away while its containers go on.
            with contextlib.suppress(AdministrationError):
                if self._administration is not None:
                    self._administration.ping()
                    return True
            return False

    def stop(self, *, planned: bool = True) -> None:
        if not self._id:
            return
        with connected(self.site.engine) as engine:
            if planned and self._is_up(engine, self._id):
                self._stop_as_planned(engine)
            self._kill(engine)

    def remove(self) -> None:
        with connected(self.site.engine) as engine:
            self._discard(engine)
            for volume in engine.volumes.list(filters=self._filters):
                remove_volume(engine, volume.name)

    def log_tail(self, lines: int = 30) -> str:
        """The log of the first node, or of a further one that ended."""
        if not self._id:
            return ""
        try:
            with connected(self.site.engine) as engine:
                for number, container_id in enumerate(self._others, 2):
                    if self._is_up(engine, self._id) and not self._is_up(engine, container_id):
                        return f"Node {number} ended:\n{self._log(engine, container_id, lines)}"
                return self._log(engine, self._id, lines)
        except EngineError as error:
            return str(error)

    # --- faults of a run; nodes are numbered from 1, None is all of them

    def processes(self, node: int | None) -> list[psutil.Process]:
        """The nodes' processes that this machine shows, with those that these started."""
        processes = []
        with connected(self.site.engine) as engine:
            for container_id in self._select(node):
                if process := process_here(engine.containers.get(container_id)):
                    parent = psutil.Process(int(str(process["pid"])))
                    processes += [parent, *parent.children(recursive=True)]
        return processes

    @contextlib.contextmanager
    def paused(self, node: int | None) -> Iterator[None]:
        """Within, every process of the nodes is stopped."""
        with connected(self.site.engine) as engine, contextlib.ExitStack() as stack:
            for container_id in self._select(node):
                container = engine.containers.get(container_id)
                container.pause()
                stack.callback(container.unpause)
            yield

    def stop_nodes(self, node: int | None, *, planned: bool) -> None:
        """Ends nodes that `start_nodes` starts again: in order, or by SIGKILL. Raises ServerDidNotStop."""
        with connected(self.site.engine) as engine:
            self._end(engine, self._select(node), planned=planned)

    def start_nodes(self, server: Server, node: int | None) -> Server:
        """Starts nodes of a server again, on their ports and their data, and waits until it answers. Raises
        ServerDidNotStart.
        """
        with connected(self.site.engine) as engine:
            for container_id in self._select(node):
                engine.containers.get(container_id).start()
            containers = [engine.containers.get(container_id) for container_id in self._select(None)]
            self._wait_until_ready(partial(_wait_for_exit, containers[0]))
            self._wait_for_others(engine, containers[1:])
            return replace(server, process=_describe_processes(containers))

    def _select(self, node: int | None) -> list[str]:
        """The container of this node; None: those of all."""
        containers = [self._id, *self._others]
        if node is None:
            return containers
        return containers[node - 1 : node]

    # --- before the start

    @property
    def _is_build(self) -> bool:
        return bool(self.spec.build and self.spec.build["image"])

    def _reference(self) -> str:
        """The reference of the own build, else of the official image."""
        build = self.spec.build
        if build and build["image"]:
            self.site.own_builds.check_image(build["image"])
            return build["image"]
        try:
            return self.image.reference(self.spec.version)
        except BadTag as error:
            raise ServerDidNotStart(f"{self.spec.system.name}: {error}") from error

    def _read_image_id(self, engine: Any) -> str:
        """The image of the first start: all of a deployment start the same bytes. Empty: this is the first."""
        with contextlib.suppress(NotFound):
            return str((engine.volumes.get(self.name).attrs["Labels"] or {}).get(IMAGE_LABEL, ""))
        return ""

    def _render(self, port: int, password: str, node: int = 0) -> RenderedServer:
        host = EVERY_ADDRESS
        if self.site.on_host_network:
            host = get_host(node)
        return self._configure(port, password, node, host=host, folder=FOLDER)

    def _with_data(self, engine: Any, image: Image) -> tuple[Any, str]:
        """The container, not yet started, over a whole data folder; and the deployment's own password."""
        argv = self._render(0, "").command(Path())
        container = self._create(engine, image, argv)
        password = read_file(container, f"{FOLDER}/{PASSWORD}")
        if password:
            return container, password

        # A first start, or half a data folder, which a server might take for a whole one.
        container.remove(force=True, v=True)
        remove_volume(engine, self.name)
        container = self._create(engine, image, argv)
        password = secrets.token_urlsafe(24)
        owner = account_in(container, self.image.user, image.reference)
        put_files(container, FOLDER, owner, {NEW_PASSWORD: password}, folders=("data",))
        init = self._render(0, "").init_command(Path(), FOLDER / NEW_PASSWORD)
        if init:
            self._initialise(engine, image, init)
        put_files(container, FOLDER, owner, {PASSWORD: password, NEW_PASSWORD: ""})
        return container, password

    def _create(self, engine: Any, image: Image, argv: list[str], suffix: str = "", node: int = 0) -> Any:
        """A container, not yet started, with no more rights than a server needs, over the node's volume.

        `suffix` tells several containers over one volume apart.
        """
        volume = self.name
        if node:
            volume += f"-node-{node + 1}"
        name = volume + suffix
        labels = self.site.labels(self.spec.deployment)
        engine.volumes.create(volume, labels={**labels, IMAGE_LABEL: image.image_id})
        remove_container(engine, name)
        return engine.containers.create(
            image.image_id,  # What was looked at, whatever the tag names a moment later.
            name=name,
            entrypoint=argv[:1],
            command=argv[1:],
            user=self.image.user,
            working_dir=str(FOLDER),
            environment={"LC_ALL": "C", "TZ": "UTC"},
            labels=labels,
            mounts=[Mount(str(FOLDER), volume, type="volume", no_copy=True)],
            network_mode=self.site.network,
            read_only=True,
            tmpfs={"/tmp": "size=64m"},
            shm_size=SHARED_MEMORY,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            stop_signal=f"SIG{self.recipe.stop_signal}",
            healthcheck={"test": ["NONE"]},  # The image's own would start a program beside the measurement.
            log_config=CONTAINER_LOG,
            **self._build_limits(),
        )

    def _build_limits(self) -> dict[str, Any]:
        """The container's share of the machine, as the engine takes it."""
        limits: dict[str, Any] = {}
        if self.site.memory_bytes:
            # Memory beyond the limit ends the server rather than being swapped, which no measurement would show.
            limits["mem_limit"] = limits["memswap_limit"] = self.site.memory_bytes
        if self.site.cpus:
            limits["nano_cpus"] = round(self.site.cpus * 1e9)
        if self.spec.cpus:
            limits["cpuset_cpus"] = ",".join(map(str, self.spec.cpus))
        return limits

    def _initialise(self, engine: Any, image: Image, argv: list[str], node: int = 0) -> None:
        """Runs what makes the data folder, in a container of its own over the same volume."""
        container = self._create(engine, image, argv, INIT, node)
        try:
            began = time.time()
            container.start()
            ended = wait_for_end(container, SERVER_INIT_TIMEOUT_S)
            state = container.attrs["State"]
            if not ended or state["ExitCode"] != 0:
                failure = "took too long"
                if ended:
                    failure = f"ended with {state['ExitCode']}"
                message = f"{self.spec.system.name}'s data folder: {argv[0]} {failure}."
                raise ServerDidNotStart(message, self._log(engine, container.id, 30, began))
        except APIError as error:
            raise self._describe_refusal(error, image) from error
        finally:
            container.remove(force=True, v=True)

    # --- the start

    def _start(self, engine: Any, container: Any, image: Image, password: str) -> Server:
        self._id = container.id
        owner = account_in(container, self.image.user, image.reference)
        for attempt in range(1, PORT_ATTEMPTS + 1):
            rendered = self._render(self._port(), password)
            put_files(container, FOLDER, owner, rendered.files)
            self._started_s = time.time()
            try:
                container.start()
                return self._bring_up(engine, container, image, rendered, password)
            except APIError as error:
                raise self._describe_refusal(error, image) from error
            except ServerDidNotStart as error:
                self._kill(engine)
                is_taken = self.site.on_host_network and "address already in use" in error.log_tail.lower()
                if attempt == PORT_ATTEMPTS or not is_taken:
                    raise

        raise AssertionError("unreachable")

    def _port(self) -> int:
        """A free one of the host's; on a network of containers each has its own address, and the usual port."""
        if self.site.on_host_network:
            return free_port(HOST)
        binding = self.spec.system.binding
        return int(binding.properties[binding.endpoint.port].default or 0)

    def _bring_up(self, engine: Any, container: Any, image: Image, rendered: RenderedServer, password: str) -> Server:
        container.reload()
        host = HOST
        if not self.site.on_host_network:
            host = address_on(container, self.site.network)
        server = self._describe(rendered, password, host=host, folder=folder_here(engine, self.name))
        others: list[Any] = []
        version = self._await_server(
            server,
            rendered,
            FOLDER / "data",
            wait_for_exit=partial(_wait_for_exit, container),
            start_others=lambda: others.extend(self._start_others(engine, image, rendered.port, password)),
        )
        limits = container.attrs["HostConfig"]
        # What ran, and within which limits, as the engine says; plain JSON for a run's evidence.
        evidence = {
            "reference": image.reference,
            "image_id": image.image_id,
            "digest": image.digest,
            "container": container.id,
            "engine": engine.version()["Version"],
            "network": limits["NetworkMode"],
            "memory_bytes": limits.get("Memory") or None,
            "cpus": (limits.get("NanoCpus") or 0) / 1e9 or None,
        }
        build = {}
        if self.spec.build:
            build = {"digest": image.digest or image.image_id, "commit": image.commit}
        processes = _describe_processes([container, *others])
        return replace(server, version=version, process=processes, container=evidence, build=build)

    def _start_others(self, engine: Any, image: Image, port: int, password: str) -> list[Any]:
        """The containers of the further nodes, once the first node knows all of them as up."""
        others = []
        for node in range(1, self._nodes):
            rendered = self._render(port, password, node)
            container = self._create(engine, image, rendered.command(Path()), node=node)
            owner = account_in(container, self.image.user, image.reference)
            put_files(container, FOLDER, owner, rendered.files, folders=("data",))
            init = rendered.init_command(Path(), FOLDER / NEW_PASSWORD)
            if init:
                self._initialise(engine, image, init, node)
            self._others.append(container.id)
            container.start()
            others.append(container)

        self._wait_for_others(engine, others)
        return others

    def _wait_for_others(self, engine: Any, others: list[Any]) -> None:
        end = time.monotonic() + SERVER_START_TIMEOUT_S * self._nodes
        while others and self.administration.topology()["nodes_up"] != str(self._nodes):
            for number, container in enumerate(others, 2):
                container.reload()
                if not container.attrs["State"]["Running"] or time.monotonic() > end:
                    raise ServerDidNotStart(
                        f"Node {number} of {self.spec.system.name} ended, or did not join in time.",
                        self._log(engine, container.id, 30),
                    )
            time.sleep(0.5)

    def _describe_refusal(self, error: APIError, image: Image) -> ServerDidNotStart:
        return ServerDidNotStart(
            f"Docker could not start a container of {image.reference}: {error.explanation or error}"
        )

    # --- the end

    def _stop_as_planned(self, engine: Any) -> None:
        """Asks the first node to end with its data on disk, and waits for it. Raises ServerDidNotStop."""
        try:
            self._end(engine, [self._id], planned=True)
        except ServerDidNotStop as error:
            log_tail = self._log(engine, self._id, 30)
            self._kill(engine)
            raise self._was_killed(str(error).rstrip("."), log_tail) from error

    def _end(self, engine: Any, chosen: Sequence[str], *, planned: bool) -> None:
        """Ends containers, in order or by SIGKILL, and waits for them. Raises ServerDidNotStop."""
        containers = [engine.containers.get(container_id) for container_id in chosen]
        stop_signal, timeout_s, is_ending = "KILL", CONTAINER_KILL_TIMEOUT_S, False
        if planned:
            stop_signal, timeout_s = self.recipe.stop_signal, SERVER_STOP_TIMEOUT_S
            # Some systems keep their data only where their administration ends them.
            try:
                if self._id in chosen and self._administration is not None:
                    is_ending = self._administration.shut_down()
            except AdministrationError as error:
                raise ServerDidNotStop(f"Its administration could not end it: {error}") from error

        for container in containers[is_ending:]:
            container.kill(signal=f"SIG{stop_signal}")

        for container in containers:
            if not wait_for_end(container, timeout_s):
                raise ServerDidNotStop(f"Container {container.name} did not end within {grouped(timeout_s)} s.")

    def _kill(self, engine: Any) -> None:
        """Kills the containers and waits until they are gone. Raises ServerDidNotStop."""
        containers = self._containers(engine)
        for container in containers:
            try:
                if container.status in ("running", "paused", "restarting"):
                    container.kill()
            except NotFound:
                continue
            except APIError as error:
                if error.status_code != 409:  # It ended meanwhile.
                    raise

        for container in containers:
            if not wait_for_end(container, CONTAINER_KILL_TIMEOUT_S):
                raise self._hangs(f"container {container.name}")

    def _discard(self, engine: Any) -> None:
        """Removes the containers of the life before, and the volumes of all nodes but the first."""
        self._id, self._others, self._administration = "", [], None
        for container in self._containers(engine):
            remove_container(engine, container.name)
        for volume in engine.volumes.list(filters=self._filters):
            if volume.name != self.name:
                remove_volume(engine, volume.name)

    @property
    def _filters(self) -> dict[str, list[str]]:
        labels = self.site.labels(self.spec.deployment)
        return {"label": [f"{name}={value}" for name, value in labels.items()]}

    def _containers(self, engine: Any) -> list[Any]:
        """The deployment's, running or not."""
        return list(engine.containers.list(all=True, filters=self._filters, ignore_removed=True))

    def _is_up(self, engine: Any, container_id: str) -> bool:
        try:
            return bool(engine.containers.get(container_id).attrs["State"]["Running"])
        except NotFound:
            return False

    def _log(self, engine: Any, container_id: str, lines: int, since: float | None = None) -> str:
        try:
            logs = engine.containers.get(container_id).logs(tail=lines, since=since or self._started_s)
        except NotFound:
            return CONTAINER_GONE.format(name=self.name)
        return str(logs.decode("utf-8", "replace").strip("\n"))


def _describe_processes(containers: list[Any]) -> dict[str, object]:
    """The first node's container and process; `pids`: those of all nodes, where this machine shows them."""
    for container in containers:
        container.reload()
    processes = [process_here(container) for container in containers]
    record = {"container": containers[0].id, **processes[0]}
    if len(processes) > 1 and all(processes):
        record["pids"] = [process["pid"] for process in processes]
    return record


def _wait_for_exit(container: Any, pause_s: float) -> str:
    """How the container has ended within this time; empty while it runs."""
    time.sleep(pause_s)
    container.reload()
    state = container.attrs["State"]
    if state["Running"]:
        return ""
    if state.get("OOMKilled"):
        return ENDED_AT_MEMORY_LIMIT.format(exit_code=state["ExitCode"])
    return ENDED.format(exit_code=state["ExitCode"])
